"""The trials of one layout at one concurrency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log
from statistics import fmean, median

from vllm_parallel.compare.load import Asked, distinct
from vllm_parallel.compare.metric import LATENCIES, Metric
from vllm_parallel.engine.bench_results import BenchResult
from vllm_parallel.frozen import dataclass

StartOf = Callable[[BenchResult], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Trials in sum: how many, their median, least and most."""

    count: int
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The sum of some values, None of none.

        >>> Spread.of([3.0, 1.0, 2.5]).share
        0.8
        """
        if not values:
            return None
        return cls(count=len(values), median=median(values), least=min(values), most=max(values))

    @property
    def share(self) -> float:
        """From least to most, as a share of the median."""
        return (self.most - self.least) / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A trial that is not compared, and why."""

    result: BenchResult
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A layout at a concurrency: trials that count, each with its server start, and the others."""

    label: str
    trials: tuple[BenchResult, ...]
    starts: tuple[int | None, ...]
    left_out: tuple[LeftOut, ...]

    @classmethod
    def of(cls, label: str, results: Iterable[BenchResult], start_of: StartOf) -> Cell:
        """The cell of some results of one label and concurrency."""
        kept: list[BenchResult] = []
        left_out = []
        for result in results:
            reason = _reason(result, kept)
            if reason is None:
                kept.append(result)
            else:
                left_out.append(LeftOut(result=result, reason=reason))
        starts = tuple(start_of(result) for result in kept)
        return cls(label=label, trials=tuple(kept), starts=starts, left_out=tuple(left_out))

    @property
    def loads(self) -> list[Asked]:
        """What its trials asked; one load where they can be compared."""
        return distinct(Asked.of(result) for result in self.trials)

    @property
    def gpus(self) -> int | None:
        """GPUs of the layout, None where no trial says it."""
        return next((one.gpus for one in self.trials if one.gpus is not None), None)

    @property
    def start_count(self) -> int:
        """How many server starts answered; one where nobody wrote them down."""
        return len(set(self.starts))

    def values(self, metric: Metric) -> list[float]:
        """The figure of each trial that has it."""
        found = (metric.of(result) for result in self.trials)
        return [value for value in found if value is not None]

    def spread(self, metric: Metric) -> Spread | None:
        """A figure over the trials."""
        return Spread.of(self.values(metric))

    def latency(self, metric: str, statistic: str) -> Spread | None:
        """A statistic, `mean`, `p50` or `p99`, of `ttft`, `tpot` or `itl` over the trials."""
        latencies = (result.outcome.latency(metric) for result in self.trials)
        found = (getattr(one, statistic) for one in latencies if one is not None)
        return Spread.of([value for value in found if value is not None])

    def logs(self, metric: Metric, *, by_start: bool) -> list[float]:
        """The logarithm of each trial's figure, or the mean of each start's."""
        grouped: dict[object, list[float]] = {}
        for number, (result, start) in enumerate(zip(self.trials, self.starts, strict=True)):
            value = metric.of(result)
            if value:
                grouped.setdefault(start if by_start else number, []).append(log(value))
        return [fmean(values) for values in grouped.values()]


def _reason(result: BenchResult, kept: Iterable[BenchResult]) -> str | None:
    """Why a trial does not count, None if it does."""
    if not result.comparable:
        return "; ".join(result.doubts)
    for other in kept:
        if _figures(other) == _figures(result):
            return f"has every figure of {other.path}: a copy is no trial"
    return None


def _figures(result: BenchResult) -> tuple[object, ...]:
    outcome = result.outcome
    latencies = (outcome.latency(name) for name in LATENCIES)
    return outcome.duration, outcome.output_throughput, *latencies
