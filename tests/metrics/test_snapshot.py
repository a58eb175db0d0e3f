"""One reading of `/metrics`: what it says, and what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.metrics.made import COUNTS, POOL, STANDS, change, file_of, lines_of, snapshot
from tests.shared import FIELD, needs_field
from vllm_parallel.engine.metrics import Snapshot
from vllm_parallel.errors import ParseError
from vllm_parallel.term import RELEASE


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
