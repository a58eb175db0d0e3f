"""The estimate beside what a log prints: weights, budget, overhead and room of ranks, the pool."""

from __future__ import annotations

import re
from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.engine.log import ServeLog, Worker
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.frozen import dataclass
from vllm_parallel.ledger import Budget, Ledger, Pool, budgets_on
from vllm_parallel.overhead import COEFFICIENTS, CURRENT, Coefficients
from vllm_parallel.shard import Shard
from vllm_parallel.term import RELEASE, Span
from vllm_parallel.units import GIB

PART: Final = re.compile(r"(?P<axis>DP|PP|PCP|TP)(?P<number>\d{1,6})(?!\d)")
RANK: Final = re.compile(r"rank=(?P<number>\d{1,6})")
ENGINE: Final = re.compile(r"EngineCore(?:_DP|_)?(?P<number>\d{1,6})?$")
HALF_DIGIT: Final = 0.005  # GiB are printed with two decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An estimate and what was printed, in GiB; either may be unknown.

    `least` and `most` bound the estimate where it has a range.
    """

    estimate: float | None = None
    printed: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def gap(self) -> float | None:
        """How much more was printed than estimated."""
        if self.estimate is None or self.printed is None:
            return None
        return self.printed - self.estimate

    @property
    def row(self) -> dict[str, float | None]:
        """Both as JSON."""
        return {
            "estimate": None if self.estimate is None else round(self.estimate, 3),
            "printed": self.printed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow:
    """One worker beside its rank.

    `overhead` is the budget less weights and room: what is left for everything else.
    """

    worker: Worker
    rank: int
    stage: int
    weights: Pair
    budget: Pair
    overhead: Pair
    available: Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """The pool of an engine: as estimated, as the printed memory makes it, as printed.

    `follows` holds the least and most tokens that the printed memory, rounded as it is, allows;
    None where no memory was printed. `whole` says that every stage printed its memory.
    """

    engine: int
    estimate: int | None
    follows: tuple[int, int] | None
    whole: bool
    printed: int
    concurrency: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A log beside the estimate of a deployment."""

    deployment: Deployment
    release: str
    ranks: tuple[RankRow, ...]
    pools: tuple[PoolRow, ...]

    @classmethod
    def of(cls, log: ServeLog, deployment: Deployment) -> Beside:
        """Every worker and pool that was printed beside its estimate.

        The estimate takes the coefficients of the log's release where there are any.
        """
        release = (log.vllm_version or RELEASE).partition("+")[0]
        known = COEFFICIENTS.get(release, CURRENT)
        rows = [_rank_row(worker, deployment, known) for worker in log.workers]
        ranks = tuple(sorted((row for row in rows if row), key=lambda row: row.rank))
        estimate, by_stage = _estimate(deployment, known), _printed_room(ranks)
        follows = _follows(deployment, by_stage)
        pools = tuple(
            PoolRow(
                engine=pool.engine,
                estimate=estimate,
                follows=follows,
                whole=len(by_stage) == deployment.layout.pp,
                printed=pool.kv_tokens,
                concurrency=pool.max_concurrency,
            )
            for pool in log.engines
        )
        return cls(deployment=deployment, release=known.release, ranks=ranks, pools=pools)


def rank_of(name: str | None, deployment: Deployment) -> int | None:
    """The rank of a worker by its name; a dense replica's worker does not tell which replica.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=4, pp=2))
    >>> rank_of("Worker_PP1_TP3", deployment), rank_of("VllmWorker rank=5", deployment)
    (7, 5)
    """
    layout = deployment.layout
    numbered, engine = RANK.search(name or ""), ENGINE.match(name or "")
    if numbered:
        rank = int(numbered["number"])
    elif engine and layout.world_size == 1:
        rank = int(engine["number"] or 0)
    else:
        at = {part["axis"]: int(part["number"]) for part in PART.finditer(name or "")}
        if not at and layout.world_size > 1:
            return None
        rank = at.get("DP", 0) * layout.pp + at.get("PP", 0)
        rank = (rank * layout.pcp + at.get("PCP", 0)) * layout.tp + at.get("TP", 0)
    return rank if rank < layout.ranks else None


def _rank_row(worker: Worker, deployment: Deployment, known: Coefficients) -> RankRow | None:
    rank = rank_of(worker.name, deployment)
    if rank is None:
        return None
    shard = Shard.of(deployment, rank)
    ledger = Ledger.of(shard, known)
    gpu = deployment.cluster.gpu
    budget = None if gpu is None else Budget.of(ledger, gpu)
    requested = None if budget is None else budget.requested_bytes / GIB
    return RankRow(
        worker=worker,
        rank=rank,
        stage=shard.rank.pp,
        weights=Pair(estimate=ledger.loaded_bytes / GIB, printed=worker.weight_gib),
        budget=Pair(estimate=requested, printed=worker.budget_gib),
        overhead=_spanned(ledger.overhead, _overhead(worker, requested)),
        available=Pair(printed=worker.available_kv_gib)
        if budget is None
        else _spanned(budget.available, worker.available_kv_gib),
    )


def _spanned(span: Span, printed: float | None) -> Pair:
    return Pair(
        estimate=span.likely / GIB,
        printed=printed,
        least=span.least / GIB,
        most=span.most / GIB,
    )


def _overhead(worker: Worker, requested: float | None) -> float | None:
    """What the budget keeps beside weights and room, from printed figures."""
    budget = requested if worker.budget_gib is None else worker.budget_gib
    if budget is None or worker.weight_gib is None or worker.available_kv_gib is None:
        return None
    return round(budget - worker.weight_gib - worker.available_kv_gib, 2)


def _printed_room(ranks: tuple[RankRow, ...]) -> dict[int, float]:
    """The least memory that workers of each stage print."""
    found: dict[int, float] = {}
    for row in ranks:
        room = row.worker.available_kv_gib
        if room is not None:
            found[row.stage] = min(room, found.get(row.stage, room))
    return found


def _follows(deployment: Deployment, by_stage: dict[int, float]) -> tuple[int, int] | None:
    """The tokens that the printed memory makes; stages that print none are taken for no bound."""
    if not by_stage:
        return None
    ends = []
    for half in (-HALF_DIGIT, HALF_DIGIT):
        most = max(by_stage.values())
        room = [by_stage.get(stage, most) for stage in range(deployment.layout.pp)]
        ends.append(_tokens(deployment, tuple(round((gib + half) * GIB) for gib in room)))
    least, most_tokens = ends
    return None if least is None or most_tokens is None else (least, most_tokens)


def _estimate(deployment: Deployment, known: Coefficients) -> int | None:
    gpu = deployment.cluster.gpu
    if gpu is None:
        return None
    room = tuple(
        Budget.of(Ledger.of(budget.ledger.shard, known), gpu).available_kv_bytes
        for budget in budgets_on(deployment, gpu)
    )
    return _tokens(deployment, room)


def _tokens(deployment: Deployment, room: tuple[int, ...]) -> int | None:
    """The tokens of a pool with this memory on each stage, None where it holds none."""
    if min(room) <= 0:
        return None
    try:
        return Pool.of(deployment, room).tokens
    except (VllmParallelError, ZeroDivisionError):
        return None
