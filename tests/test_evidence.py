"""Published figures beside computed ones: every case is shown, and what agrees is held."""

import json
import os
from pathlib import Path
from typing import Final

import pytest

import evidence_tables as tables
from evidence import FILE, Found, _evidence, cases
from launches import CASES
from speeds import FOLDER

SHARED: Final = Path(os.environ.get("VLLM_PARALLEL_SHARED", "../shared")) / "field"
EXACT: Final = {  # what is no estimate: shapes, and counts from a given budget
    "weights of a rank", "KV tokens", "full requests at once", "blocks in 3.81 GiB",
    "blocks in 2.89 GiB", "KV of one full request, all layers",
    "longest request in 3.18 GiB, all layers",
}  # fmt: skip
# One rank prints its budget, the pool follows the least of four.
KNOWN: Final = {("qwen3-235b-fp8-4xh100-tp4", "KV tokens")}


def test_what_is_exact_is_equal() -> None:
    differ = {
        (case.id, figure.what)
        for case in cases()
        for figure in case.figures
        if figure.found is Found.DIFFERS and figure.what in EXACT
    }
    assert differ == KNOWN


def test_every_case_says_how_it_stands() -> None:
    for case in cases():
        assert case.figures
        assert case.standing.endswith(".")
        unsaid = {one.found for one in case.figures} - {Found.EQUAL, Found.GIVEN}
        assert not unsaid or case.standing, case.id


def test_every_judged_launch_is_published() -> None:
    lines = (CASES / "launches.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["id"] for line in lines} <= {case.id for case in cases()}


def test_both_tables_hold_every_id_once() -> None:
    for case in cases():
        assert tables.memory().count(f'id="{case.id}"') == 1
    times = tables.times()
    for line in (FOLDER / "points.jsonl").read_text("utf-8").splitlines():
        assert times.count(f">{json.loads(line)['id']}<") == 1


def test_an_unknown_question_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a deployment"):
        _evidence("c", {"what": "w", "published": 1, "unit": "", "ask": "weights"}, None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected cases are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "ours"), [("cases.jsonl", FILE), ("perf.jsonl", FOLDER / "points.jsonl")]
)
def test_no_collected_case_is_left_out(name: str, ours: Path) -> None:
    def rows(path: Path) -> dict[str, dict[str, object]]:
        lines = path.read_text("utf-8").splitlines()
        return {row["id"]: row for row in map(json.loads, lines)}

    collected, kept = rows(SHARED / name), rows(ours)
    assert set(collected) == set(kept)
    for key, row in collected.items():
        assert row["source_url"] == kept[key]["source"]
