"""The command `compare`: layouts beside a baseline, concurrency by concurrency."""

from __future__ import annotations

import argparse
import json
import sys
from math import isfinite
from pathlib import Path
from typing import Final

from vllm_parallel.compare import Cell, Findings, Level, Measured, Metric, Spread, Standing
from vllm_parallel.reports.compare_table import report
from vllm_parallel.reports.progress import Progress
from vllm_parallel.symptoms import SYMPTOM

Json = dict[str, object]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    what = "folder of results of vllm bench serve; a run.toml in it says who started what"
    parser.add_argument("folder", metavar="DIR", help=what)
    parser.add_argument("--baseline", required=True, metavar="LABEL", help="layout to compare with")
    parser.add_argument(
        "--metric",
        choices=[str(metric) for metric in Metric],
        default=str(Metric.OUTPUT_THROUGHPUT),
        help="what verdicts are about; output_throughput if not given",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(given: argparse.Namespace) -> int:
    """Print the comparison; 1 if something was not comparable or not read."""
    with Progress() as progress:
        measured = Measured.of(Path(given.folder), progress.follow)
    found = Findings.of(measured, given.baseline, Metric(given.metric))
    text = json.dumps(answer(found)) if given.json else report(found)
    sys.stdout.write(text + "\n")
    return 0 if found.whole else 1


def answer(found: Findings) -> Json:
    """The answer as JSON; every key is there, null where nothing was measured."""
    comparison = found.comparison
    return {
        "baseline": comparison.terms.baseline,
        "metric": str(comparison.terms.metric),
        "false_verdicts": comparison.terms.false_verdicts,
        "comparisons": comparison.comparisons,
        "concurrencies": [_level(found, level) for level in comparison.levels],
        "preemptions": dict(found.pressure.layouts),
        "symptoms": [
            {
                "name": name,
                "labels": labels,
                "fix": SYMPTOM[name].fix,
                "address": SYMPTOM[name].address(),
            }
            for name, labels in found.symptoms().items()
        ],
        "skipped": [
            {"path": one.path, "reason": one.reason} for one in found.measured.sweep.skipped
        ],
        "notes": list(found.notes),
    }


def _level(found: Findings, level: Level) -> Json:
    base = [] if level.base is None else [_cell(found, level, level.base) | _STANDS]
    others = [
        _cell(found, level, standing.pair.cell) | _standing(standing, level)
        for standing in level.standings
    ]
    return {
        "max_concurrency": level.concurrency,
        "load": level.asked.in_words(),
        "labels": [*base, *others],
    }


_STANDS: Final[Json] = {
    "ratio": 1.0, "interval": None, "unit": None, "comparable": True, "verdict": None,
    "reason": None, "says": None,
}  # fmt: skip


def _cell(found: Findings, level: Level, cell: Cell) -> Json:
    starts = None if None in cell.starts else cell.start_count
    return {
        "label": cell.label,
        "baseline": cell is level.base,
        "gpus": cell.gpus,
        "trials": len(cell.trials),
        "starts": starts,
        "left_out": [{"path": one.result.path, "reason": one.reason} for one in cell.left_out],
        **{str(metric): _spread(cell.spread(metric)) for metric in Metric},
        "preemptions": found.pressure.cells.get((cell.label, level.concurrency)),
    }


def _spread(spread: Spread | None) -> Json | None:
    if spread is None:
        return None
    return {
        "median": spread.median, "min": spread.least, "max": spread.most, "spread": spread.share,
    }  # fmt: skip


def _standing(standing: Standing, level: Level) -> Json:
    ratio = standing.ratio
    ends = None if ratio is None or ratio.low is None else [ratio.low, _finite(ratio.high)]
    return {
        "ratio": None if ratio is None else _finite(ratio.value),
        "interval": ends,
        "unit": "start" if standing.pair.by_start else "trial",
        "comparable": standing.comparable,
        "verdict": str(standing.verdict),
        "reason": standing.reason,
        "says": standing.in_words(level.asked),
    }


def _finite(value: float | None) -> float | None:
    """A number that JSON has; trials of absurd figures have bounds without end.

    >>> _finite(2.5), _finite(float("inf"))
    (2.5, None)
    """
    return value if value is not None and isfinite(value) else None
