"""The command `run record`: the guide's record table, filled from a folder of results."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from vllm_parallel.compare import Cell, Measured, Metric, Record, Spread, records
from vllm_parallel.compare.metric import LATENCIES
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.render.record import NOT_MEASURED, record_rows
from vllm_parallel.render.text import table
from vllm_parallel.reports.progress import Progress

Json = dict[str, object]
STATISTICS = ("p50", "p99")


def print_record(folder: Path, *, as_json: bool) -> int:
    """Print the table, or the figures as JSON; the exit code.

    Raises:
        ParseError: the folder holds no result that names its layout and concurrency.
    """
    with Progress() as progress:
        measured = Measured.of(folder, progress.follow)
    found = records(measured)
    if not any(one.cells for one in found):
        place, fix = on_one_line(str(folder)), "give --metadata layout=NAME and --max-concurrency"
        raise ParseError(place=place, problem="has no layout with a concurrency", fix=fix)
    text = json.dumps(answer(found)) if as_json else report(found)
    sys.stdout.write(text + "\n")
    return 0


def answer(found: Sequence[Record]) -> Json:
    """Every layout's figures; null or an empty list where nothing was measured."""
    return {
        "layouts": [
            {
                "label": one.layout.name,
                "gpus": one.layout.gpus,
                "starts": len(one.layout.starts),
                "weight_gib": list(one.weight_gib),
                "kv_tokens": list(one.kv_tokens),
                "preemptions": one.preemptions,
                "concurrencies": [_cell(width, one.cells[width]) for width in sorted(one.cells)],
            }
            for one in found
        ]
    }


def report(found: Sequence[Record]) -> str:
    """The guide's rows, a column a layout."""
    widths = sorted({width for one in found for width in one.cells})
    rows = [
        (row.name, *(NOT_MEASURED if value is None else value for value in row.values))
        for row in record_rows(found, widths)
    ]
    head = ("", *(on_one_line(one.layout.name) for one in found))
    return table([head, *rows], right=range(1, len(head)))


def _cell(width: int, cell: Cell) -> Json:
    return {
        "max_concurrency": width,
        "trials": len(cell.trials),
        "output_throughput": _spread(cell.spread(Metric.OUTPUT_THROUGHPUT)),
        **{
            f"{metric}_ms": {name: _spread(cell.latency(metric, name)) for name in STATISTICS}
            for metric in LATENCIES
        },
    }


def _spread(found: Spread | None) -> Json | None:
    if found is None:
        return None
    return {"median": found.median, "min": found.least, "max": found.most}
