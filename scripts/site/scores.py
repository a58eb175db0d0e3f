"""Launches against the package: weights, blocks from the printed budget, the pool without a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from launches import Launch, Unread, Worker
from vllm_parallel import Ledger, Pool, VllmParallelError
from vllm_parallel.ledger import Budget, stage_shards
from vllm_parallel.overhead import COEFFICIENTS, Coefficients

TOKENS_BY_CONCURRENCY = (0, 21)  # since this release tokens are printed as concurrency x length


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One launch judged: what was computed beside what was printed."""

    launch: Launch
    weights: tuple[tuple[int, int], ...]  # computed and measured, of each stage
    blocks_lie: bool | None  # within what the printed budget leaves open; None: not printed
    pool: tuple[int, int] | None  # blocks computed without the log, and measured

    @property
    def farthest(self) -> tuple[int, int]:
        """Weights of the stage that is farthest off."""
        return max(self.weights, key=lambda pair: abs(pair[0] / pair[1] - 1))

    @property
    def weight_error(self) -> float:
        """Mean over the stages, as a share."""
        return fmean(abs(computed / measured - 1) for computed, measured in self.weights)

    @property
    def pool_error(self) -> float | None:
        """Of the pool, as a share with its sign."""
        return None if self.pool is None else self.pool[0] / self.pool[1] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All launches of a file together."""

    weight_error: float
    blocks: tuple[int, int]  # exact, of so many
    pool_error: float | None  # None: no log says what was profiled

    @classmethod
    def of(cls, scores: Sequence[Score]) -> Summary:
        """Means over runs."""
        lie = [score.blocks_lie for score in scores if score.blocks_lie is not None]
        errors = [abs(score.pool_error) for score in scores if score.pool_error is not None]
        return cls(
            weight_error=fmean(score.weight_error for score in scores if score.weights),
            blocks=(sum(lie), len(lie)),
            pool_error=fmean(errors) if errors else None,
        )


def coefficients_of(release: str) -> Coefficients:
    """Those of a release, or of the nearest one that is known before it."""
    known = [one for one in COEFFICIENTS if _number(one) <= _number(release)]
    return COEFFICIENTS[max(known, key=_number) if known else min(COEFFICIENTS, key=_number)]


def judged(rows: Iterable[Launch | Unread]) -> tuple[list[Score], list[Unread]]:
    """Scores of what can be judged, and why the rest cannot."""
    scores, unread = [], []
    for row in rows:
        if isinstance(row, Unread):
            unread.append(row)
            continue
        try:
            scores.append(score(row))
        except VllmParallelError as error:
            unread.append(Unread(id=row.id, reason=str(error).split(";")[0]))
    return scores, unread


def score(launch: Launch, known: Coefficients | None = None) -> Score:
    """A launch against what the package computes, by its release's coefficients."""
    ledgers = ledgers_of(launch, known or coefficients_of(launch.release))
    weights = tuple(
        (ledger.loaded_bytes, worker.weights)
        for ledger, worker in zip(ledgers, launch.workers, strict=True)
        if worker.weights is not None
    )
    measured = launch.blocks
    if measured is None and all(worker.peak is not None for worker in launch.workers):
        measured = _blocks_of_tokens(launch)
    return Score(
        launch=launch,
        weights=weights,
        blocks_lie=_lie(launch),
        pool=None if measured is None else (computed_blocks(launch, ledgers), measured),
    )


def ledgers_of(launch: Launch, known: Coefficients) -> list[Ledger]:
    """The ledger of each stage's fullest rank."""
    return [Ledger.of(shard, known) for shard in stage_shards(launch.deployment)]


def computed_blocks(launch: Launch, ledgers: Iterable[Ledger]) -> int:
    """Blocks of the pool, from nothing but the deployment."""
    gpu = launch.deployment.cluster.gpu
    if gpu is None:
        raise ValueError("a launch needs a GPU")
    available = tuple(Budget.of(ledger, gpu).available_kv_bytes for ledger in ledgers)
    return Pool.of(launch.deployment, available).num_blocks


def printed_tokens(pool: Pool, release: str) -> int:
    """KV tokens as a release prints them: older ones share blocks evenly among groups."""
    if _number(release) >= TOKENS_BY_CONCURRENCY:
        return pool.tokens
    deployment = pool.cache.deployment
    per_group = pool.num_blocks // len(pool.cache.groups)
    return per_group * pool.cache.block_size * deployment.layout.dcp


def _lie(launch: Launch) -> bool | None:
    """Whether blocks, and tokens beside them, are what the printed budgets give."""
    low, high = (_pool(launch, sign) for sign in (-1, 1))
    if low is None or high is None or (launch.blocks is None and launch.tokens is None):
        return None
    lie = True
    if launch.blocks is not None:
        lie = low.num_blocks <= launch.blocks <= high.num_blocks
    if launch.tokens is not None:
        ends = [printed_tokens(pool, launch.release) for pool in (low, high)]
        lie = lie and ends[0] <= launch.tokens <= ends[1]
    return lie


def _pool(launch: Launch, sign: int) -> Pool | None:
    """The pool at one end of what the printed figures leave open."""
    available = tuple(_end(worker, sign) for worker in launch.workers)
    if None in available:
        return None
    return Pool.of(launch.deployment, tuple(end for end in available if end is not None))


def _end(worker: Worker, sign: int) -> int | None:
    return None if worker.available is None else worker.available + sign * worker.half


def _blocks_of_tokens(launch: Launch) -> int | None:
    """Blocks behind a printed count of tokens, where only that is printed."""
    pool = _pool(launch, 1)
    if launch.tokens is None or pool is None:
        return None
    groups, size = len(pool.cache.groups), pool.cache.block_size
    return launch.tokens // size * groups


def _number(release: str) -> tuple[int, int]:
    """Major and minor.

    >>> _number("0.26.1rc1.dev608+g99a10304d")
    (0, 26)
    """
    major, minor = release.split(".")[:2]
    return int(major), int(minor)
