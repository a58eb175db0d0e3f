"""What profiling a multimodal model takes: images for T tokens, and what the tower makes of them.

Checked against two models of one family only, whose sampler needs more than their tower.
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.shard import Shard
from vllm_parallel.term import Span
from vllm_parallel.tower import Matrix, Tower
from vllm_parallel.units import ceil_div

RESIDUAL_TENSORS: Final = 4  # as in a layer of the language model
WITH_PRODUCT: Final = {1: 4, 2: 3, 3: 2}  # halves of what comes out that exist at once, by parts


def held_bytes(shard: Shard) -> int:
    """Pixels and embeddings of as many images as fill T tokens; they stay for the whole profile.

    Source: vllm/v1/worker/gpu/mm/encoder_runner.py, profile_encoder_cache (v0.32.0)
    """
    tokens, model = shard.deployment.max_num_batched_tokens, shard.deployment.model
    pixels = [t.patches.values * t.patches.per_token for t in _towers(shard) if t.patches]
    if not _towers(shard):
        return 0
    return tokens * (model.hidden + max(pixels, default=0)) * model.dtype.bytes


def tower_peak(shard: Shard) -> Span:
    """What a layer of the tower holds beside pixels; it is gone when the language model runs."""
    widest = max((_row(tower, shard) for tower in _towers(shard)), default=0)
    deployment = shard.deployment
    made = deployment.max_num_batched_tokens * deployment.model.hidden
    likely = deployment.max_num_batched_tokens * widest - made
    likely = max(0, likely * deployment.model.dtype.bytes)
    return Span(least=0, likely=likely, most=likely * 3 // 2)


def _row(tower: Tower, shard: Shard) -> int:
    """Elements for each token: its patches, through the widest matrix of the longest stack."""
    if tower.patches is None:
        return 0
    stack = max(tower.stacks, key=lambda stack: stack.count)
    tp = shard.cut.tp
    dealt = shard.cut.copies_towers
    rows = [_beside(m, 1 if dealt else tp) for m in stack.matrices if not m.row]
    return ceil_div(tower.patches.per_token * max(rows, default=0), tp if dealt else 1)


def _beside(matrix: Matrix, tp: int) -> int:
    out = sum(span.count * span.size for span in matrix.out)
    made = ceil_div(out * WITH_PRODUCT[len(matrix.out)], 2 * tp)
    return made + RESIDUAL_TENSORS * matrix.into.count * matrix.into.size


def _towers(shard: Shard) -> tuple[Tower, ...]:
    """Only the first stage runs towers."""
    return shard.deployment.towers if shard.rank.pp == 0 else ()
