"""The tables and charts of measured runs: what lies under `results/` with a `run.toml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from prices import CONCURRENCY
from vllm_parallel.compare import (
    Cell,
    Findings,
    Measured,
    Metric,
    Record,
    Spread,
    records,
)
from vllm_parallel.render.compared import comparison_table, reasons
from vllm_parallel.render.record import NOT_MEASURED, record_rows, record_table
from vllm_parallel.render.sweeps import Chart, Point, Trace, sweep
from vllm_parallel.runs import Run, RunLayout, run_folders

RESULTS: Final = Path(__file__).resolve().parents[2] / "results"
SIGNS: Final = re.compile(r"([\\`*_{}\[\]()#+.!|-])")  # those that Markdown can escape
# The experiment of the guide: the run that has these fills its columns.
GUIDE: Final = ("tp8", "tp4pp2", "tp4dp2")
REACH: Final = "Measured; bars reach from the least to the most of the trials."
GUIDE_GPU, GUIDE_MODEL = "h100-80gb", "llama-3.1-70b"


@cache
def measured_runs(folder: Path = RESULTS) -> tuple[Measured, ...]:
    """Every run of a folder with its results, the newest first."""
    found = [Measured.of(path) for path in run_folders(folder)]
    return tuple(sorted(found, key=lambda one: (run_of(one).date, run_of(one).name), reverse=True))


def run_of(measured: Measured) -> Run:
    """What describes it."""
    if measured.run is None:
        raise ValueError(f"{measured.folder} has no run.toml")
    return measured.run


def index(folder: Path = RESULTS) -> str:
    """Every run: the hardware, what was served in which layouts, and where its record is."""
    found = measured_runs(folder)
    rows = [_index_row(run_of(one)) for one in found]
    if not any(_is_guide(run_of(one)) for one in found):
        empty = f"<td>{NOT_MEASURED}</td>"
        link = '<td><a href="record/">8 × H100 80 GB, one node</a></td>'
        rows.append(f"<tr>{link}<td>Llama-3.1-70B</td><td>{', '.join(GUIDE)}</td>{empty * 2}</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("hardware", "model", "layouts", "date", "vLLM"))
    caption = "Every run, by its hardware; the first column leads to its record."
    return (
        f'<table class="figures"><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table>"
    )


def _index_row(run: Run) -> str:
    names = ", ".join(layout.name for layout in run.layouts)
    link = f'<a href="record/#{anchor(run)}">{escape(run.hardware.name)}</a>'
    cells = (escape(run.model.name), escape(names), str(run.date), escape(run.vllm_version))
    return f"<tr><td>{link}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def guide_record(folder: Path = RESULTS) -> str:
    """The guide's table: its columns from the run that has them, else "not measured"."""
    found: dict[str, Record] = {}
    for measured in measured_runs(folder):
        run = run_of(measured)
        if _is_guide(run):
            found = {one.layout.name: one for one in records(measured)}
            break
    rows = record_rows([found.get(name) for name in GUIDE], CONCURRENCY)
    caption = "Llama-3.1-70B on eight H100 80 GB of one node, the load of the guide."
    return record_table(GUIDE, rows, caption=caption)


def _is_guide(run: Run) -> bool:
    return (
        (run.hardware.gpu, run.hardware.count, run.model.config) == (GUIDE_GPU, 8, GUIDE_MODEL)
        and run.load.concurrencies == CONCURRENCY
        and {layout.name for layout in run.layouts} >= set(GUIDE)
    )


def run_sections(folder: Path = RESULTS) -> str:
    """A section a run: what it is, its record, its comparison, its charts, its commands."""
    return "\n\n".join("\n\n".join(_section(one)) for one in measured_runs(folder))


def _section(measured: Measured) -> Iterator[str]:
    run = run_of(measured)
    yield f"## {plain(run.title)} {{ #{anchor(run)} }}"
    if run.note:
        yield f"**{plain(run.note)}**"
    hardware = f"{run.hardware.name}{f' ({run.hardware.detail})' if run.hardware.detail else ''}"
    yield plain(
        f"{run.model.name} on {hardware}, vLLM {run.vllm_version}, measured by {run.measured_by} "
        f"on {run.date}: {run.load.in_words()}."
    )
    found = records(measured)
    rows = record_rows(found, run.load.concurrencies)
    caption = "Medians over the trials, with the least and the most in brackets."
    yield record_table([layout.name for layout in run.layouts], rows, caption=caption)
    if len(run.layouts) > 1:
        yield from _compared(measured, run)
    yield from charts(run, found)
    yield from _commands(run)


