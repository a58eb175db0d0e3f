"""Families that vLLM's Transformers backend builds: the library's layers, fused and cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from vllm_parallel.catalog.families.common import HeadDefaults, grouped, named_windows, whole_model
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotated
from vllm_parallel.dtype import Dtype
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.model import Block, DenseMlp, GroupedQueryAttention, ModelConfig

FREQUENCIES: Final = ("inv_freq", "original_inv_freq")
PHI: Final[JsonObject] = {
    "vocab_size": 51_200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
    "num_attention_heads": 32, "max_position_embeddings": 2048, "partial_rotary_factor": 0.5,
}  # fmt: skip
PHI_NAMES: Final = (
    ("self_attn.o_proj", "self_attn.dense"),
    ("mlp.up_proj", "mlp.fc1"),
    ("mlp.down_proj", "mlp.fc2"),
)


def read_phi(keys: Keys) -> ModelConfig:
    """Phi: biases everywhere, one norm before attention and MLP alike.

    Source: transformers, models/phi/modeling_phi.py
    """
    keys = keys.filled(PHI)
    attention = replace(
        grouped(keys, HeadDefaults(null_kv_heads=True)), qkv_bias=True, output_bias=True
    )
    block = Block(
        attention=None,
        mlp=DenseMlp(intermediate=keys.size("intermediate_size"), bias=True, gated=False),
        norms=("input_layernorm",),
        norm_bias=True,
        names=PHI_NAMES,
    )
    return built(keys, attention, block, Ends(norms=("final_layernorm",), norm_bias=True))


def built(
    keys: Keys, attention: GroupedQueryAttention, block: Block, ends: Ends | None = None
) -> ModelConfig:
    """The model of such blocks, alike but for their windows; frequencies take a table's place.

    Source: vllm/model_executor/models/transformers/base.py (v0.32.0)
    """
    attention = replace(attention, rotates=False)
    blocks = [
        replace(block, attention=replace(attention, window=window))
        for window in named_windows(keys)
    ]
    rotated = {"": read_rotated(keys, attention.head_dim)}
    ends = replace(ends or Ends(), buffers=frequencies(rotated))
    return replace(whole_model(keys, blocks, ()), ends=ends)


def frequencies(dims: Mapping[str, int]) -> tuple[Extra, ...]:
    """Two vectors in fp32 for each prefix, one number for two elements of a head."""
    return tuple(
        Extra(
            name=f"rotary_emb.{prefix}{name}",
            rows=dim // 2,
            dtype=Dtype.FLOAT32,
        )
        for prefix, dim in dims.items()
        for name in FREQUENCIES
    )
