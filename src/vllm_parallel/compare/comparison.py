"""Layouts beside a baseline, concurrency by concurrency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from vllm_parallel.compare.cell import Cell, StartOf
from vllm_parallel.compare.interval import FALSE_VERDICTS
from vllm_parallel.compare.load import Asked
from vllm_parallel.compare.metric import Metric
from vllm_parallel.compare.standing import Pair, Standing
from vllm_parallel.engine.bench_results import BenchResult
from vllm_parallel.errors import ParseError, close_names, shortened
from vllm_parallel.frozen import dataclass

Table = Mapping[int | None, Mapping[str, Cell]]


def start_in_metadata(result: BenchResult) -> int | None:
    """The start of a trial as its metadata say it, None where they do not."""
    return result.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is compared with what: the baseline's label, the figure, and who started which trial."""

    baseline: str
    metric: Metric = Metric.OUTPUT_THROUGHPUT
    start_of: StartOf = start_in_metadata
    false_verdicts: float = FALSE_VERDICTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One concurrency: the baseline's cell, and the standing of every other layout."""

    concurrency: int | None
    base: Cell | None
    standings: tuple[Standing, ...]

    @property
    def asked(self) -> Asked:
        """The load: the baseline's, or of the first layout that has one."""
        cells = [self.base, *(standing.pair.cell for standing in self.standings)]
        trials = (cell.trials[0] for cell in cells if cell is not None and cell.trials)
        first = next(trials, None)
        return Asked(concurrency=self.concurrency) if first is None else Asked.of(first)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every layout's cell, the baseline's first."""
        others = (standing.pair.cell for standing in self.standings)
        return (*(() if self.base is None else (self.base,)), *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every concurrency, by its size; `comparisons` is how many pairs share the false verdicts."""

    terms: Terms
    levels: tuple[Level, ...]
    comparisons: int

    @classmethod
    def of(cls, results: Iterable[BenchResult], terms: Terms) -> Comparison:
        """The comparison of some results.

        Raises:
            ParseError: the baseline is no label of theirs, or there is no other.
        """
        table = _table(results, terms.start_of)
        _refuse_lonely(table, terms.baseline)
        pairs = {width: _pairs(row, terms) for width, row in table.items()}
        enough = [one for row in pairs.values() for one in row if _is_tested(one)]
        error = terms.false_verdicts / max(1, len(enough))
        levels = tuple(
            Level(
                concurrency=width,
                base=table[width].get(terms.baseline),
                standings=tuple(Standing.of(pair, error) for pair in pairs[width]),
            )
            for width in sorted(table, key=lambda width: inf if width is None else width)
        )
        return cls(terms=terms, levels=levels, comparisons=len(enough))

    def standings(self) -> Iterator[Standing]:
        """Every layout at every concurrency."""
        for level in self.levels:
            yield from level.standings

    @property
    def comparable(self) -> bool:
        """Whether every layout can be compared everywhere, with all of its trials."""
        cells = [cell for level in self.levels for cell in level.cells]
        return all(one.comparable for one in self.standings()) and not any(
            cell.left_out for cell in cells
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label, the baseline first."""
        found = [cell.label for level in self.levels for cell in level.cells]
        return tuple(dict.fromkeys([self.terms.baseline, *found]))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of all verdicts."""
        return tuple(_notes(self))


def _table(results: Iterable[BenchResult], start_of: StartOf) -> Table:
    grouped: dict[int | None, dict[str, list[BenchResult]]] = {}
    for result in results:
        label = "no label" if result.label is None else result.label
        row = grouped.setdefault(result.load.max_concurrency, {})
        row.setdefault(label, []).append(result)
    return {
        width: {label: Cell.of(label, found, start_of) for label, found in row.items()}
        for width, row in grouped.items()
    }


def _pairs(row: Mapping[str, Cell], terms: Terms) -> list[Pair]:
    base = row.get(terms.baseline)
    others = (cell for label, cell in row.items() if label != terms.baseline)
    return [Pair(cell=cell, base=base, metric=terms.metric) for cell in others]


def _is_tested(pair: Pair) -> bool:
    return pair.hindrance() is None and pair.scarcity is None


def _refuse_lonely(table: Table, baseline: str) -> None:
    labels = sorted({label for row in table.values() for label in row})
    if baseline not in labels:
        problem = f"{shortened(baseline)} is no layout of these results"
        fix = close_names(baseline, labels, whose="the comparison") if labels else "give results"
        raise ParseError(place="--baseline", problem=problem, fix=fix)
    if len(labels) == 1:
        problem = "is the only layout here"
        raise ParseError(place=shortened(baseline), problem=problem, fix="measure another")


def _notes(comparison: Comparison) -> Iterator[str]:
    cells = [cell for level in comparison.levels for cell in level.cells if cell.trials]
    several = [cell.label for cell in cells if cell.start_count > 1]
    unsaid = [cell.label for cell in cells if None in cell.starts]
    if several:
        names = ", ".join(dict.fromkeys(several))
        yield f"{names}: started several times, so the server start is the unit of comparison"
    elif unsaid:
        yield (
            "server starts are not written down: trials are taken as of one start each, and how "
            "much two starts of one layout differ is in no interval"
        )
    else:
        yield (
            "one server start a layout: verdicts are of these servers, as how much two starts of "
            "one layout differ is in no interval"
        )
    gpus = {cell.label: cell.gpus for cell in cells}
    per_gpu = comparison.terms.metric is Metric.OUTPUT_THROUGHPUT_PER_GPU
    if len(set(gpus.values())) > 1 and not per_gpu:
        listed = ", ".join(f"{label} {count or 'unknown'}" for label, count in gpus.items())
        yield f"the layouts take different numbers of GPUs: {listed}"