def _compared(measured: Measured, run: Run) -> Iterator[str]:
    """The comparison with the first layout, and what must be known of it."""
    baseline = run.layouts[0].name
    found = Findings.of(measured, baseline, Metric.OUTPUT_THROUGHPUT)
    terms = found.comparison.terms
    caption = (
        f"At each concurrency, output tokens a second beside {baseline}; latencies in ms. Of "
        f"comparisons between equal layouts at most {terms.false_verdicts:.0%} give a verdict."
    )
    yield comparison_table(found, caption=caption)
    notes = [*found.comparison.notes, *reasons(found)]
    yield "\n".join(f"- {plain(note)}." for note in notes)


def charts(run: Run, found: Sequence[Record]) -> Iterator[str]:
    """Throughput against latency, then TTFT and TPOT by concurrency."""
    looks: Sequence[tuple[str, str, str, Look]] = (
        ("flow", "output tokens a second", "TPOT p50, ms", _flow),
        ("ttft", "concurrency", "TTFT p50, ms", _by_width("ttft")),
        ("tpot", "concurrency", "TPOT p50, ms", _by_width("tpot")),
    )
    for name, across, up, look in looks:
        traces = [_trace(one, run.load.concurrencies, look) for one in found]
        drawn = tuple(trace for trace in traces if trace.points)
        if drawn:
            title = f"{up} over {across}: {run.title}"
            chart = Chart(traces=drawn, across=across, up=up)
            picture = sweep(chart, f"{anchor(run)}-{name}", title)
            yield f"<figure>{picture}<figcaption>{REACH}</figcaption></figure>"


Look = Callable[[Cell], tuple[float, Spread] | None]


def _flow(cell: Cell) -> tuple[float, Spread] | None:
    flow, time = cell.spread(Metric.OUTPUT_THROUGHPUT), cell.spread(Metric.TPOT_MS)
    return None if flow is None or time is None else (flow.median, time)


def _by_width(metric: str) -> Look:
    def look(cell: Cell) -> tuple[float, Spread] | None:
        width, time = cell.trials[0].load.max_concurrency, cell.latency(metric, "p50")
        return None if width is None or time is None else (float(width), time)

    return look


def _trace(record: Record, widths: Sequence[int], look: Look) -> Trace:
    points = []
    for width in sorted(widths):
        cell = record.cell(width)
        seen = look(cell) if cell is not None and cell.trials else None
        if seen is not None and seen[1].least > 0 and seen[0] > 0:
            across, time = seen
            points.append(
                Point(
                    across=across, up=time.median, least=time.least, most=time.most,
                    says=f"concurrency {width}",
                )
            )  # fmt: skip
    return Trace(name=record.layout.name, points=tuple(points))


def _commands(run: Run) -> Iterator[str]:
    """The commands of a run, folded."""
    parts = [f"<p>{escape(layout.name)}</p>{_code(layout)}" for layout in run.layouts]
    bench = f"<p>The load</p><pre><code>{escape(run.load.bench)}</code></pre>"
    yield f"<details><summary>Its commands</summary>{''.join(parts)}{bench}</details>"


def _code(layout: RunLayout) -> str:
    return f"<pre><code>{escape(layout.serve)}</code></pre>"


def anchor(run: Run) -> str:
    """The anchor of a run's section.

    >>> from types import SimpleNamespace
    >>> anchor(SimpleNamespace(name="2026-11-30 <b>"))
    'run-2026-11-30-b'
    """
    return "run-" + re.sub(r"[^a-z0-9]+", "-", run.name.lower()).strip("-")


def plain(text: str) -> str:
    r"""Text that Markdown and HTML take as it is.

    >>> print(plain("<img src=x> *a*"))
    &lt;img src=x&gt; \*a\*
    """
    return escape(SIGNS.sub(r"\\\1", text), quote=False)
