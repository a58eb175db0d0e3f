"""A whole run is consistent; each fault that is planted is named, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compare.made import metrics
from tests.runs.made import complete
from vllm_parallel.cli import main
from vllm_parallel.runs import SEAL, Check, Sort


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return complete(tmp_path_factory.mktemp("made") / "made-up")


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    copy: Path = shutil.copytree(kept, tmp_path / "made-up")
    return copy


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | fields), "utf-8")


def test_a_whole_run_is_consistent(folder: Path) -> None:
    check = Check.of(folder)
    assert [str(one) for one in check.findings] == []
    assert check.consistent


Fault = Callable[[Path], object]


@pytest.mark.parametrize(
    "fault, sort, says",
    [
        (lambda f: (f / "topo.txt").unlink(), Sort.MISSING, "topo.txt is missing"),
        (lambda f: (f / "topo.txt").write_text(""), Sort.MISSING, "topo.txt is empty"),
        (lambda f: (f / "config.json").unlink(), Sort.MISSING, "config.json is missing"),
        (lambda f: (f / "tp2-s2-serve.log").unlink(), Sort.MISSING, "tp2-s2-serve.log is missing"),
        (lambda f: (f / "tp2-c4-r3.json").unlink(), Sort.MISSING, "tp2-c4-r3.json is missing"),
        (
            lambda f: (f / "tp2-c4-r3-before.prom").write_text(metrics({0: 0})),
            Sort.MISSING,
            "tp2-c4-r3-before.prom has no other half",
        ),
        (
            lambda f: shutil.copy(f / "tp2-c4-r3.json", f / "tp2-c4-r4.json"),
            Sort.DISAGREES,
            "tp2-c4-r4.json is of no layout of run.toml",
        ),
        (
            lambda f: (f / "notes.txt").write_text("x"),
            Sort.REMARK,
            "notes.txt is of no layout of run.toml",
        ),
        (
            lambda f: (f / "tp1-c1-r1.json").write_text('{"completed"'),
            Sort.UNREAD,
            "tp1-c1-r1.json cannot be read: ends in the middle",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", layout="tp2"),
            Sort.DISAGREES,
            "says layout 'tp2', not 'tp1'",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", start="2"),
            Sort.DISAGREES,
            "says start 2, run.toml 1",
        ),
        (lambda f: change(f / "tp1-c1-r1.json", gpus="4"), Sort.DISAGREES, "says 4 GPUs, run"),
        (
            lambda f: change(f / "tp1-c1-r1.json", max_concurrency=2),
            Sort.DISAGREES,
            "says 2 concurrency, run.toml 1",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", num_prompts=9),
            Sort.DISAGREES,
            "says 9 prompts, run.toml 8",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", request_rate=2.0),
            Sort.DISAGREES,
            "says 2.0 requests a second, run.toml inf",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", total_input_tokens=8 * 130),
            Sort.DISAGREES,
            "has 130.0 input tokens a request, run.toml 128",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", total_output_tokens=8 * 60),
            Sort.DISAGREES,
            "has 60.0 output tokens a request, run.toml 64",
        ),
        (
            lambda f: change(f / "tp1-c1-r1.json", failed=2, completed=6,
                             total_input_tokens=6 * 128, total_output_tokens=6 * 64),
            Sort.REMARK,
            "is in doubt: 2 of 8 requests failed",
        ),
        (
            lambda f: shutil.copy(f / "tp1-c1-r1.json", f / "tp1-c1-r2.json"),
            Sort.DISAGREES,
            "tp1-c1-r2.json is a copy of tp1-c1-r1.json",
        ),
        (
            lambda f: rewrite(f / "environment.txt", "0.32.0", "0.31.0"),
            Sort.DISAGREES,
            "environment.txt has vLLM 0.31.0, run.toml 0.32.0",
        ),
        (
            lambda f: (f / "environment.txt").write_text("torch==2.13.0\n"),
            Sort.REMARK,
            "environment.txt does not name vLLM",
        ),
        (
            lambda f: rewrite(f / "run.toml", "m -tp 2", "m -tp 4"),
            Sort.DISAGREES,
            "tp2: its command takes 4 ranks, gpus is 2",
        ),
        (
            lambda f: rewrite(f / "run.toml", "vllm serve m -tp 2", "docker run it"),
            Sort.DISAGREES,
            "tp2: serve holds no vllm serve command",
        ),
        (
            lambda f: (f / "tp1-after.prom").write_text(metrics({0: 0}, 99.0, tokens=90_000)),
            Sort.DISAGREES,
            "tp1-after.prom is not of the start that tp1-before.prom is of",
        ),
        (
            lambda f: (f / "tp1-after.prom").write_text(metrics({0: 0}, tokens=100)),
            Sort.DISAGREES,
            "counts 100 output tokens, the results of this start 7,680",
        ),
        (
            lambda f: (f / "tp1-after.prom").write_text("hello"),
            Sort.UNREAD,
            "tp1-after.prom cannot be read",
        ),
        (
            lambda f: (f / "environment.txt").write_text("vllm==0.32.0\n# /home/ada/x\n"),
            Sort.SECRET,
            "environment.txt:2 has the home /home/ada",
        ),
    ],
)  # fmt: skip
def test_each_fault_is_named(folder: Path, fault: Fault, sort: Sort, says: str) -> None:
    fault(folder)
    check = Check.of(folder)
    found = [(one.sort, str(one)) for one in check.findings]
    assert len(found) == 1, found
    assert found[0][0] is sort
    assert says in found[0][1]
    assert check.consistent == (sort is Sort.REMARK)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["run", "check", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_sealed_run_tells_of_every_edit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(capsys, str(folder), "--seal")
    assert (code, found["consistent"], found["findings"]) == (0, True, [])
    assert Check.of(folder).consistent
    change(folder / "tp1-c1-r1.json", output_throughput=999.0)
    (folder / "topo.txt").unlink()
    (folder / "README.md").write_text("new", "utf-8")
    code, found = asked(capsys, str(folder))
    assert code == 1
    assert [
        (one["file"], one["says"]) for one in found["findings"] if one["sort"] == "changed"
    ] == [
        ("topo.txt", f"is named in {SEAL} and missing"),
        ("README.md", f"came after {SEAL} was written"),
        ("tp1-c1-r1.json", f"was changed after {SEAL} was written"),
    ]


def test_an_inconsistent_run_is_not_sealed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "topo.txt").unlink()
    assert main(["run", "check", str(folder), "--seal"]) == 1
    assert "missing: topo.txt is missing" in capsys.readouterr().out
    assert not (folder / SEAL).exists()


@pytest.mark.parametrize(
    "words, says",
    [
        (["run", "check", "nowhere"], "nowhere/run.toml cannot be read"),
        (["run"], "the following arguments are required"),
    ],
)
def test_calls_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err
