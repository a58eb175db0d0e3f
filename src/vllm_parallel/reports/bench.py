"""The command `bench`: a row a trial of what `vllm bench serve` wrote."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.compare.metric import LATENCIES
from vllm_parallel.engine.bench_results import BenchResult, Latency, Sweep
from vllm_parallel.errors import on_one_line
from vllm_parallel.render.numbers import UNKNOWN, counted
from vllm_parallel.render.text import table
from vllm_parallel.reports.progress import Progress

HEAD: Final = (
    "layout", "conc", "trial", "GPUs", "ok/fail", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99",
    "tok/s", "tok/s/GPU",
)  # fmt: skip
MARK: Final = "*"  # on rows that are not comparable
LONGEST: Final = 40


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    what = "a result, or a folder of them: also that of a vllm bench sweep"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=what)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(given: argparse.Namespace) -> int:
    """Print the rows; 1 if one is not comparable, or a result could not be read."""
    with Progress() as progress:
        sweep = Sweep.of(map(Path, given.paths), progress.follow)
    text = json.dumps(answer(sweep)) if given.json else report(sweep)
    sys.stdout.write(text + "\n")
    return 0 if sweep.whole else 1


def answer(sweep: Sweep) -> dict[str, object]:
    """The answer as JSON; every key is there, null where vLLM did not print it.

    >>> list(answer(Sweep(rows=(), skipped=(), notes=())))
    ['rows', 'skipped', 'notes']
    """
    return {
        "rows": [_row(row) for row in sweep.rows],
        "skipped": [{"path": one.path, "reason": one.reason} for one in sweep.skipped],
        "notes": list(sweep.notes),
    }


def report(sweep: Sweep) -> str:
    """The table, what keeps rows from being compared, what was skipped, and the notes."""
    lines = ["Latencies in ms, throughput in output tokens a second"]
    lines.append(table([HEAD, *map(cells, sweep.rows)], right=range(1, len(HEAD))))
    for row in sweep.rows:
        if row.doubts:
            doubts = "; ".join(map(on_one_line, row.doubts))
            lines.append(f"{MARK} Not comparable: {on_one_line(row.path)}: {doubts}")
    lines += _skipped(sweep)
    return "\n".join([*lines, *(f"Note: {on_one_line(note)}" for note in sweep.notes)])


def _skipped(sweep: Sweep) -> Iterator[str]:
    """What should have been rows, one a line; then how many files lie beside them."""
    beside: Counter[str] = Counter()
    for one in sweep.skipped:
        if one.expected:
            beside[one.reason] += 1
        else:
            yield f"Skipped: {on_one_line(f'{one.path}: {one.reason}')}"
    for reason, count in beside.items():
        yield f"Skipped: {counted(count, 'file')}: {reason}"


def cells(row: BenchResult) -> tuple[str, ...]:
    """A row for people; what a result does not give is a dash."""
    outcome = row.outcome
    label = on_one_line(Path(row.path).stem if row.label is None else row.label)
    failed = UNKNOWN if outcome.failed is None else outcome.failed
    latencies = [
        _figure(value, ".0f" if metric == "ttft" else ".1f")
        for metric in ("ttft", "tpot")
        for one in (outcome.latency(metric) or Latency(),)
        for value in (one.p50, one.p99)
    ]
    return (
        (label if len(label) <= LONGEST else label[: LONGEST - 1] + "…") + MARK * bool(row.doubts),
        _figure(row.load.max_concurrency, "d"),
        _figure(row.trial, "d"),
        _figure(row.gpus, "d"),
        f"{outcome.completed}/{failed}",
        *latencies,
        _figure(outcome.output_throughput, ".0f"),
        _figure(row.output_throughput_per_gpu, ".0f"),
    )


def _figure(value: float | None, spec: str) -> str:
    return UNKNOWN if value is None else format(value, spec)


def _row(row: BenchResult) -> dict[str, object]:
    outcome = row.outcome
    return {
        "path": row.path,
        "label": row.label,
        "gpus": row.gpus,
        "max_concurrency": row.load.max_concurrency,
        "trial": row.trial,
        "completed": outcome.completed,
        "failed": outcome.failed,
        "comparable": row.comparable,
        "duration": outcome.duration,
        "output_throughput": outcome.output_throughput,
        "output_throughput_per_gpu": row.output_throughput_per_gpu,
        **{f"{metric}_ms": _latency(outcome.latency(metric)) for metric in LATENCIES},
        "doubts": list(row.doubts),
    }


def _latency(found: Latency | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {"mean": found.mean, "p50": found.p50, "p99": found.p99}
