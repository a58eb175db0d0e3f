"""Prints a row a trial of what `vllm bench serve` saved; call it with the folder."""

import json
import re
import sys
from pathlib import Path

HEAD = "layout,conc,trial,GPUs,ok/fail,TTFT p50,TTFT p99,TPOT p50,TPOT p99,tok/s,tok/s/GPU"
# Layout and trial of results/tp8-c64-r2, or of a sweep's SERVE--tp8-BENCH--x=64/run=0:
NAME = r"(?:SERVE--|.*/)?([^/]+?)??(?:-?BENCH--[^/]*)?(?:-c\d+(?:-r(?=\d)|$)|/run=)(\d+)?|.*"


def row(path: Path, result: dict) -> list[str]:
    """The cells of one result; a dash where it does not say."""
    label, named = re.fullmatch(NAME, f"{path.absolute().parent.name}/{path.stem}").groups()
    trial = result.get("trial", result.get("run_number", named))
    done, failed, gpus = result["completed"], result.get("failed", "–"), result.get("gpus")
    total, width = result.get("output_throughput"), result.get("max_concurrency")
    times = [result.get(f"{p}_{m}_ms") for m in ("ttft", "tpot") for p in ("p50", "p99")]
    label = result.get("layout") or result.get("label") or label or result.get("_benchmark_name")
    mark = "" if done and failed in (0, "–") else "*"  # such a row compares with no other
    cells = [(label or path.stem) + mark, width, trial, gpus, f"{done}/{failed}"]
    cells += [f"{t:.{n // 2}f}" if t and done else None for n, t in enumerate(times)]
    cells += [None if total is None else f"{total / n:.0f}" for n in (1, int(gpus or 1))]
    return ["–" if cell is None else str(cell) for cell in (cells if gpus else [*cells[:-1], None])]


def main(folder: str) -> None:
    """Print the rows of a folder. Warm-ups, and the lists of a sweep or of PyTorch, are none."""
    read = ((path, json.loads(path.read_text("utf-8"))) for path in Path(folder).rglob("*.json"))
    rows = [row(*one) for one in read if one[0].stem != "warmup" and "completed" in one[1]]
    rows.sort(key=lambda cells: (cells[0].rstrip("*"), *(cell.rjust(9) for cell in cells[1:3])))
    table = [HEAD.split(","), *rows]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        print("  ".join(["", first.ljust(wide[0]), *map(str.rjust, rest, wide[1:])]))


main(sys.argv[1])
