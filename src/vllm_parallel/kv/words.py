"""Cache dtypes by vLLM's words: which one a deployment ends with, and the bytes of a token."""

from __future__ import annotations

from typing import Final

from vllm_parallel.deployment import BLACKWELL, Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.kv.backends import FP8, NVFP4, TURBOQUANT, Backend
from vllm_parallel.units import ceil_div, round_up

ELEMENT_BYTES: Final = {"float16": 2, "bfloat16": 2}  # beside auto; all others store bytes
DS_MLA_BYTES: Final = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}  # latent, rope part and scales
SCALE_BYTES: Final = 4  # one fp32 for each head's keys, one for its values
KEY_BITS: Final = {  # of TurboQuant
    "turboquant_k8v4": 8, "turboquant_4bit_nc": 4, "turboquant_k3v4_nc": 3, "turboquant_3bit_nc": 3,
}  # fmt: skip
TURBOQUANT_ENDS: Final = 2
VALUE_BITS: Final = {word: 3 if word == "turboquant_3bit_nc" else 4 for word in KEY_BITS}


def cache_word(deployment: Deployment) -> str:
    """The cache dtype that layers are built with: as asked, else as the checkpoint says.

    Source: vllm/model_executor/models/config.py, DeepseekV32ForCausalLM and GlmMoeDsaForCausalLM
    (v0.32.0)

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> cache_word(Deployment(model=load_model("llama-3.1-8b"), layout=Layout()))
    'auto'
    """
    asked, model = deployment.kv_cache_dtype, deployment.model
    if model.architecture == "DeepseekV32ForCausalLM" and asked == "bfloat16":
        return "auto"
    if model.architecture == "GlmMoeDsaForCausalLM" and asked == "auto":
        gpu = deployment.cluster.gpu
        return "fp8_e4m3" if gpu is not None and gpu.architecture in BLACKWELL else "auto"
    return asked


def skipped_layers(deployment: Deployment) -> frozenset[str]:
    """Numbers of layers whose cache is left in the model's dtype; `sliding_window` means all such.

    TurboQuant leaves out the first and the last two by itself, unless the model has mixers.

    Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)
    """
    asked = frozenset(deployment.settings.caches.kv_cache_dtype_skip_layers)
    model = deployment.model
    if cache_word(deployment) not in TURBOQUANT or model.mixers:
        return asked
    ends = min(TURBOQUANT_ENDS, model.layers // 2)
    return asked | {str(n) for end in range(ends) for n in (end, model.layers - 1 - end)}


def served_word(word: str, backend: Backend | None) -> str:
    """The format that a back end stores: sparse latent attention has one of its own for fp8.

    Source: vllm/model_executor/layers/attention/mla_attention.py,
    _canonicalize_sparse_mla_kv_cache_dtype (v0.32.0)
    """
    sparse = backend is not None and backend.name == "FLASHMLA_SPARSE"
    return "fp8_ds_mla" if sparse and word in FP8 else word


def element_bytes(word: str, dtype: Dtype) -> int:
    """Bytes of one stored element, where nothing is packed; auto is the model's dtype."""
    return dtype.bytes if word == "auto" else ELEMENT_BYTES.get(word, 1)


def packed_bytes(word: str, key: int, value: int) -> int:
    """Bytes of a token in one head, in a format of its back end's own.

    Source: vllm/v1/attention/backends/triton_attn.py, flashinfer.py and turboquant_attn.py,
    customize_spec (v0.32.0)

    >>> packed_bytes("int8_per_token_head", 128, 128), packed_bytes("nvfp4", 128, 128)
    (264, 144)
    """
    if word in NVFP4:
        return key // 2 + key // 16 + value // 2 + value // 16
    if word in TURBOQUANT:
        return _turboquant_slot(word, key)
    if word == "int4_per_token_head":
        key, value = key // 2, value // 2
    return key + value + 2 * SCALE_BYTES


def _turboquant_slot(word: str, head: int) -> int:
    """Source: vllm/model_executor/layers/quantization/turboquant/config.py (v0.32.0)."""
    bits = KEY_BITS[word]
    keys = head if bits == 8 else ceil_div(head * bits, 8) + 2
    values = ceil_div(head * VALUE_BITS[word], 8) + 4
    return round_up(keys + values, 2)
