"""Launches against the package: the bounds hold, and figures made up say what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from scripts import accuracy
from vllm_parallel.overhead.coefficients import V19
from vllm_parallel.units import GIB

import speeds  # isort: skip
from fit import graphs, held_out, refit  # isort: skip
from launches import CASES, FOLDER, Launch, Unread, read  # isort: skip
from scores import Summary, coefficients_of, judged, score  # isort: skip

ROW: Final = json.loads((FOLDER / "launches.jsonl").read_text("utf-8").splitlines()[0])


@pytest.fixture(scope="module")
def launches() -> list[Launch]:
    rows = read(FOLDER / "launches.jsonl", FOLDER / "configs")
    return [row for row in rows if isinstance(row, Launch)]


def written(folder: Path, **changes: object) -> Path:
    """A file of one launch, CodeLlama's with these keys changed."""
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(ROW | changes) + "\n", "utf-8")
    return path


def test_bounds_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert accuracy.main([]) == 0
    assert "MISSED" not in capsys.readouterr().out


def speed(folder: Path, **changes: object) -> Path:
    """A file of one measured speed, of Llama at concurrency 16, with these keys changed."""
    rows = (speeds.FOLDER / "points.jsonl").read_text("utf-8").splitlines()
    row = next(json.loads(line) for line in rows if '"p081"' in line)
    path = folder / "points.jsonl"
    path.write_text(json.dumps(row | changes) + "\n", "utf-8")
    return path


def test_speeds_of_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A third slower than it was: named, and the bounds missed."""
    assert accuracy.main([str(speed(tmp_path, id="mine"))]) == 0
    assert "held: Llama on H100: median +2.0%" in capsys.readouterr().out
    assert accuracy.main([str(speed(tmp_path, id="mine", milliseconds=20.0))]) == 1
    shown = capsys.readouterr().out
    assert "-33.2%" in shown
    assert "MISSED: Llama on H100: worst" in shown
    assert accuracy.main([str(speed(tmp_path, unjudged="nobody knows"))]) == 1
    assert "not judged: p081: nobody knows" in capsys.readouterr().out
    assert accuracy.main([str(speed(tmp_path, engine="v9"))]) == 2


def test_pinned_points_do_not_count() -> None:
    rows = speeds.read(speeds.FOLDER / "points.jsonl", speeds.FOLDER / "configs")
    found = speeds.priced(row for row in rows if row.id < "p050")
    pins = {"p006", "p025", "p040"}
    assert {one.point.id for one in found} - {
        one.point.id for one in speeds.counting(found)
    } == pins
    errors = speeds.Errors.of([0.1, -0.3, 0.05])
    assert (errors.median, errors.worst) == (0.1, -0.3)
    assert errors.mean == pytest.approx(0.15)
    assert errors.bias == pytest.approx(-0.05)


def test_missed_bounds_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights of 13 GiB where 12.556 were computed, and more blocks than the budget holds."""
    worker = ROW["workers"][0] | {"weights_gib": 13.0}
    path = written(tmp_path, workers=[worker], num_gpu_blocks=7894)
    assert accuracy.main([str(path), str(FOLDER / "configs")]) == 1
    shown = capsys.readouterr().out
    assert "-3.41" in shown
    assert "MISSED: weights" in shown
    assert "MISSED: blocks: 0 of 1 exact" in shown
    assert "held: pool" in shown


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"workers": []}, "its log ends before any figure of memory"),
        ({"config": "nowhere"}, "no config of the name nowhere beside it"),
    ],
)
def test_rows_that_are_not_judged(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    rows = read(written(tmp_path, **changes), FOLDER / "configs")
    assert rows == [Unread(id=ROW["id"], reason=reason)]


@pytest.mark.parametrize("text", ["{", "[]", '{"id": 1}', "\x00"])
def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text, "utf-8")
    assert accuracy.main([str(path)]) == 2
    assert accuracy.main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().out.count("cannot be read") == 2


def test_nothing_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, config="nowhere")
    assert accuracy.main([str(path)]) == 1
    assert "no launch is judged" in capsys.readouterr().out


def test_stages_are_read_by_name(tmp_path: Path) -> None:
    """Workers may come in any order; a stage without a budget has the difference of two figures."""
    workers = [
        {"labels": ["Worker", f"Worker_PP{n}"], "weights_gib": 5.0 + n, "requested_gib": 75.0,
         "total_non_kv_gib": 10.0 + n} for n in (1, 0)
    ]  # fmt: skip
    (launch,) = read(written(tmp_path, pp=2, workers=workers), FOLDER / "configs")
    assert isinstance(launch, Launch)
    assert [worker.available for worker in launch.workers] == [65 * GIB, 64 * GIB]
    assert [worker.weights for worker in launch.workers] == [5 * GIB, 6 * GIB]


def test_constants_are_what_the_launches_give(launches: list[Launch]) -> None:
    """Kept with two or three digits, so a hundredth of a GiB apart at most."""
    found = refit(launches)
    pairs = [
        (found.sampler_rest, V19.sampler_rest),
        (found.forward_rest, V19.forward_rest),
        (found.runtime_alone.likely, V19.runtime_alone.likely),
        (found.runtime_in_group.likely, V19.runtime_in_group.likely),
        *((found.communication[tp].likely, V19.communication[tp].likely) for tp in (2, 4)),
    ]
    assert all(abs(fitted - kept) < 0.01 * GIB for fitted, kept in pairs)


def test_graphs_lie_in_their_range(launches: list[Launch]) -> None:
    """What 0.19.0 captured; the likely figure is off by a third at most."""
    pairs = [found for launch in launches if (found := graphs(launch)) is not None]
    assert len(pairs) > 20
    for span, captured in pairs:
        assert span.least < captured < span.most
        assert abs(captured / span.likely - 1) < 1 / 3


def test_models_that_were_left_out(launches: list[Launch]) -> None:
    found = Summary.of(held_out(launches)).pool_error
    assert found is not None
    assert found < 0.01


def test_tokens_of_older_releases() -> None:
    """Until 0.20 every group took its share of the blocks, whatever its layers keep."""
    (launch, *_) = read(CASES / "launches.jsonl", CASES / "configs")
    assert isinstance(launch, Launch)
    assert coefficients_of("0.10.1.1") is V19
    assert coefficients_of("0.26.1rc1.dev608+g99a10304d") is V19
    assert score(launch).blocks_lie


def test_cases_of_other_logs() -> None:
    """Weights within half a percent; nine of eleven logs with both figures give their tokens."""
    scores, unread = judged(read(CASES / "launches.jsonl", CASES / "configs"))
    for one in scores:
        assert all(abs(computed / printed - 1) < 0.005 for computed, printed in one.weights)
    lie = {one.launch.id: one.blocks_lie for one in scores if one.blocks_lie is not None}
    assert [name for name, exact in lie.items() if not exact] == ["qwen3-235b-fp8-4xh100-tp4"]
    assert sum(lie.values()) == 9
    assert [row.id for row in unread] == ["qwen36-27b-int4-2x3090-tp2-a"]
