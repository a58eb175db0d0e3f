"""The comparison for people: a table a concurrency, and what they must know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vllm_parallel.compare import Cell, Findings, Level, Metric, Ratio, Standing
from vllm_parallel.errors import on_one_line
from vllm_parallel.render.compared import interval_text, verdict_word
from vllm_parallel.render.numbers import UNKNOWN, counted, to, whole
from vllm_parallel.render.record import figure
from vllm_parallel.render.text import table
from vllm_parallel.symptoms import SYMPTOM

LONGEST: Final = 40
BESIDE: Final = (Metric.TTFT_MS, Metric.TPOT_MS, Metric.ITL_MS)


def report(found: Findings) -> str:
    """A table a concurrency, then what was left out, the notes, and the ways out."""
    terms = found.comparison.terms
    words = terms.metric.words
    promise = f"of comparisons of equal layouts at most {terms.false_verdicts:.0%} give a verdict"
    lines = [f"{words[0].upper()}{words[1:]}, beside {_short(terms.baseline)}; {promise}"]
    for level in found.comparison.levels:
        lines += ["", f"At {on_one_line(level.asked.in_words())}", _table(found, level)]
        lines += [f"  {on_one_line(text)}" for text in _remarks(level)]
    lines.append("")
    totals = [f"{_short(k)} {whole(v)}" for k, v in found.pressure.layouts.items() if v is not None]
    if totals:
        lines.append(f"Preemptions over all trials: {', '.join(totals)}")
    skipped = [one for one in found.measured.sweep.skipped if not one.expected]
    lines += [f"Skipped: {on_one_line(f'{one.path}: {one.reason}')}" for one in skipped]
    lines += [f"Note: {on_one_line(note)}" for note in found.notes]
    for name, labels in found.symptoms().items():
        symptom, names = SYMPTOM[name], ", ".join(map(_short, labels))
        lines.append(f"{name} ({names}): {symptom.fix} ({symptom.address()})")
    return "\n".join(lines)


def _table(found: Findings, level: Level) -> str:
    metric = found.comparison.terms.metric
    head = (
        "layout", "GPUs", "trials", metric.unit, "from–to", "ratio", "interval", "TTFT p50",
        "TPOT p50", "ITL p50", "preempted", "verdict",
    )  # fmt: skip
    standings = {one.pair.cell.label: one for one in level.standings}
    rows = []
    for cell in level.cells:
        spread, standing = cell.spread(metric), standings.get(cell.label)
        number = found.pressure.cells.get((cell.label, level.concurrency))
        rows.append(
            (
                _short(cell.label),
                UNKNOWN if cell.gpus is None else str(cell.gpus),
                _trials(cell),
                UNKNOWN if spread is None else figure(spread.median),
                UNKNOWN if spread is None else to(figure(spread.least), figure(spread.most)),
                *_ratio(standing),
                *(_median(cell, latency) for latency in BESIDE),
                UNKNOWN if number is None else whole(number),
                verdict_word(standing),
            )
        )
    return table([head, *rows], right=range(1, len(head) - 1))


def _trials(cell: Cell) -> str:
    count = str(len(cell.trials))
    return count if cell.start_count == 1 else f"{count} of {counted(cell.start_count, 'start')}"


def _ratio(standing: Standing | None) -> Sequence[str]:
    ratio = Ratio(value=1.0) if standing is None else standing.ratio
    if ratio is None:
        return UNKNOWN, UNKNOWN
    return f"{ratio.value:.2f}", interval_text(ratio) or UNKNOWN


def _median(cell: Cell, metric: Metric) -> str:
    spread = cell.spread(metric)
    return UNKNOWN if spread is None else figure(spread.median)


def _remarks(level: Level) -> Iterator[str]:
    for standing in level.standings:
        if not standing.comparable or standing.pair.scarcity:  # else the interval says it
            yield f"{standing.pair.cell.label}: {standing.reason}"
    for cell in level.cells:
        for out in cell.left_out:
            yield f"left out: {out.result.path}: {out.reason}"


def _short(label: str) -> str:
    text = on_one_line(label)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
