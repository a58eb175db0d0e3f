"""Rules of sparse latent attention (DSA), which workers meet while layers are built."""

from __future__ import annotations

from typing import Final

from vllm_parallel.constraints.constraint import Constraint, raised_at_load
from vllm_parallel.deployment import HOPPER, Deployment
from vllm_parallel.kv.layers import chip_of

SPARSE_BLOCK: Final = 64  # tokens of the kernels' own block
UNQUANTISED: Final = ("auto", "bfloat16")


def on_hopper(d: Deployment) -> bool:
    """Whether Hopper's sparse kernels are taken, as they are where no GPU is named."""
    return d.model.traits.sparse_attention and chip_of(d) == int(HOPPER)


SPARSE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    raised_at_load(
        name="sparse-block-size",
        broken=lambda d: on_hopper(d) and (d.settings.block_size or 0) % SPARSE_BLOCK != 0,
        says="No valid attention backend found for cuda: block_size not supported",
        fix=f"use a --block-size that is a multiple of {SPARSE_BLOCK}",
        source="vllm/platforms/cuda.py, get_attn_backend_cls",
        bare=True,
    ),
    raised_at_load(
        name="sparse-dcp-cache",
        broken=lambda d: (
            on_hopper(d) and d.layout.dcp > 1 and d.settings.kv_cache_dtype in UNQUANTISED
        ),
        says="DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; the bf16 sparse path is "
        "not supported under DCP.",
        fix="use --kv-cache-dtype fp8_ds_mla, or --decode-context-parallel-size 1",
        source="vllm/v1/attention/backends/mla/flashmla_sparse.py, FlashMLASparseImpl",
    ),
)
