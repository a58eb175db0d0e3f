"""The attention back end that vLLM takes for a layer, of those that NVIDIA GPUs have.

Those of latent attention are imported when a layer has it, not before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.dtype import Dtype
from vllm_parallel.kv.backends import (
    FP8,
    HALF,
    NVFP4,
    PER_TOKEN_HEAD,
    PLAIN,
    TURBOQUANT,
    UNKNOWN_CHIP,
    WIDEST_FA3,
    WIDEST_FA4,
    Backend,
    Need,
)


def _flash_attn(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/flash_attn.py, FlashAttentionBackend (v0.32.0)."""
    hopper, blackwell = need.major == 9, need.major == 10
    if need.chip < 80 or need.pcp or need.head_size % 8 or need.head_size > WIDEST_FA4:
        return False
    if need.sinks and not (hopper or blackwell):
        return False
    if need.word not in FP8:
        return True
    narrow = need.head_size <= (WIDEST_FA3 if hopper else 128)
    return (hopper and (narrow or need.head_size == WIDEST_FA4)) or (blackwell and narrow)


def _flashinfer(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/flashinfer.py, FlashInferBackend (v0.32.0)."""
    if not 80 <= need.chip <= 121 or need.pcp or need.head_size not in (64, 128, 256, 512):
        return False
    if need.sinks and need.major not in (9, 10, 12):
        return False
    if need.word not in NVFP4 or need.major == 10:
        return True
    return need.word == "nvfp4" and need.head_size != 64 and not need.sinks and not need.dcp


def _triton(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/triton_attn.py, TritonAttentionBackend (v0.32.0)."""
    return need.head_size >= 32 and not need.dcp and not need.pcp


def _flex(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/flex_attention.py, FlexAttentionBackend (v0.32.0)."""
    return not (need.sinks or need.dcp or need.pcp)


def _turboquant(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/turboquant_attn.py (v0.32.0)."""
    return not (need.sinks or need.windowed or need.dcp or need.pcp)


FLASH_ATTN: Final = Backend(name="FLASH_ATTN", words=PLAIN | FP8, takes=_flash_attn, tiles=True)
FLASHINFER: Final = Backend(
    name="FLASHINFER",
    words=PLAIN | FP8 | NVFP4 | {"fp8_e5m2"},
    takes=_flashinfer,
    sizes=(16, 32, 64),
    fixed=True,
    packs=NVFP4,
)
TRITON_ATTN: Final = Backend(
    name="TRITON_ATTN",
    words=PLAIN | FP8 | PER_TOKEN_HEAD | {"fp8_e5m2"},
    takes=_triton,
    packs=PER_TOKEN_HEAD,
    dtypes=HALF | {Dtype.FLOAT32},
)
FLEX: Final = Backend(
    name="FLEX_ATTENTION", words=PLAIN, takes=_flex, dtypes=HALF | {Dtype.FLOAT32}
)
TURBO: Final = Backend(
    name="TURBOQUANT",
    words=TURBOQUANT,
    takes=_turboquant,
    sizes=(16, 32, 64, 128),
    fixed=True,
    packs=TURBOQUANT,
)
NOT_NVIDIA: Final = Backend(
    name="of another vendor", words=frozenset(), takes=lambda _: True, sizes=(1,)
)


def order_of(need: Need) -> tuple[Backend, ...]:
    """The back ends of a chip, best first.

    Source: vllm/platforms/cuda.py, _get_backend_priorities (v0.32.0)
    """
    if need.latent:
        from vllm_parallel.kv.latent import latent_order  # noqa: PLC0415  # such models pay

        return latent_order(need)
    if need.major == 10:
        return (FLASHINFER, FLASH_ATTN, TRITON_ATTN, FLEX, TURBO)
    return (FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLEX, TURBO)


@lru_cache(maxsize=1024)
def choose(need: Need) -> Backend | None:
    """The back end that vLLM takes for a layer, None where it has none.

    Source: vllm/platforms/cuda.py, get_attn_backend_cls (v0.32.0)

    >>> need = Need(90, 128, Dtype.BFLOAT16, "fp8_per_token_head", None)
    >>> choose(need).name
    'TRITON_ATTN'
    """
    if need.chip == UNKNOWN_CHIP:
        return NOT_NVIDIA
    return next((backend for backend in order_of(need) if backend.accepts(need)), None)
