"""`/metrics`: a snapshot an engine, and what two of them say together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.shared import FIELD, needs_field
from vllm_parallel import cli
from vllm_parallel.engine.metrics import MetricsChange, Snapshot
from vllm_parallel.errors import ParseError
from vllm_parallel.reports import metrics as report
from vllm_parallel.symptoms import SYMPTOM
from vllm_parallel.term import RELEASE

Streams = pytest.CaptureFixture[str]

COUNTS: Final = {
    "vllm:num_preemptions_total": 3.0,
    "vllm:generation_tokens_total": 1024.0,
    "vllm:prompt_tokens_total": 1.5e6,
}
STANDS: Final = {
    "vllm:kv_cache_usage_perc": 0.25,
    "vllm:num_requests_running": 2.0,
    "vllm:num_requests_waiting": 0.0,
}
POOL: Final = {"block_size": "16", "num_gpu_blocks": "1024", "kv_cache_size_tokens": "16384"}
Values = Mapping[str, object]


def lines_of(values: Values, *, engine: int | None = 0, info: Mapping[str, str] = POOL) -> str:
    """One engine as vLLM serves it; without a number it carries no engine label."""
    label = "" if engine is None else f'engine="{engine}",'
    text = "# HELP python_info Python platform information\n# TYPE python_info gauge\n"
    text += 'python_info{implementation="CPython"} 1.0\n'
    text += "".join(f'{name}{{{label}model_name="m"}} {value}\n' for name, value in values.items())
    labels = ",".join(f'{name}="{value}"' for name, value in info.items())
    return text + (f"vllm:cache_config_info{{{label}{labels}}} 1.0\n" if info else "")


def file_of(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def snapshot(folder: Path, content: str | bytes) -> Snapshot:
    return Snapshot.of_file(file_of(folder, "one.prom", content))


def change(folder: Path, before: str, after: str) -> MetricsChange:
    early = Snapshot.of_file(file_of(folder, "before.prom", before))
    return MetricsChange.of(early, Snapshot.of_file(file_of(folder, "after.prom", after)))


def test_one_engine(tmp_path: Path) -> None:
    (engine,) = snapshot(tmp_path, lines_of(COUNTS | STANDS)).engines
    assert (engine.preemptions, engine.generation_tokens, engine.prompt_tokens) == (
        3,
        1024,
        1500000,
    )
    assert (engine.kv_cache_usage, engine.running, engine.waiting) == (0.25, 2, 0)
    assert (engine.num_blocks, engine.block_size, engine.kv_cache_size_tokens) == (1024, 16, 16384)
    assert snapshot(tmp_path, lines_of(COUNTS | STANDS)).notes == ()


@pytest.mark.parametrize(
    "old, new",
    [
        ("vllm:", "ray_vllm_"),
        ("vllm:", "vllm_"),
        ("\n", "\r\n"),
        ('engine="0",model_name="m"', 'model_name="m", engine="0",'),
        ("} ", "}\t"),
        (" 3.0\n", " 3.0 1786929018621\n"),
        (" 3.0\n", " 3\n"),
        ("vllm:num_preemptions_total", "vllm:num_preemptions"),
    ],
)
def test_other_spellings(tmp_path: Path, old: str, new: str) -> None:
    """Ray's names, Windows' line ends, labels in any order, time stamps: the same figures."""
    text = lines_of(COUNTS | STANDS)
    assert old in text
    assert snapshot(tmp_path, text.replace(old, new)).engines == snapshot(tmp_path, text).engines


def test_a_mark_at_the_beginning(tmp_path: Path) -> None:
    text = lines_of(COUNTS | STANDS)
    assert snapshot(tmp_path, b"\xef\xbb\xbf" + text.encode()).engines[0].preemptions == 3


def test_an_old_release(tmp_path: Path) -> None:
    """Names without an engine, another name of the KV cache's use, no generated tokens."""
    text = lines_of(
        {"vllm:gpu_cache_usage_perc": 0.5, "vllm:num_requests_swapped": 1.0},
        engine=None,
        info={"block_size": "16", "num_gpu_blocks": "2375", "num_gpu_blocks_override": "None"},
    )
    found = snapshot(tmp_path, text)
    assert found.engines[0].engine == 0
    assert found.engines[0].kv_cache_usage == 0.5
    assert found.engines[0].generation_tokens is None
    said = " ".join(found.notes)
    assert "no engine label" in said
    assert "vllm:gpu_cache_usage_perc" in said
    assert f"1 metric that vLLM {RELEASE} has not, such as vllm:num_requests_swapped" in said
    both = change(tmp_path, text, text)
    assert both.engines[0].generation_tokens is None
    assert any("after.prom has no vllm:generation_tokens_total" in note for note in both.notes)


