"""The command `compare`: its JSON, its table, its exit codes, and input that nobody checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compare.made import fields, metrics, result, trials, written
from vllm_parallel.cli import main
from vllm_parallel.symptoms import SYMPTOM

BASE = trials("tp1", [100.0, 101.0, 99.0])
TWICE = trials("tp2", [200.0, 202.0, 199.0], gpus=2)
KEYS = {
    "label", "baseline", "gpus", "trials", "starts", "left_out", "output_throughput",
    "output_throughput_per_gpu", "ttft_ms", "tpot_ms", "itl_ms", "preemptions", "ratio",
    "interval", "unit", "comparable", "verdict", "reason", "says",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two layouts with readings of `/metrics`; the second was short of memory."""
    written(tmp_path / "results", [*BASE, *TWICE])
    for label, before, after in (("tp1", {0: 0}, {0: 0}), ("tp2", {0: 3, 1: 1}, {0: 20, 1: 6})):
        (tmp_path / "results" / f"{label}-before.prom").write_text(metrics(before), "utf-8")
        (tmp_path / "results" / f"{label}-after.prom").write_text(metrics(after), "utf-8")
    return tmp_path / "results"


def asked(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["compare", str(folder), "--json", *words])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else err


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(folder, capsys, "--baseline", "tp1")
    assert code == 0
    assert (found["baseline"], found["metric"], found["comparisons"]) == (
        "tp1", "output_throughput", 1,
    )  # fmt: skip
    [level] = found["concurrencies"]
    assert level["max_concurrency"] == 4
    assert "128 tokens in, 64 out" in level["load"]
    base, other = level["labels"]
    assert set(base) == set(other) == KEYS
    assert (base["baseline"], base["verdict"], base["ratio"]) == (True, None, 1.0)
    assert other["output_throughput"] == {
        "median": 200.0, "min": 199.0, "max": 202.0, "spread": 0.015,
    }  # fmt: skip
    assert other["interval"][0] < other["ratio"] < other["interval"][1]
    assert (other["verdict"], other["unit"], other["starts"]) == ("faster", "trial", None)
    assert found["preemptions"] == {"tp1": 0, "tp2": 22}
    assert found["symptoms"] == [
        {
            "name": "preemptions",
            "labels": ["tp2"],
            "fix": SYMPTOM["preemptions"].fix,
            "address": "guide/troubleshoot/#preemptions",
        }
    ]


def test_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(folder), "--baseline", "tp1"]) == 0
    text = capsys.readouterr().out
    assert "At concurrency 4, 128 tokens in, 64 out, 32 requests without a rate limit, m" in text
    [row] = [line.split() for line in text.splitlines() if line.startswith("  tp2")]
    assert row == [
        "tp2", "2", "3", "200", "199–202", "2.00", "1.94–2.07", "50.0", "5", "–", "–", "faster",
    ]  # fmt: skip
    assert "Preemptions over all trials: tp1 0, tp2 22" in text
    assert SYMPTOM["preemptions"].fix in text


def test_readings_around_a_trial_stand_in_its_row(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for trial in (1, 2, 3):
        for when, number in (("before", trial), ("after", 2 * trial)):
            name = f"tp2-c4-r{trial}-{when}.prom"
            (folder / name).write_text(metrics({0: number}), "utf-8")
    _, found = asked(folder, capsys, "--baseline", "tp1")
    assert [row["preemptions"] for row in found["concurrencies"][0]["labels"]] == [None, 6]


def test_a_restart_gives_no_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tp2-after.prom").write_text(metrics({0: 2, 1: 6}, began=900.0), "utf-8")
    _, found = asked(folder, capsys, "--baseline", "tp1")
    assert found["preemptions"]["tp2"] is None
    assert [one["name"] for one in found["symptoms"]] == ["counter-went-back"]
    assert any("started anew" in note for note in found["notes"])


def test_failures_exit_with_1_and_name_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, [*BASE, *TWICE[:2], result("tp2", 201.0, trial=3, failed=1)])
    assert main(["compare", str(tmp_path), "--baseline", "tp1"]) == 1
    text = capsys.readouterr().out
    assert "1 of 32 requests failed" in text
    assert SYMPTOM["requests-failed"].fix in text
    assert SYMPTOM["noise"].fix in text


