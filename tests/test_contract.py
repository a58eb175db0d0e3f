"""What cannot become the contract: a record with holes, a sample, one of another release."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.shared import ROOT
from vllm_parallel.term import RELEASE

SCRIPT: Final = ROOT / "scripts" / "engine" / "contract.py"
RECORDED: Final = ROOT / "tests" / "oracle" / "recorded"
ENGINE: Final = ROOT / "src" / "vllm_parallel" / "engine"
NEXT: Final = "99.0.0"


def refusal(records: Path) -> list[str]:
    """What is said of the record of a release that never was."""
    command = [sys.executable, str(SCRIPT), NEXT, "--records", str(records)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A copy of the contract that says it is of the next release; its folder."""
    folder = tmp_path / NEXT
    folder.mkdir()
    for file in (*RECORDED.glob("*.jsonl"), RECORDED / "bench_fields.json"):
        shutil.copyfile(file, folder / file.name)
    for name, ours in (("flags", "flags.json"), ("metrics", "metrics/registered.json")):
        said = json.loads((ENGINE / ours).read_text("utf-8")) | {"release": NEXT}
        (folder / f"{name}.json").write_text(json.dumps(said), "utf-8")
    return folder


def test_a_record_with_holes(record: Path) -> None:
    (record / "groups.jsonl").unlink()
    (record / "metrics.json").unlink()
    (line,) = refusal(record.parent)
    assert line == (
        f"the record of {NEXT} has no metrics.json, groups.jsonl; run make record VERSION={NEXT}"
    )


def test_no_record_at_all(tmp_path: Path) -> None:
    (line,) = refusal(tmp_path)
    assert line.startswith(f"the record of {NEXT} has no flags.json, metrics.json, ")


def test_a_sample(record: Path) -> None:
    lines = (record / "verdicts.jsonl").read_text("utf-8").splitlines(keepends=True)
    (record / "verdicts.jsonl").write_text("".join(lines[:100]), "utf-8")
    (line,) = refusal(record.parent)
    assert (
        line == f"verdicts.jsonl has 100 rows, the contract {len(lines)}: a sample is no contract"
    )


def test_a_record_of_another_release(record: Path) -> None:
    shutil.copyfile(ENGINE / "flags.json", record / "flags.json")
    (line,) = refusal(record.parent)
    assert line == f"flags.json is of {RELEASE}, not of {NEXT}"
