"""The results of some files and folders: a row a trial, and what was passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.documents import documents
from vllm_parallel.engine.bench_results.files import Candidate, candidates
from vllm_parallel.engine.bench_results.kinds import EXPECTED, reason
from vllm_parallel.engine.bench_results.result import BenchResult
from vllm_parallel.engine.inputs import Watch, shown
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass

FIX: Final = "give results of vllm bench serve, or the folder they are in"

Follow = Callable[[Path], Watch | None]  # asked for each file that is opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that gave no row, or an object of one, and why; `expected` ones leave nothing out."""

    path: str
    reason: str
    expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Rows by label, concurrency and trial; what was skipped; what looked odd."""

    rows: tuple[BenchResult, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every row is comparable and nothing that should be a row was left out."""
        sound = all(row.comparable for row in self.rows)
        return sound and all(one.expected for one in self.skipped)

    @property
    def cells(self) -> Mapping[tuple[str | None, int | None], tuple[BenchResult, ...]]:
        """The trials of each label and concurrency, in the order of the rows."""
        found: dict[tuple[str | None, int | None], tuple[BenchResult, ...]] = {}
        for row in self.rows:
            key = row.label, row.load.max_concurrency
            found[key] = (*found.get(key, ()), row)
        return found

    @classmethod
    def of(cls, paths: Iterable[Path], follow: Follow | None = None) -> Sweep:
        """What the files of some paths say, and those of folders, however deep.

        Raises:
            ParseError: no path holds a result; the error is that of the first that was opened.
        """
        reading = _Reading()
        for one in candidates(paths):
            reading.take(one, None if follow is None else follow(one.path))
        if not reading.rows:
            raise reading.error or ParseError(
                place="the call:", problem="names no file that holds a result", fix=FIX
            )
        rows = tuple(sorted(reading.rows, key=_order))
        notes = [note for row in rows for note in row.notes]
        notes += _alike(rows)
        return cls(rows=rows, skipped=tuple(reading.skipped), notes=tuple(dict.fromkeys(notes)))


class _Reading:
    """Rows and what was skipped, while files are gone through."""

    def __init__(self) -> None:
        self.rows: list[BenchResult] = []
        self.skipped: list[Skipped] = []
        self.error: ParseError | None = None

    def take(self, one: Candidate, watch: Watch | None) -> None:
        """Read a file, or note why it is not read."""
        reasons = [one.reason] if one.reason else []
        place, several = shown(one.path), False
        try:
            for document in () if one.reason else documents(one.path, watch):
                several = several or document.line > 1
                why = reason(document.fields)
                if why is not None:
                    reasons.append(why)
                    continue
                where = f"{place} line {document.line}" if several else place
                self.rows.append(BenchResult.of(one.path, where, document))
        except ParseError as error:
            self._failed(one, error)
        for why in dict.fromkeys(reasons):
            self._skip(one, why)

    def _skip(self, one: Candidate, why: str) -> None:
        expected = why in EXPECTED and not one.named
        self.skipped.append(Skipped(path=str(one.path), reason=why, expected=expected))
        if not one.reason:
            self._keep(ParseError(place=shown(one.path), problem=f"is {why}", fix=FIX))

    def _failed(self, one: Candidate, error: ParseError) -> None:
        why = str(error).removeprefix(shown(one.path)).lstrip(": ")
        self.skipped.append(Skipped(path=str(one.path), reason=why, expected=False))
        self._keep(error)

    def _keep(self, error: ParseError) -> None:
        self.error = self.error or error


def _order(row: BenchResult) -> tuple[object, ...]:
    numbers = (row.load.max_concurrency, row.trial)
    known = (inf if number is None else number for number in numbers)
    return row.label is None, row.label or "", *known, row.path, row.line


def _alike(rows: Iterable[BenchResult]) -> Iterator[str]:
    """Rows that claim to be the same trial, and labels with several numbers of GPUs."""
    trials: dict[tuple[object, ...], BenchResult] = {}
    twins: dict[str, list[str]] = {}
    gpus: dict[str, set[int | None]] = {}
    for row in rows:
        if row.label is None:
            continue
        gpus.setdefault(row.label, set()).add(row.gpus)
        key = row.label, row.load.max_concurrency, row.start, row.trial
        first = trials.setdefault(key, row)
        if first is not row and row.trial is not None:
            at = f"trial {row.trial} at concurrency {row.load.max_concurrency}"
            twins.setdefault(row.label, []).append(f"{first.path} and {row.path} are both {at}")
    for label, pairs in twins.items():
        more = f", and so are {len(pairs) - 1} more" if len(pairs) > 1 else ""
        yield on_one_line(f"{label}: {pairs[0]}{more}; write --metadata trial=…")
    for label, numbers in gpus.items():
        if len(numbers) > 1:
            listed = " and ".join(sorted(map(str, numbers)))
            yield on_one_line(f"{label} has {listed} GPUs, in different results")