def test_infos_of_several_front_ends(tmp_path: Path) -> None:
    """A front end that was not told says None; two that disagree are noted."""
    unknown = dict.fromkeys(POOL, "None")
    text = lines_of(COUNTS | STANDS, info=unknown) + lines_of({}, info=POOL)
    assert snapshot(tmp_path, text).engines[0].num_blocks == 1024
    found = snapshot(tmp_path, text + lines_of({}, info=POOL | {"num_gpu_blocks": "7"}))
    assert found.engines[0].num_blocks is None
    assert found.engines[0].block_size == 16
    assert found.notes[0].endswith("gives num_gpu_blocks as 7 and 1024: left out")


def test_the_end_may_be_missing(tmp_path: Path) -> None:
    text = lines_of(STANDS | COUNTS, info={}).rstrip("\n")
    found = snapshot(tmp_path, text)
    assert found.engines[0].prompt_tokens == 1500000
    assert found.notes[-1].endswith("the last, has no end: its value may be cut")


HTML: Final = "<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n"
GOOD: Final = lines_of(COUNTS | STANDS)
BAD: Final = {
    "empty": ("", "one.prom holds no metric of vLLM"),
    "blank": ("\n\n", "one.prom holds no metric of vLLM"),
    "another program's": ("go_threads 7\n", "one.prom holds no metric of vLLM"),
    "others of vLLM": (
        "vllm:request_prompt_tokens_sum 7\n",
        "none of vLLM's metrics that are read",
    ),
    "an error page": (HTML, "one.prom line 1 is no metric: '<!DOCTYPE html>'"),
    "another page": ("<html>\n", "one.prom line 1 is no metric"),
    "an answer": ('{"detail":"Not Found"}\n', "one.prom line 1 is no metric"),
    "words": ("Not Found\n", "one.prom line 1 is no metric"),
    "headers": ("HTTP/1.1 200 OK\n" + GOOD, "one.prom line 1 is no metric"),
    "cut in a label": (GOOD[: GOOD.rindex('"')], "one.prom line 10 is no metric"),
    "cut before a value": (GOOD[: GOOD.rindex("1.0")], "one.prom line 10 is no metric"),
    "two readings": (GOOD + GOOD, "line 14 repeats vllm:num_preemptions_total of engine 0, line 4"),
    "NaN": (GOOD.replace(" 3.0", " NaN"), "line 4 gives vllm:num_preemptions_total as nan"),
    "infinite": (GOOD.replace(" 3.0", " +Inf"), "as inf, which is no count"),
    "below zero": (GOOD.replace(" 3.0", " -1.0"), "as -1.0, which is no count"),
    "half a token": (GOOD.replace(" 3.0", " 3.5"), "as 3.5, which is no count"),
    "too many": (GOOD.replace(" 3.0", " 1e300"), "as 1e+300, which is no count"),
    "a use above 1": (GOOD.replace(" 0.25", " 25.0"), "as 25.0, which is no share from 0 to 1"),
    "NaN as use": (GOOD.replace(" 0.25", " NaN"), "as nan, which is no share"),
    "an engine's name": (GOOD.replace('engine="0"', 'engine="a"'), "has engine 'a', which is no"),
    "a block's name": (GOOD.replace('"16"', '"x"'), "has block_size 'x', which is no whole number"),
    "not UTF-8": (b"vllm:num_preemptions_total 1\n\xff\n", "line 2 is not UTF-8 at byte 1"),
    "UTF-16": (GOOD.encode("utf-16"), "one.prom is UTF-16, as PowerShell writes it"),
    "compressed": (b"\x1f\x8b\x08\x00", "one.prom is compressed by gzip"),
    "one long line": ("a" * 2**20, "one.prom line 1 has over 65536 bytes"),
    "zeros": (bytes(2**20), "one.prom line 1 has over 65536 bytes"),
}


@pytest.mark.parametrize("content, says", BAD.values(), ids=BAD)
def test_what_cannot_be_read(tmp_path: Path, content: str | bytes, says: str) -> None:
    with pytest.raises(ParseError) as raised:
        snapshot(tmp_path, content)
    text = str(raised.value)
    assert says in text
    assert "\n" not in text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "no.prom", tmp_path, Path("a\0b")):
        with pytest.raises(ParseError, match="cannot be read"):
            Snapshot.of_file(path)


