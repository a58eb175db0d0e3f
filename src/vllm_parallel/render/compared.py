"""A comparison as a table for pages: a row a layout and concurrency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.compare import Cell as Trials
from vllm_parallel.compare import Findings, Level, Metric, Ratio, Standing
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, table
from vllm_parallel.render.numbers import UNKNOWN, bounds
from vllm_parallel.render.record import figure, spread

MEASURED: Final = Provenance.MEASURED
BESIDE: Final = (Metric.TTFT_MS, Metric.TPOT_MS)


def comparison_table(found: Findings, *, caption: str) -> str:
    """Every layout at every concurrency, beside the baseline."""
    metric = found.comparison.terms.metric
    head = (
        "at", "layout", "verdict", "ratio", "interval", metric.unit, "TTFT p50", "TPOT p50",
        "preempted", "trials",
    )  # fmt: skip
    rows = [row for level in found.comparison.levels for row in _rows(found, level)]
    return table(head, rows, caption=caption)


def reasons(found: Findings) -> list[str]:
    """Why verdicts are missing, and which trials were left out, a sentence each."""
    where: dict[str, list[str]] = {}
    for level in found.comparison.levels:
        for said in _said(level):
            where.setdefault(said, []).append(_width(level))
    return [f"{said}, at concurrency {', '.join(widths)}" for said, widths in where.items()]


def _said(level: Level) -> Iterator[str]:
    for standing in level.standings:
        label, scarce = standing.pair.cell.label, standing.pair.scarcity
        if not standing.comparable:
            yield f"{label} is not comparable: {standing.reason}"
        elif scarce is not None:
            yield f"{label} is inconclusive: {scarce}"
    for cell in level.cells:
        for out in cell.left_out:
            yield f"a trial of {cell.label} is left out: {out.reason}"


def _width(level: Level) -> str:
    return "any" if level.concurrency is None else str(level.concurrency)


def _rows(found: Findings, level: Level) -> Iterator[list[Cell]]:
    standings = {one.pair.cell.label: one for one in level.standings}
    for cell in level.cells:
        standing = standings.get(cell.label)
        number = found.pressure.cells.get((cell.label, level.concurrency))
        yield [
            Cell(_width(level)),
            Cell(cell.label),
            Cell(verdict_word(standing)),
            *_ratio(standing),
            _measured(spread(cell.spread(found.comparison.terms.metric))),
            *(_measured(_median(cell, metric)) for metric in BESIDE),
            _measured(None if number is None else str(number)),
            Cell(_trials(cell)),
        ]


def _trials(cell: Trials) -> str:
    count = str(len(cell.trials))
    return count if cell.start_count == 1 else f"{count} of {cell.start_count} starts"


def _ratio(standing: Standing | None) -> Iterator[Cell]:
    if standing is None or standing.ratio is None:
        yield from (Cell("1" if standing is None else UNKNOWN), Cell(UNKNOWN))
        return
    ratio = standing.ratio
    yield Cell(f"{ratio.value:.2f}", MEASURED)
    yield _measured(interval_text(ratio))


def verdict_word(standing: Standing | None) -> str:
    """What the comparison says of a layout; without a standing it is the baseline."""
    if standing is None:
        return "baseline"
    return str(standing.verdict) if standing.comparable else "not comparable"


def interval_text(ratio: Ratio) -> str | None:
    """The ends of a ratio's interval, if it has one."""
    return None if ratio.low is None or ratio.high is None else bounds(ratio.low, ratio.high)


def _median(cell: Trials, metric: Metric) -> str | None:
    found = cell.spread(metric)
    return None if found is None else figure(found.median)


def _measured(text: str | None) -> Cell:
    return Cell(UNKNOWN) if text is None else Cell(text, MEASURED)
