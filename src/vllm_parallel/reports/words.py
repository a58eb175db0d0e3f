"""What a difference between the estimate and a log means, in words; each names its symptom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.engine.log import ServeLog
from vllm_parallel.frozen import dataclass
from vllm_parallel.render.numbers import whole
from vllm_parallel.reports.beside import Beside, Pair, PoolRow, RankRow

CLOSE: Final = 0.02  # of the weights: other checkpoints of a model differ by less
NEAR: Final = 0.08  # of a ratio that is taken for a factor
GAP_GIB: Final = 0.75
WIDTHS: Final = {
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "decode_context_parallel_size": "dcp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A sentence about a difference, and the symptom that it is a case of, if it is one."""

    says: str
    symptom: str | None = None


def differences(log: ServeLog, beside: Beside) -> tuple[Difference, ...]:
    """Every difference that has a meaning, the nearest to a cause first; or that all agrees."""
    found = [
        *_not_taken(log, beside.deployment),
        *_of_weights(beside),
        *_of_room(beside),
        *_of_pool(beside),
    ]
    unique = tuple({one.says: one for one in found}.values())
    return unique or (Difference(says=_agreement(beside)),)


def _agreement(beside: Beside) -> str:
    named = [
        name
        for name, pairs in (
            ("weights", [row.weights for row in beside.ranks]),
            ("left for KV", [row.available for row in beside.ranks]),
        )
        if any(pair.gap is not None for pair in pairs)
    ]
    if any(pool.follows for pool in beside.pools):
        named.append("KV tokens")
    if not named:
        return "the log prints nothing that the estimate can be held against"
    return f"{', '.join(named)}: the log agrees with the estimate"


def _not_taken(log: ServeLog, deployment: Deployment) -> Iterator[Difference]:
    """Widths, length and dtype of the engine's own config, against those that were meant."""
    said, layout = log.asked.config, deployment.layout
    for name, axis in WIDTHS.items():
        meant, engine = getattr(layout, axis), said.get(name)
        if engine is not None and engine != str(meant):
            flag = f"--{name.replace('_', '-')}"
            says = f"{flag} is {meant} in the estimate, the engine says {engine}: it was not taken"
            yield Difference(says=says, symptom="flag-not-taken")
    length, dtype = said.get("max_seq_len"), said.get("dtype")
    asked = deployment.settings.max_model_len
    if asked not in (None, -1) and length not in (None, str(deployment.max_model_len)):
        meant = whole(deployment.max_model_len)
        says = f"--max-model-len is {meant} in the estimate, the engine says {length}"
        yield Difference(says=says, symptom="flag-not-taken")
    model = deployment.model.dtype.name.lower()
    if dtype in ("bfloat16", "float16", "float32") and dtype != model:
        says = f"the dtype is {model} in the estimate, the engine says {dtype}"
        yield Difference(says=says, symptom="dtype-differs")


def _of_weights(beside: Beside) -> Iterator[Difference]:
    for row in beside.ranks:
        weights, gap = row.weights, row.weights.gap
        if gap is None or not weights.estimate or abs(gap) <= CLOSE * weights.estimate:
            continue
        ratio = (weights.printed or 0) / weights.estimate
        says = f"rank {row.rank} loads {ratio:.2f} times its estimated weights: "
        symptom, why = _why_weights(ratio, beside.deployment)
        yield Difference(says=says + why, symptom=symptom)


def _why_weights(ratio: float, deployment: Deployment) -> tuple[str, str]:
    """What a ratio of the weights stands for."""
    layout = deployment.layout
    for axis, width in (("tensor", layout.tp), ("pipeline", layout.pp)):
        if width > 1 and abs(ratio / width - 1) <= NEAR:
            return "flag-not-taken", f"--{axis}-parallel-size {width} seems not to be taken"
    for factor, why in (
        (0.5, "8-bit weights where 16-bit ones were estimated, or twice the ranks"),
        (2.0, "twice as wide a dtype, or half the ranks"),
        (0.28, "4-bit weights where 16-bit ones were estimated"),
        (4.0, "a quarter of the ranks, or 16-bit weights where 4-bit ones were estimated"),
    ):
        if abs(ratio / factor - 1) <= 2 * NEAR:
            return "dtype-differs", why
    if ratio > 1:
        return "dtype-differs", "a draft model, adapters, a tower, or another checkpoint beside it"
    return "dtype-differs", "another checkpoint, or parts that are not loaded"


