"""Sweep trees, folders of runs, and what others have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.bench.made import GONE, RESULT, result, row_of, written
from tests.shared import FIELD, ROOT, needs_field
from vllm_parallel.engine.bench_results import Sweep

RUNS: Final = ROOT / "results"


def tree(folder: Path) -> Path:
    """What `vllm bench sweep serve` leaves: two layouts, two runs each, and what lies beside."""
    for tp in (1, 2):
        inner = f"SERVE--tensor_parallel_size={tp}-BENCH--max_concurrency=4"
        runs = [
            result(layout=GONE, gpus=GONE, run_number=number, tensor_parallel_size=tp)
            for number in range(2)
        ]
        for number, run in enumerate(runs):
            written(folder, f"{inner}/run={number}.json", json.dumps(run, indent=4))
        written(folder, f"{inner}/summary.json", json.dumps(runs, indent=4))
        written(folder, f"{inner}/warmup.json", RESULT)
    written(folder, "summary.csv", "a,b\n")
    return folder


def test_a_sweep(tmp_path: Path) -> None:
    sweep = Sweep.of([tree(tmp_path)])
    labels = ["tensor_parallel_size=1"] * 2 + ["tensor_parallel_size=2"] * 2
    assert [row.label for row in sweep.rows] == labels
    assert [row.trial for row in sweep.rows] == [0, 1, 0, 1]
    assert [row.gpus for row in sweep.rows] == [1, 1, 2, 2]
    assert sorted({one.reason for one in sweep.skipped}) == [
        "a warm-up, which is not measured", "not a bench result", "the runs beside it again",
    ]  # fmt: skip
    assert sweep.whole
    assert list(map(len, sweep.cells.values())) == [2, 2]


def test_a_sweep_that_failed(tmp_path: Path) -> None:
    """A run that failed is skipped with its reason, and leaves the sweep less than whole."""
    failure = {"run_number": 1, "error_type": "OSError", "error": "x", "serve_overrides": {}}
    written(tree(tmp_path), "SERVE--a/run=1.failure.json", failure)
    sweep = Sweep.of([tmp_path])
    assert len(sweep.rows) == 4
    assert "a run that failed: OSError: x" in {one.reason for one in sweep.skipped}
    assert not sweep.whole


def test_a_summary_alone(tmp_path: Path) -> None:
    """Without the runs beside it, a summary holds the rows."""
    runs = [result(layout=GONE, run_number=number) for number in range(3)]
    written(tmp_path, "SERVE--tp=2/summary.json", runs)
    sweep = Sweep.of([tmp_path])
    assert [(row.label, row.trial) for row in sweep.rows] == [("tp=2", n) for n in range(3)]


def test_a_run_folder(tmp_path: Path) -> None:
    """Logs, metrics and PyTorch's twins lie beside results; the order is that of the load."""
    for label in ("tp2", "tp1"):
        for width in (16, 4):
            for trial in (2, 1):
                name = f"{label}-c{width}-r{trial}.json"
                written(tmp_path, name, result(layout=label, max_concurrency=width))
    for name in ("tp2-serve.log", "run.toml", "tp2-c4-r1.pytorch.json", ".cache/x-c4-r1.json"):
        written(tmp_path, name, "[]")
    sweep = Sweep.of([tmp_path, tmp_path / "tp2-c4-r1.json"])
    found = [(row.label, row.load.max_concurrency, row.trial) for row in sweep.rows]
    assert found == [(label, width, trial) for label in ("tp1", "tp2") for width in (4, 16)
                     for trial in (1, 2)]  # fmt: skip
    assert sweep.whole
    assert len(sweep.skipped) == 3


def test_a_bad_file_among_good_ones(tmp_path: Path) -> None:
    good, bad = written(tmp_path, "a-c4.json", RESULT), written(tmp_path, "b.json", '{"a": ')
    for paths in ([tmp_path], [bad, good]):
        sweep = Sweep.of(paths)
        assert len(sweep.rows) == 1
        assert sweep.skipped[0].reason.startswith("line 1 ends in the middle")
        assert not sweep.whole


def test_trials_and_gpus_that_clash(tmp_path: Path) -> None:
    for name, changes in {"a": {}, "b": {}, "c": {}, "d": {"start": 2}, "e": {"gpus": 4}}.items():
        trial = 2 if name == "e" else 1
        written(tmp_path, f"{name}.json", result(trial=trial, **changes))
    twins, gpus = Sweep.of([tmp_path]).notes
    assert twins.startswith(f"tp2: {tmp_path}/a.json and {tmp_path}/b.json are both trial 1 at")
    assert twins.endswith("at concurrency 4, and so are 1 more; write --metadata trial=…")
    assert gpus == "tp2 has 2 and 4 GPUs, in different results"


def test_a_name_that_disagrees(tmp_path: Path) -> None:
    row = row_of(tmp_path, RESULT, "tp2-c16-r1.json")
    assert "is named for concurrency 16, not 4" in row.notes[0]


@needs_field
def test_field_results() -> None:
    rows = {Path(row.path).stem: row for row in Sweep.of([FIELD / "bench-json"]).rows}
    assert len(rows) == 7
    doubtful = [name for name, row in rows.items() if not row.comparable]
    assert doubtful == ["v0.25.1-all_requests_failed"]
    assert rows[doubtful[0]].outcome.latency("tpot") is None
    seconds = rows["inferencex-glm5_fp8_vllm_tp8_isl1024_osl128_conc32"]
    ttft = seconds.outcome.latency("ttft")
    assert ttft is not None
    assert ttft.p50 == pytest.approx(428.62243112)
    assert "in seconds" in seconds.notes[0]
    run = rows["v0.25.1-sweep-run0"]
    assert (run.trial, run.load.max_concurrency, run.outcome.completed) == (0, 2, 8)


@pytest.mark.parametrize("run", sorted(RUNS.glob("*/run.toml")), ids=lambda path: path.parent.name)
def test_committed_runs(run: Path) -> None:
    """Every result that the real vLLM wrote is a row, named as its file is."""
    sweep = Sweep.of([run.parent])
    assert sweep.whole
    assert sweep.notes == ()
    assert len(sweep.rows) == len(list(run.parent.glob("*-c*-r*.json")))
    for row in sweep.rows:
        name = f"{row.label}-c{row.load.max_concurrency}-r{row.trial}.json"
        assert Path(row.path).name == name
        assert row.outcome.latency("ttft")
