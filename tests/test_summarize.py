"""The guide's short program prints the rows that `vllm-parallel bench` prints."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.bench.made import GONE, RESULT, ZEROS, result, written
from vllm_parallel import cli

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = ROOT / "snippets" / "guide" / "summarize.py"
ROWS: Final = slice(1, None)  # the command begins with a line on units


def guide_run(folder: Path) -> None:
    """Three trials of two layouts at four concurrencies, with what lies beside them."""
    for label in ("tp8", "tp4pp2"):
        for width in (1, 16, 64, 128):
            for trial in (1, 2, 3):
                fields = result(layout=label, max_concurrency=width, gpus="8", p50_ttft_ms=width)
                written(folder, f"{label}-c{width}-r{trial}.json", fields)
    written(folder, "tp8-c1-r1.pytorch.json", [{"benchmark": {}, "metric": {}}])
    written(folder, "tp8-serve.log", "INFO\n")


def odd_rows(folder: Path) -> None:
    """No GPUs, no concurrency, failed requests, none completed, an older release."""
    written(folder, "qwen-c8.json", result(layout=GONE, gpus=GONE))
    written(folder, "some.other.json", result(layout=GONE, max_concurrency=None))
    written(folder, "a-c4-r1.json", result(layout="a", failed=2))
    written(folder, "b-c4-r1.json", result(layout="b", completed=0, failed=8, **ZEROS))
    written(folder, "c-c4-r2.json", result(layout="c", failed=GONE, trial="5"))
    written(folder, "c-c16-r1.json", result(layout="c", max_concurrency=16))
    no_tpot = {name: GONE for name in RESULT if "tpot" in name}
    written(folder, "d-c4.json", result(layout="d", **no_tpot))


def sweep(folder: Path) -> None:
    """The guide's: an experiment a start, its layouts named, its trials in the metadata."""
    for start in ("1", "2", "3"):
        for layout in ("tp8", "tp4pp2"):
            for width in (1, 16):
                inner = f"start{start}/SERVE--{layout}-BENCH--max_concurrency={width}"
                fields = result(layout=GONE, gpus="8", start=start, trial=start, run_number=0)
                fields |= {"_benchmark_name": layout, "max_concurrency": width}
                written(folder, f"{inner}/run=0.json", fields)
                written(folder, f"{inner}/summary.json", [fields])
        written(folder, f"start{start}/summary.csv", "a,b\n")


def unnamed_sweep(folder: Path) -> None:
    """One whose layouts have no names: their parameters are in the folders."""
    for inner in ("SERVE--tp=2-BENCH--max_concurrency=4", "SERVE--tp=4"):
        for number in (0, 1):
            written(folder, f"{inner}/run={number}.json", result(layout=GONE, run_number=GONE))


def unserved_sweep(folder: Path) -> None:
    """One of a single layout, which has no name anywhere."""
    for number in (0, 1, 2, 3):
        fields = result(layout=GONE, run_number=GONE)
        written(folder, f"BENCH--max_concurrency=4/run={number}.json", fields)


def lines(text: str) -> Iterator[str]:
    """The table of a report: what is indented."""
    return (line for line in text.splitlines() if line.startswith("  "))


@pytest.mark.parametrize("make", [guide_run, odd_rows, sweep, unnamed_sweep, unserved_sweep])
def test_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str], make: object) -> None:
    assert callable(make)
    make(tmp_path)
    cli.main(["bench", str(tmp_path)])
    ours = list(lines(capsys.readouterr().out))
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", str(PROGRAM), str(tmp_path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert list(lines(done.stdout)) == ours
    assert len(ours) > 4


def test_it_is_short_and_needs_nothing() -> None:
    text = PROGRAM.read_text("utf-8")
    assert len(text.splitlines()) < 40
    modules = [line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))]
    assert set(modules) <= set(sys.stdlib_module_names)
