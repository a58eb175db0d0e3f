"""Preemptions between two readings of `/metrics`: latencies beside them hold recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from vllm_parallel.engine.inputs import shown
from vllm_parallel.engine.metrics import MetricsChange, Snapshot
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass
from vllm_parallel.runs import RunLayout, Start, is_file_name

Cells = Mapping[tuple[str, int | None], Sequence[int | None]]  # the numbers of their trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """Preemptions of each layout over all its trials, and at a concurrency where it was read.

    None: there are no readings, or the server was started anew between them.
    """

    layouts: Mapping[str, int | None]
    cells: Mapping[tuple[str, int | None], int | None]
    restarts: tuple[str, ...]  # layouts whose counters cannot be subtracted
    notes: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path, labels: Iterable[str], cells: Cells) -> Pressure:
        """What the `.prom` files of a folder say of layouts, and of the trials of some cells.

        A file that cannot be read is noted.
        """
        reading = _Reading(folder)
        layouts = {label: reading.layout(label) for label in labels}
        found = {
            (label, concurrency): reading.cell(label, concurrency, trials)
            for (label, concurrency), trials in cells.items()
        }
        restarts, notes = (tuple(dict.fromkeys(one)) for one in (reading.restarts, reading.notes))
        return cls(layouts=layouts, cells=found, restarts=restarts, notes=notes)

    def preempted(self, label: str) -> bool:
        """Whether requests of a layout were preempted, as far as is known."""
        cells = [number for (name, _), number in self.cells.items() if name == label]
        return any((self.layouts.get(label), *cells))


class _Reading:
    """A folder, the layouts that were started anew, and what looked odd while it was read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.restarts: list[str] = []
        self.notes: list[str] = []

    def layout(self, label: str) -> int | None:
        """Preemptions over all starts of a layout."""
        if not is_file_name(label):
            return None
        named = RunLayout(name=label, gpus=1, serve="", starts=())
        return self._sum(label, self._starts(named))

    def cell(self, label: str, concurrency: int | None, trials: Iterable[int | None]) -> int | None:
        """Preemptions over the trials at a concurrency, None if one has no readings."""
        numbers = [trial for trial in trials if trial is not None]
        if concurrency is None or not is_file_name(label):
            return None
        named = RunLayout(name=label, gpus=1, serve="", starts=())
        pairs = [named.trial_metrics(concurrency, trial) for trial in numbers]
        if not all((self.folder / name).is_file() for pair in pairs for name in pair):
            return None
        return self._sum(label, pairs)

    def _starts(self, layout: RunLayout) -> Iterator[tuple[str, str]]:
        """The readings of each start that has both."""
        for number in count(1):
            pair = layout.metrics(Start(number=number, trials=()))
            if not all((self.folder / name).is_file() for name in pair):
                return
            yield pair

    def _sum(self, label: str, pairs: Iterable[tuple[str, str]]) -> int | None:
        gains = [self._gain(label, pair) for pair in pairs]
        known = [gain for gain in gains if gain is not None]
        return sum(known) if known and len(known) == len(gains) else None

    def _gain(self, label: str, pair: tuple[str, str]) -> int | None:
        try:
            before, after = (Snapshot.of_file(self.folder / name) for name in pair)
            change = MetricsChange.of(before, after)
        except ParseError as error:
            self.notes.append(str(error))
            return None
        if not change.comparable:
            self.restarts.append(label)
            self.notes.append(f"{shown(self.folder / pair[1])}: the server was started anew")
            return None
        gains = [one.preemptions for one in change.engines if one.preemptions is not None]
        return sum(gains) if gains and len(gains) == len(change.engines) else None