def _of_room(beside: Beside) -> Iterator[Difference]:
    """What is left for the cache, where weights do not explain it."""
    for row in beside.ranks:
        gap = _beyond(row.available)
        if gap is None or abs(gap) < GAP_GIB:
            continue
        less = "less" if gap < 0 else "more"
        says = f"rank {row.rank} has {abs(gap):.2f} GiB {less} for KV than the estimate allows: "
        symptom = "kv-below-estimate" if gap < 0 else "kv-above-estimate"
        yield Difference(says=says + _why_room(row, gap), symptom=symptom)


def _beyond(pair: Pair) -> float | None:
    """How far a printed figure lies outside the estimate's range."""
    if pair.printed is None or pair.least is None or pair.most is None:
        return None
    return min(0.0, pair.printed - pair.least) + max(0.0, pair.printed - pair.most)


def _why_room(row: RankRow, gap: float) -> str:
    worker = row.worker
    if row.budget.gap is not None and abs(row.budget.gap) > GAP_GIB / 2:
        return (
            f"the budget is {row.budget.printed:g} GiB where {row.budget.estimate:.2f} were "
            "estimated, so --gpu-memory-utilization or the GPU is another"
        )
    weights = row.weights.gap or 0
    if abs(weights) > GAP_GIB / 2 and (weights > 0) == (gap < 0):
        return f"the weights differ by {weights:+.2f} GiB"
    if worker.peak_gib is not None:
        graphs = "" if worker.graph_gib is None else f", the graphs took {worker.graph_gib:g}"
        return f"activations peaked at {worker.peak_gib:g} GiB{graphs}"
    return (
        "activations, graphs or communication took more than was estimated, or another process did"
        if gap < 0
        else "activations or graphs took less, or batches are smaller than in the estimate"
    )


def _of_pool(beside: Beside) -> Iterator[Difference]:
    """Tokens that do not follow from the memory that was printed."""
    for pool in beside.pools:
        if pool.follows is None:
            continue
        least, most = pool.follows
        if least <= pool.printed <= most or (not pool.whole and pool.printed <= most):
            continue
        says = (
            f"engine {pool.engine} prints {whole(pool.printed)} tokens, where the memory it prints "
            f"holds {whole(least)} to {whole(most)}: "
        )
        yield Difference(
            says=says + _why_pool(pool, beside.deployment), symptom=_pool_symptom(pool)
        )


def _pool_symptom(pool: PoolRow) -> str | None:
    """The symptom of a pool that is clearly off; a little is how releases count."""
    least, most = pool.follows or (0, 0)
    if pool.printed < (1 - CLOSE) * least:
        return "kv-below-estimate"
    return "kv-above-estimate" if pool.printed > (1 + CLOSE) * most else None


def _why_pool(pool: PoolRow, deployment: Deployment) -> str:
    least, most = pool.follows or (1, 1)
    ratio = 2 * pool.printed / max(least + most, 1)
    settings, layout = deployment.settings, deployment.layout
    if settings.num_gpu_blocks_override is not None:
        return "the blocks were set by hand"
    if layout.dcp > 1 and abs(ratio * layout.dcp - 1) <= NEAR:
        return f"--decode-context-parallel-size {layout.dcp} seems not to be taken"
    for factor, why in (
        (2.0, "the cache has a dtype of half the width: see --kv-cache-dtype"),
        (0.5, "the cache has a dtype of twice the width: see --kv-cache-dtype"),
    ):
        if abs(ratio / factor - 1) <= NEAR:
            return why
    if deployment.model.has_windows or deployment.model.mixers:
        return "its layers keep unlike caches, and releases count their tokens differently"
    return "another block size, dtype or width of the cache than was estimated"