def test_other_loads_are_refused_with_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, [*BASE, *trials("tp2", [200.0, 202.0, 201.0], prompts=64)])
    code, found = asked(tmp_path, capsys, "--baseline", "tp1")
    row = found["concurrencies"][0]["labels"][1]
    assert (code, row["comparable"], row["verdict"]) == (1, False, "inconclusive")
    assert "64 requests" in row["reason"]
    assert "32 requests" in row["reason"]


def test_a_run_says_who_started_what(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = '[[layout]]\nname = "{}"\ngpus = 1\nserve = "vllm serve m"\n{}'
    once = "[[layout.start]]\ntrials = [1, 2, 3]\n"
    each = "".join(f"[[layout.start]]\ntrials = [{trial}]\n" for trial in (1, 2, 3))
    (folder / "run.toml").write_text(
        'title = "t"\ndate = 2026-12-03\nmeasured_by = "a"\nvllm_version = "0.32.0"\n'
        '[hardware]\nname = "h"\nprocessor = "cpu"\ncount = 2\n[model]\nname = "m"\n'
        'config = "config.json"\n[load]\ndataset = "random"\ninput_tokens = 128\n'
        'output_tokens = 64\nrequest_rate = "inf"\nconcurrencies = [4]\nprompts = [32]\n'
        'trials = 3\nseed = 0\nbench = "vllm bench serve"\n'
        + layout.format("tp1", each)
        + layout.format("tp2", once),
        "utf-8",
    )
    _, found = asked(folder, capsys, "--baseline", "tp1")
    base, other = found["concurrencies"][0]["labels"]
    assert (base["starts"], other["starts"], other["unit"]) == (3, 1, "start")
    assert other["reason"] == "1 start, and a verdict takes 3"


def test_the_start_in_the_metadata_counts_without_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a sweep writes it: a folder a combination, the start among the metadata."""
    for start in (1, 2, 3):
        for one in (*BASE, *TWICE):
            folder = tmp_path / f"start{start}" / f"SERVE--{one.label}-BENCH--c4"
            folder.mkdir(parents=True, exist_ok=True)
            found = fields(one) | {"start": str(start), "run_number": (one.trial or 1) - 1}
            found["duration"] = one.outcome.duration + start  # type: ignore[operator]
            (folder / f"run={one.trial}.json").write_text(json.dumps(found), "utf-8")
    _, found = asked(tmp_path, capsys, "--baseline", "tp1")
    base, other = found["concurrencies"][0]["labels"]
    assert (base["trials"], base["starts"], other["unit"]) == (9, 3, "start")


@pytest.mark.parametrize(
    "words, says",
    [
        (["nowhere", "--baseline", "tp1"], "nowhere is no folder; give the folder that the"),
        ([".", "--baseline", "tp9"], "--baseline 'tp9' is no layout of these results; did"),
        (["."], "the call: the following arguments are required: --baseline"),
        ([".", "--baseline", "tp1", "--metric", "x"], "argument --metric: invalid choice: 'x'"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    words[0] = str(folder / words[0])
    assert main(["compare", *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "label", ["<img src=x onerror=alert(1)>", "a\x1b[31mb", "../../etc/passwd", "ä" * 500]
)
def test_labels_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str) -> None:
    results = [*BASE, *trials("tp2", [200.0, 202.0, 201.0])]
    written(tmp_path, results)
    for path in tmp_path.glob("tp2*"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"layout": label}), "utf-8")
    assert main(["compare", str(tmp_path), "--baseline", "tp1"]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 1500
    _, found = asked(tmp_path, capsys, "--baseline", "tp1")
    assert found["concurrencies"][0]["labels"][1]["label"] == label
