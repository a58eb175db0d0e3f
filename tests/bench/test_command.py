"""`vllm-parallel bench`: the table, the answer as JSON, the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.made import RESULT, result, written
from vllm_parallel import cli

Streams = pytest.CaptureFixture[str]


def ran(capsys: Streams, *words: object) -> tuple[int, str, str]:
    code = cli.main(["bench", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command(tmp_path: Path, capsys: Streams) -> None:
    path = written(tmp_path, "tp2-c4-r1.json", RESULT)
    log = written(tmp_path, "tp2-serve.log", "INFO\n")
    code, out, err = ran(capsys, tmp_path, "--json")
    answer: Any = json.loads(out)
    assert (code, err) == (0, "")
    assert answer == {
        "rows": [
            {
                "path": str(path),
                "label": "tp2",
                "gpus": 2,
                "max_concurrency": 4,
                "trial": 1,
                "completed": 16,
                "failed": 0,
                "comparable": True,
                "duration": 4.0,
                "output_throughput": 128.0,
                "output_throughput_per_gpu": 64.0,
                "ttft_ms": {"mean": 200.0, "p50": 190.0, "p99": 400.0},
                "tpot_ms": {"mean": 20.0, "p50": 19.0, "p99": 30.0},
                "itl_ms": {"mean": 20.0, "p50": 18.0, "p99": 40.0},
                "doubts": [],
            }
        ],
        "skipped": [{"path": str(log), "reason": "not a bench result"}],
        "notes": [],
    }
    code, out, err = ran(capsys, path)
    assert (code, err) == (0, "")
    row = ["tp2", "4", "1", "2", "16/0", "190", "400", "19.0", "30.0", "128", "64"]
    assert out.splitlines()[2].split() == row
    assert ran(capsys, path, log)[0] == 1


def test_not_comparable_for_people(tmp_path: Path, capsys: Streams) -> None:
    path = written(tmp_path, "tp2-c4-r1.json", result(failed=2))
    code, out, _ = ran(capsys, path)
    assert code == 1
    assert "tp2*" in out
    assert "Not comparable" in out
    assert "2 of 18 requests failed" in out


def test_a_lone_bad_file(tmp_path: Path, capsys: Streams) -> None:
    code, out, err = ran(capsys, written(tmp_path, "r.json", "["), "--json")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "r.json" in err


@pytest.mark.parametrize(
    "label",
    ["<img src=x onerror=alert(1)>", "\x1b[31mred\x07", "\u202eabc", "a\nb\r", "\ud800", "x" * 500],
)
def test_labels_that_are_hostile(tmp_path: Path, capsys: Streams, label: str) -> None:
    """The table shows them on one line without escapes; the JSON keeps them as they are."""
    path = written(tmp_path, "r.json", result(layout=label, gpus=label))
    code, out, _ = ran(capsys, path)
    assert code == 0
    assert all(line.isprintable() for line in out.splitlines())
    assert len(out.splitlines()[2]) < 200
    assert json.loads(ran(capsys, path, "--json")[1])["rows"][0]["label"] == label


def test_nan_is_no_json(tmp_path: Path, capsys: Streams) -> None:
    """What vLLM writes as NaN comes out as null, which every reader of JSON takes."""
    bad = result(duration=float("nan"), p99_tpot_ms=float("nan"), output_throughput=float("inf"))
    _, out, _ = ran(capsys, written(tmp_path, "r.json", bad), "--json")
    assert "NaN" not in out.split('"notes"')[0]
    assert json.loads(out)["rows"][0]["duration"] is None
