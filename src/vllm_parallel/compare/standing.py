"""One layout beside the baseline, at one concurrency."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from vllm_parallel.compare.cell import Cell
from vllm_parallel.compare.interval import LEAST_UNITS, Ratio
from vllm_parallel.compare.load import Asked
from vllm_parallel.compare.metric import Metric
from vllm_parallel.frozen import dataclass


class Judgement(StrEnum):
    """What a comparison says of a layout."""

    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A layout and the baseline at one concurrency, and what they are compared by."""

    cell: Cell
    base: Cell | None
    metric: Metric

    @property
    def by_start(self) -> bool:
        """Whether the server start is the unit: where either layout was started several times."""
        cells = (self.cell, self.base)
        return any(cell is not None and cell.start_count > 1 for cell in cells)

    def samples(self) -> tuple[list[float], list[float]]:
        """The logarithms of both, a unit each."""
        cells = (self.cell, self.base)
        ours, theirs = (
            [] if cell is None else cell.logs(self.metric, by_start=self.by_start) for cell in cells
        )
        return ours, theirs

    def hindrance(self) -> str | None:
        """Why the two cannot be compared at all, None if they can."""
        return next(self._hindrances(), None)

    def _hindrances(self) -> Iterator[str]:
        cell, base = self.cell, self.base
        if not cell.trials:
            yield f"no trial of {cell.label} counts"
        if base is None or not base.trials:
            yield "no trial of the baseline counts" if base else "the baseline has no trial here"
            return
        for one in (cell, base):
            if len(one.loads) > 1:
                first, second = (load.in_words() for load in one.loads[:2])
                yield f"trials of {one.label} differ in load: {first}; and {second}"
        ours, theirs = (Asked.of(one.trials[0]) for one in (cell, base) if one.trials)
        if not ours.same(theirs):
            pair = f"{cell.label}: {ours.in_words()}; {base.label}: {theirs.in_words()}"
            yield f"the loads differ. {pair}"
        for one, sample in zip((cell, base), self.samples(), strict=True):
            if not sample:
                yield f"{one.label} gives no {self.metric.words}"

    @property
    def scarcity(self) -> str | None:
        """Why there is too little for a verdict, None if there is enough."""
        unit = "start" if self.by_start else "trial"
        for whose, sample in zip(("", "the baseline has "), self.samples(), strict=True):
            if len(sample) < LEAST_UNITS:
                count = f"{len(sample)} {unit}{'s' * (len(sample) != 1)}"
                return f"{whose}{count}, and a verdict takes {LEAST_UNITS}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a layout stands; `reason` says why there is no verdict, and `ratio` is None there."""

    pair: Pair
    comparable: bool
    ratio: Ratio | None = None
    reason: str | None = None

    @classmethod
    def of(cls, pair: Pair, error: float) -> Standing:
        """The standing of a pair, with this share of false verdicts."""
        hindrance = pair.hindrance()
        if hindrance is not None:
            return cls(pair=pair, comparable=False, reason=hindrance)
        ratio = Ratio.of(*pair.samples(), error)
        reason = pair.scarcity
        if reason is None and ratio.low is None:
            reason = "no trial differs from another by a digit, so the noise is unknown"
        elif reason is None and not (ratio.above or ratio.below):
            reason = "the interval holds 1: the difference may be noise"
        return cls(pair=pair, comparable=True, ratio=ratio, reason=reason)

    @property
    def verdict(self) -> Judgement:
        """Faster or slower than the baseline, beyond noise, or neither."""
        if self.ratio is None or not (self.ratio.above or self.ratio.below):
            return Judgement.INCONCLUSIVE
        faster = self.ratio.above == self.pair.metric.more_is_better
        return Judgement.FASTER if faster else Judgement.SLOWER

    def in_words(self, asked: Asked) -> str:
        """The verdict as a sentence, with the load that it holds for."""
        cell, base, ratio = self.pair.cell, self.pair.base, self.ratio
        where = asked.in_words()
        if ratio is None or base is None:
            return f"{cell.label} is not comparable at {where}: {self.reason}"
        times = f"{ratio.value:.3g} times the {self.pair.metric.words} of {base.label}"
        if ratio.low is not None and ratio.high is not None:
            times += f", {ratio.low:.3g} to {ratio.high:.3g}"
        if self.verdict is Judgement.INCONCLUSIVE:
            return f"inconclusive at {where}: {cell.label} has {times}; {self.reason}"
        return f"{cell.label} is {self.verdict} than {base.label} at {where}: {times}"
