"""Two readings of `/metrics`: gains, restarts, symptoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.metrics.made import COUNTS, POOL, STANDS, Values, change, lines_of
from tests.shared import ROOT
from vllm_parallel.engine.metrics import MetricsChange, Snapshot
from vllm_parallel.errors import ParseError
from vllm_parallel.reports import metrics as report


def test_gains(tmp_path: Path) -> None:
    """Two engines: each its own gain, and how it stands at the end."""
    before = lines_of(COUNTS | STANDS) + lines_of(COUNTS | STANDS, engine=1)
    later = {"vllm:num_preemptions_total": 25.0, "vllm:generation_tokens_total": 2048.0}
    after = lines_of(COUNTS | later | STANDS) + lines_of(COUNTS | STANDS, engine=1)
    found = change(tmp_path, before, after)
    assert [one.preemptions for one in found.engines] == [22, 0]
    assert [one.generation_tokens for one in found.engines] == [1024, 0]
    assert [one.after.running for one in found.engines] == [2, 2]
    assert found.comparable
    assert found.notes == ()


CREATED: Final = {"vllm:num_preemptions_created": 1.7869290186e9}
LATER: Final = {"vllm:num_preemptions_created": 1.7869299999e9}
BACK: Final = {"vllm:num_preemptions_total": 2.0}


@pytest.mark.parametrize(
    "before, after, says",
    [
        ({}, BACK, "went back from 3 to 2: a restart, or readings that are swapped"),
        (CREATED, LATER, "began at another time: a restart between the readings"),
        (CREATED, CREATED | BACK, "went back from 3 to 2: the readings are swapped"),
    ],
)
def test_restarts(tmp_path: Path, before: Values, after: Values, says: str) -> None:
    """A counter that went back, or one that was made anew: no gain, and the reason."""
    base = COUNTS | STANDS
    found = change(tmp_path, lines_of({**base, **before}), lines_of({**base, **after}))
    (engine,) = found.engines
    assert engine.restarted
    assert (engine.preemptions, engine.generation_tokens, engine.prompt_tokens) == (None,) * 3
    assert engine.after.running == 2
    assert [note for note in found.notes if says in note]
    assert not found.comparable


def test_engines_that_come_and_go(tmp_path: Path) -> None:
    one, two = lines_of(COUNTS | STANDS), lines_of(COUNTS | STANDS, engine=1)
    found = change(tmp_path, one, one + two)
    assert [one.restarted for one in found.engines] == [False, True]
    assert "before.prom has no engine 1" in found.notes[0]
    found = change(tmp_path, one + two, one)
    assert len(found.engines) == 1
    assert found.notes[0].endswith(
        "after.prom has no engine 1, which " + found.notes[0].split()[-2] + " has"
    )


def test_two_models(tmp_path: Path) -> None:
    one = lines_of(COUNTS | STANDS)
    with pytest.raises(ParseError, match=r"is of 'n', .* of 'm'; give two readings of one server"):
        change(tmp_path, one, one.replace('model_name="m"', 'model_name="n"'))


@pytest.mark.parametrize(
    "info, says",
    [
        (POOL, None),
        (POOL | {"kv_cache_size_tokens": "32768"}, "a block holds its tokens times dcp"),
        (POOL | {"num_gpu_blocks": "2048"}, "layers of several kinds share the blocks"),
        (POOL | {"kv_cache_size_tokens": "None"}, "multiply by --decode-context-parallel-size"),
        ({"block_size": "16"}, None),
    ],
)
def test_blocks_that_are_not_the_pool(
    tmp_path: Path, info: Mapping[str, str], says: str | None
) -> None:
    text = lines_of(COUNTS | STANDS, info=info)
    notes = change(tmp_path, text, text).notes
    assert notes == () if says is None else says in notes[0]


def test_blocks_of_several_engines(tmp_path: Path) -> None:
    """As v0.32.0 exports them: the blocks of both engines, the tokens of one."""
    info = POOL | {"num_gpu_blocks": "2048"}
    text = "".join(lines_of(COUNTS | STANDS, engine=number, info=info) for number in (0, 1))
    (note,) = change(tmp_path, text, text).notes
    assert note.endswith("pool has 16384: vLLM adds up the blocks of its 2 engines")


def test_gauges_before_the_first_request(tmp_path: Path) -> None:
    """Several front ends have none until a request came: nothing to say about a first reading."""
    assert change(tmp_path, lines_of(COUNTS), lines_of(COUNTS | STANDS)).notes == ()
    notes = change(tmp_path, lines_of(COUNTS), lines_of(COUNTS)).notes
    assert [note.split()[-1] for note in notes] == list(STANDS)


def engines(*loads: tuple[float, float, float]) -> str:
    """Engines by their generated tokens, running and waiting requests."""
    names = (
        "vllm:generation_tokens_total",
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
    )
    return "".join(
        lines_of(COUNTS | STANDS | dict(zip(names, load, strict=True)), engine=number, info={})
        for number, load in enumerate(loads)
    )


@pytest.mark.parametrize(
    "loads, shown",
    [
        ([(9000, 4, 0), (9100, 4, 0)], {}),
        ([(9000, 4, 0), (90000, 4, 0)], {"engines-unbalanced": (1,)}),
        ([(1100, 4, 0), (1900, 4, 0)], {}),
        ([(9000, 51, 117), (9000, 31, 4)], {"requests-wait": (0, 1), "engines-unbalanced": (0,)}),
        ([(9000, 0, 0), (9000, 9, 0), (9000, 10, 0)], {"engines-unbalanced": (1, 2)}),
        ([(9000, 0, 3)], {}),
        ([(100, 4, 0)], {"counter-went-back": (0,)}),
    ],
)
def test_symptoms(
    tmp_path: Path, loads: Sequence[tuple[float, float, float]], shown: Mapping[str, object]
) -> None:
    before = engines(*((1024.0, 0.0, 0.0) for _ in loads))
    assert report.found(change(tmp_path, before, engines(*loads))) == shown


RUNS: Final = ROOT / "results"
READINGS: Final = sorted(RUNS.glob("*/*-before.prom"))


@pytest.mark.parametrize("before", READINGS, ids=lambda path: path.stem)
def test_committed_readings(before: Path) -> None:
    """Each pair is of one start; what is noted is only that blocks are added up."""
    after = before.with_name(before.name.replace("-before", "-after"))
    found = MetricsChange.of(Snapshot.of_file(before), Snapshot.of_file(after))
    assert found.comparable
    assert all(note.endswith(" engines") for note in found.notes)
    for engine in found.engines:
        assert engine.generation_tokens is not None
        assert engine.generation_tokens > 0
        assert engine.after.kv_cache_size_tokens is not None
