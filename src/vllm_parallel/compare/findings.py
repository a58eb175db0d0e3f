"""A comparison with all that stands beside it: preemptions, notes, and the symptoms of layouts."""

from __future__ import annotations

from collections.abc import Iterator

from vllm_parallel.compare.comparison import Comparison
from vllm_parallel.compare.measured import Measured
from vllm_parallel.compare.metric import Metric
from vllm_parallel.compare.pressure import Pressure
from vllm_parallel.compare.standing import Judgement
from vllm_parallel.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of a folder, their comparison, and the preemptions."""

    measured: Measured
    comparison: Comparison
    pressure: Pressure

    @classmethod
    def of(cls, measured: Measured, baseline: str, metric: Metric) -> Findings:
        """Everything about a folder's layouts beside one of them.

        Raises:
            ParseError: the baseline is no layout of these results, or the only one.
        """
        comparison = measured.comparison(baseline, metric)
        cells = {
            (cell.label, level.concurrency): [result.trial for result in cell.trials]
            for level in comparison.levels
            for cell in level.cells
        }
        pressure = Pressure.of(measured.folder, comparison.labels, cells)
        return cls(measured=measured, comparison=comparison, pressure=pressure)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that a reader must know of it, once each."""
        notes = (*self.comparison.notes, *self.pressure.notes, *self.measured.sweep.notes)
        return tuple(dict.fromkeys(notes))

    def symptoms(self) -> dict[str, list[str]]:
        """The layouts that show each symptom, by its name."""
        found: dict[str, list[str]] = {}
        for label in self.comparison.labels:
            for name in self._symptoms_of(label):
                found.setdefault(name, []).append(label)
        return found

    def _symptoms_of(self, label: str) -> Iterator[str]:
        if self.pressure.preempted(label):
            yield "preemptions"
        if label in self.pressure.restarts:
            yield "counter-went-back"
        cells = (one for level in self.comparison.levels for one in level.cells)
        out = [one.result for cell in cells if cell.label == label for one in cell.left_out]
        if any(result.outcome.failed for result in out):
            yield "requests-failed"
        standings = [one for one in self.comparison.standings() if one.pair.cell.label == label]
        noisy = [one.comparable and one.verdict is Judgement.INCONCLUSIVE for one in standings]
        if any(noisy):
            yield "noise"

    @property
    def whole(self) -> bool:
        """Whether everything could be read and compared."""
        return self.comparison.comparable and self.measured.sweep.whole