def found_in(folder: Path, content: str) -> Snapshot | None:
    """None where the error names the file, on one line."""
    try:
        return snapshot(folder, content)
    except ParseError as error:
        text = str(error)
    assert "one.prom" in text
    assert text.isprintable()
    return None


def test_every_cut_is_noticed_or_harmless(tmp_path: Path) -> None:
    """Cut anywhere: an error of one line, or figures of which each is right or missing."""
    whole = Snapshot.of_file(file_of(tmp_path, "whole.prom", GOOD)).engines[0]
    for end in range(len(GOOD)):
        found = found_in(tmp_path, GOOD[:end])
        noted = found is not None and any("may be cut" in note for note in found.notes)
        for engine in () if found is None or noted else found.engines:
            for name in ("preemptions", "generation_tokens", "prompt_tokens", "running"):
                assert getattr(engine, name) in (None, getattr(whole, name)), (end, name)


# Two readings.


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


# The command.


def ran(capsys: Streams, *words: object) -> tuple[int, str, str]:
    code = cli.main(["metrics", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command(tmp_path: Path, capsys: Streams) -> None:
    before = file_of(tmp_path, "before.prom", lines_of(COUNTS | STANDS))
    later = COUNTS | STANDS | {"vllm:num_preemptions_total": 25.0}
    after = file_of(tmp_path, "after.prom", lines_of(later))
    code, out, err = ran(capsys, before, after, "--json")
    answer: Any = json.loads(out)
    assert (code, err) == (0, "")
    assert answer == {
        "engines": [
            {
                "engine": 0,
                "restarted": False,
                "preemptions": 22,
                "generation_tokens": 0,
                "prompt_tokens": 0,
                "kv_cache_usage": 0.25,
                "running": 2,
                "waiting": 0,
                "kv_cache_size_tokens": 16384,
                "num_blocks": 1024,
                "block_size": 16,
            }
        ],
        "symptoms": [
            {
                "name": "preemptions",
                "engines": [0],
                "fix": SYMPTOM["preemptions"].fix,
                "address": "guide/troubleshoot/#preemptions",
            }
        ],
        "notes": [],
    }
    code, out, err = ran(capsys, before, after)
    assert (code, err) == (0, "")
    assert "22" in out
    assert "guide/troubleshoot/#preemptions" in out
    assert ran(capsys, after, before, "--json")[0] == 1


def test_the_command_is_quiet_of_escapes(tmp_path: Path, capsys: Streams) -> None:
    """A model's name may hold anything; a terminal sees none of it."""
    evil = file_of(tmp_path, "evil.prom", GOOD.replace('"m"', '"\x1b[31m\u202e"'))
    good = file_of(tmp_path, "good.prom", GOOD)
    code, out, err = ran(capsys, evil, good)
    assert (code, out) == (2, "")
    assert err.rstrip("\n").isprintable()
    code, out, _ = ran(capsys, evil, evil)
    assert all(line.isprintable() for line in out.splitlines())


def test_two_engines_for_people(tmp_path: Path, capsys: Streams) -> None:
    both = lines_of(COUNTS | STANDS) + lines_of(COUNTS | STANDS, engine=1)
    path = file_of(tmp_path, "both.prom", both)
    rows = [line.split() for line in ran(capsys, path, path)[1].splitlines()]
    assert rows[-1] == ["all", "0", "0", "0", "4", "0", "32,768"]


# What others have printed.


@needs_field
def test_field_metrics() -> None:
    loaded = Snapshot.of_file(FIELD / "metrics" / "vllm-0.25.1-loaded.prom")
    (engine,) = loaded.engines
    assert loaded.notes == ()
    assert (engine.running, engine.waiting, engine.preemptions) == (64, 64, 0)
    assert (engine.prompt_tokens, engine.generation_tokens) == (339968, 165293)
    assert (engine.kv_cache_size_tokens, engine.num_blocks, engine.block_size) == (
        400448,
        25028,
        16,
    )
    old = Snapshot.of_file(FIELD / "metrics" / "vllm-v0-2024-10-excerpt.prom")
    assert (old.engines[0].num_blocks, old.engines[0].kv_cache_usage) == (2375, 0.0)
    said = " ".join(old.notes)
    assert "no engine label" in said
    assert "vllm:gpu_cache_usage_perc, as older" in said
    assert f"3 metrics that vLLM {RELEASE} has not, such as vllm:num_requests_swapped" in said


# The runs of this checkout, as the real vLLM wrote them.

RUNS: Final = Path(__file__).parents[1] / "results"
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
