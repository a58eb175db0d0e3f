"""What changed between two releases, on small made-up records of releases that never were."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

import changes
from vllm_parallel.term import RELEASE

ROOT: Final = Path(__file__).parents[1]
DIFF: Final = ROOT / "scripts" / "engine" / "diff.py"
Row = dict[str, Any]


def option(dest: str, **columns: object) -> Row:
    names = [f"--{dest.replace('_', '-')}"]
    return {"dest": dest, "names": names, "kind": "int", "default": 1, "group": "g"} | columns


def build(tp: int, weight_bytes: int, blocks: int) -> Row:
    rank = {"rank": 0, "weight_bytes": weight_bytes, "kv_page_bytes": [8]}
    return {
        "model": "llama-mini",
        "args": {"tensor_parallel_size": tp},
        "available_kv_bytes": 100,
        "accepted": True,
        "stage": None,
        "message": None,
        "ranks": [rank],
        "groups": {"tp": [list(range(tp))]},
        "capacity": {"num_blocks": blocks, "tokens": blocks * 16},
    }


def verdict(args: Row, message: str | None) -> Row:
    said = {"accepted": message is None, "message": message}
    return {"model": "llama-mini", "args": args} | said


HEADS: Final = "Total number of attention heads (8) must be divisible by tensor parallel size ({})."
OLD_OPTIONS: Final = (
    option("tensor_parallel_size", names=["--tensor-parallel-size", "-tp"]),
    option("made_up", default=3),
    option("gone_soon"),
    option("old_dest", names=["--word"], kind="str", choices=["a", "b"]),
)
NEW_OPTIONS: Final = (
    option("tensor_parallel_size", names=["--tensor-parallel-size", "-tp"], default=2),
    option("made_up", default=3, group="another"),
    option("new_dest", names=["--word"], kind="str", choices=["b", "c"]),
    option("fresh"),
)
OLD: Final[Mapping[str, Sequence[Row]]] = {
    "verdicts": [
        verdict({"tensor_parallel_size": 3}, "8 heads do not divide by 3"),
        verdict({"tensor_parallel_size": 5}, "8 heads do not divide by 5"),
        verdict({"tensor_parallel_size": 6}, None),
        verdict({"tensor_parallel_size": 2}, None),
        verdict({"made_up": 7}, "no"),
    ],
    "builds": [build(1, 64, 10), build(2, 32, 20)],
    "groups": [],
}
NEW: Final[Mapping[str, Sequence[Row]]] = {
    "verdicts": [
        verdict({"tensor_parallel_size": 3}, HEADS.format(3)),
        verdict({"tensor_parallel_size": 5}, HEADS.format(5)),
        verdict({"tensor_parallel_size": 6}, HEADS.format(6)),
        verdict({"tensor_parallel_size": 2}, None),
        verdict({"made_up": 7}, None),
        verdict({"fresh": 1}, None),
    ],
    "builds": [build(1, 64, 10), build(2, 40, 20)],
    "groups": [],
}
LEFT_OUT: Final = {
    "ask": "verdict",
    "model": "llama-mini.json",
    "args": {"fresh": 1},
    "said": "unknown argument 'fresh'",
}


def write(folder: Path, options: Sequence[Row], answers: Mapping[str, Sequence[Row]]) -> None:
    folder.mkdir()
    flags = {"release": folder.name, "commands": {"serve": options}, "others": []}
    (folder / "flags.json").write_text(json.dumps(flags), "utf-8")
    for name, rows in answers.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def run(records: Path, *words: str) -> str:
    command = [sys.executable, str(DIFF), *words, "--records", str(records)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    write(folder / "9.0.0", OLD_OPTIONS, OLD)
    (folder / "9.0.0" / "left_out.jsonl").write_text(json.dumps(LEFT_OUT) + "\n")
    write(folder / "9.1.0", NEW_OPTIONS, NEW)
    return folder


@pytest.fixture(scope="module")
def summary(records: Path) -> Row:
    run(records, "9.0.0", "9.1.0", "--json", str(records / "summary.json"))
    read: Row = json.loads((records / "summary.json").read_text("utf-8"))
    return read


def test_counts_say_what_was_compared(summary: Row) -> None:
    compared = {"options": 3, "commands": 1, "verdicts": 5, "builds": 2, "groups": 0}
    compared["built by both"] = 2
    assert summary["compared"] == compared
    assert (summary["from"], summary["to"]) == ("9.0.0", "9.1.0")


def test_options_come_go_and_move(summary: Row) -> None:
    found = {flag["dest"]: flag for flag in summary["flags"]}
    changes = {dest: flag["change"] for dest, flag in found.items()}
    assert changes == {
        "tensor_parallel_size": "changed",
        "made_up": "changed",
        "new_dest": "changed",
        "fresh": "added",
        "gone_soon": "removed",
    }
    assert found["tensor_parallel_size"]["fields"] == [
        {"what": "default", "before": 1, "after": 2},
    ]
    assert found["made_up"]["fields"] == [{"what": "group", "before": "g", "after": "another"}]
    assert {"what": "choices", "gone": ["a"], "came": ["c"]} in found["new_dest"]["fields"]


def test_a_changed_option_names_rules_and_pages(summary: Row) -> None:
    touches = next(
        flag["touches"] for flag in summary["flags"] if flag["dest"] == "tensor_parallel_size"
    )
    assert "heads-divide-by-tp" in touches["rules"]
    assert "README.md" in touches["pages"]
    unknown = next(flag["touches"] for flag in summary["flags"] if flag["dest"] == "gone_soon")
    assert unknown == {"rules": [], "modules": [], "pages": []}


def test_sentences_are_grouped_whatever_their_numbers(summary: Row) -> None:
    found = {change["change"]: change for change in summary["answers"]}
    assert {name: change["count"] for name, change in found.items()} == {
        "another message": 2,
        "refused now": 1,
        "accepted now": 1,
    }
    other = found["another message"]
    assert other["before"] == "8 heads do not divide by 3"
    assert other["touches"]["rules"] == ["heads-divide-by-tp"]
    assert found["accepted now"]["example"]["args"] == {"made_up": 7}


def test_only_bytes_that_differ_are_told(summary: Row) -> None:
    (change,) = summary["values"]
    assert (change["what"], change["family"], change["count"]) == ("weight_bytes", "llama", 1)
    assert (change["before"], change["after"], change["rank"]) == (32, 40, 0)
    assert "src/vllm_parallel/graph.py" in change["touches"]["modules"]


def test_what_one_release_cannot_answer_is_told(summary: Row) -> None:
    (change,) = summary["unanswered"]
    assert (change["release"], change["count"]) == ("9.0.0", 1)
    assert "unknown argument" in change["said"]


def test_the_print_shows_every_kind(records: Path) -> None:
    printed = run(records, "9.0.0", "9.1.0")
    for text in ("options removed: 1", "default: 1 → 2", HEADS.format(3), "32 → 40 of rank 0"):
        assert text in printed


def test_nothing_changed(records: Path, tmp_path: Path) -> None:
    target = tmp_path / "summary.json"
    run(records, "9.1.0", "9.1.0", "--json", str(target))
    summary = json.loads(target.read_text("utf-8"))
    for kind in ("flags", "answers", "values", "unanswered"):
        assert summary[kind] == []
    assert summary["compared"]["verdicts"] == len(NEW["verdicts"])


def test_a_release_that_is_not_recorded_says_so(tmp_path: Path) -> None:
    command = [sys.executable, str(DIFF), "1.2.3", "9.1.0", "--records", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "vLLM 1.2.3 is not recorded; run: make record VERSION=1.2.3" in done.stderr


def test_the_page_names_the_releases_of_its_summary() -> None:
    summary = json.loads((ROOT / "scripts" / "site" / "changes.json").read_text("utf-8"))
    assert summary["to"] == RELEASE.removeprefix("v")
    for section in (changes.opening(), changes.table_of_counts(), changes.commands()):
        assert summary["from"] in section
        assert summary["to"] in section


def test_every_section_of_the_page_says_something(
    summary: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the committed summary, of one with every kind of change, and of one without any."""
    kinds = ("flags", "answers", "values", "unanswered")
    nothing = summary | {kind: [] for kind in kinds} | {"differ": {}}
    for shown in (changes.summary(), summary, nothing):
        monkeypatch.setattr(changes, "summary", lambda shown=shown: shown)
        for section in (
            changes.opening,
            changes.table_of_counts,
            changes.options,
            changes.answers,
            changes.values,
            changes.unanswered,
        ):
            assert section().strip(), section.__name__
