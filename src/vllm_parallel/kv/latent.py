"""Attention back ends of latent attention (MLA), dense and sparse, and of its indexer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vllm_parallel.dtype import Dtype
from vllm_parallel.kv.backends import FP8, PLAIN, Backend, Need

LATENT_HEADS: Final = (320, 512, 576)
SPARSE_HEAD: Final = 576
NOPE_DIMS: Final = (64, 128, 192)  # of FlashInfer
FEW_HEADS: Final = 16  # FlashMLA would pad them


def _latent(*majors: int) -> Callable[[Need], bool]:
    """Dense latent attention on these generations; on all, if none is named."""

    def takes(need: Need) -> bool:
        return not need.sparse and (not majors or need.major in majors)

    return takes


def _of_latent_heads(takes: Callable[[Need], bool]) -> Callable[[Need], bool]:
    return lambda need: need.head_size in LATENT_HEADS and takes(need)


def _flashmla_sparse(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/mla/flashmla_sparse.py (v0.32.0)."""
    blackwell_only = need.word == "nvfp4_ds_mla"
    return (
        need.sparse
        and need.head_size == SPARSE_HEAD
        and need.major in (9, 10)
        and (need.major == 10 or not blackwell_only)
    )


def _flashinfer_sparse(need: Need) -> bool:
    """Source: vllm/v1/attention/backends/mla/flashinfer_mla_sparse.py (v0.32.0)."""
    in_heads = need.head_size in (512, 576) and need.nope_dim in NOPE_DIMS
    return need.sparse and need.major == 10 and in_heads and not (need.pcp and need.dcp)


FLASH_ATTN_MLA: Final = Backend(
    name="FLASH_ATTN_MLA", words=PLAIN, takes=_of_latent_heads(_latent(9))
)
FLASHMLA: Final = Backend(
    name="FLASHMLA",
    words=PLAIN | FP8,
    takes=_of_latent_heads(_latent(9)),
    sizes=(64,),
    fixed=True,
)
FLASHINFER_MLA: Final = Backend(
    name="FLASHINFER_MLA",
    words=PLAIN | FP8,
    takes=_of_latent_heads(lambda n: _latent(10)(n) and n.nope_dim in NOPE_DIMS),
    sizes=(32, 64),
    fixed=True,
)
CUTLASS_MLA: Final = Backend(
    name="CUTLASS_MLA",
    words=PLAIN | FP8,
    takes=_of_latent_heads(_latent(10)),
    sizes=(128,),
    fixed=True,
)
TRITON_MLA: Final = Backend(name="TRITON_MLA", words=PLAIN | FP8, takes=_latent())
FLASH_ATTN_MLA_SPARSE: Final = Backend(
    name="FLASH_ATTN_MLA_SPARSE",
    words=PLAIN,
    takes=lambda n: n.sparse and n.major == 9 and not n.dcp,
    sizes=(64,),
)
FLASHMLA_SPARSE: Final = Backend(
    name="FLASHMLA_SPARSE",
    words=frozenset(("auto", "bfloat16", "fp8", "fp8_ds_mla", "nvfp4_ds_mla")),
    takes=_flashmla_sparse,
    sizes=(64,),
    dtypes=frozenset((Dtype.BFLOAT16,)),
)
FLASHINFER_MLA_SPARSE: Final = Backend(
    name="FLASHINFER_MLA_SPARSE", words=PLAIN | FP8, takes=_flashinfer_sparse, sizes=(32,)
)
INDEXER: Final = Backend(
    name="DEEPSEEK_V32_INDEXER",
    words=frozenset(),
    takes=lambda _: True,
    sizes=(64,),
    fixed=True,
)


def latent_order(need: Need) -> tuple[Backend, ...]:
    """The back ends of a chip, best first.

    Source: vllm/platforms/cuda.py, _get_backend_priorities (v0.32.0)
    """
    if need.major == 10:
        few = need.word not in PLAIN or need.heads <= FEW_HEADS
        sparse = (FLASHINFER_MLA_SPARSE, FLASHMLA_SPARSE)
        return (FLASHINFER_MLA, CUTLASS_MLA, TRITON_MLA, *(sparse if few else sparse[::-1]))
    return (FLASH_ATTN_MLA, FLASHMLA, TRITON_MLA, FLASH_ATTN_MLA_SPARSE, FLASHMLA_SPARSE)
