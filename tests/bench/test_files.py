"""Files of results, and files that are none, whose arrays are never kept."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.made import RESULT, problem_of, result, written
from vllm_parallel.engine.bench_results import Sweep
from vllm_parallel.engine.bench_results.documents import read
from vllm_parallel.errors import ParseError


def test_several_results(tmp_path: Path) -> None:
    """Appended ones, one a line; a list of them, as a sweep's summary; with a mark in front."""
    one, two = result(trial=1), result(trial=2)
    texts = {
        "lines.json": f"{json.dumps(one)}\n{json.dumps(two)}",
        "ended.jsonl": f"{json.dumps(one)}\n\n{json.dumps(two)}\n",
        "list.json": json.dumps([one, two], indent=4),
        "mark.json": b"\xef\xbb\xbf" + json.dumps([one, two]).encode(),
    }
    for name, text in texts.items():
        sweep = Sweep.of([written(tmp_path, name, text)])
        assert [row.trial for row in sweep.rows] == [1, 2]
        assert sweep.whole


BAD: Final = {
    "empty": ("", "r.json is empty"),
    "blank": (" \n", "r.json is empty"),
    "words": ("INFO 11-30 started\n", "r.json line 1 is not JSON: 'INFO 11-30 started'"),
    "a page": ("<html></html>", "line 1 is not JSON: '<html></html>'"),
    "a number": ("3", "line 1 is not JSON: '3'"),
    "a text": ('"completed"', "line 1 is no result and no list of them"),
    "a list of numbers": ("[1, 2]", "line 1 is not JSON: '1, 2'"),
    "lists": ("[[]]", "line 1 is no result and no list of them"),
    "an empty list": ("[]", "r.json holds no JSON object"),
    "an empty object": ("{}", "r.json is not a bench result"),
    "cut": (json.dumps(RESULT)[:-9], "line 1 ends in the middle: it was cut"),
    "cut in an array": ('\n{"a": 1, "itls": [[1, 2], [', "line 2 ends in the middle"),
    "cut in a list": ("[{}", "line 1 ends in the middle"),
    "cut in a text": ('{"label": "tp', "ends in the middle"),
    "too many ends": ("{}}", "line 1 is no result and no list of them"),
    "an array closed twice": ('{"a": []]}', "] where nothing is open"),
    "no comma": ('{"a": 1 "b": 2}', "line 1 is not JSON: "),
    "a comment": ('{"a": 1}\n// two\n', "line 2 is not JSON"),
    "a field twice": ('{"label": "a", "label": "b"}', "line 1 gives 'label' twice"),
    "not UTF-8": (b'{"label": "\xff"}', "line 1 is not JSON: "),
    "UTF-16": (json.dumps(RESULT).encode("utf-16"), "r.json is UTF-16, as PowerShell"),
    "compressed": (b"\x1f\x8b\x08\x00", "r.json is compressed by gzip"),
    "zeros": (bytes(2**20), "line 1 is not JSON"),
    "deep": ('{"a":' * 100_000, "ends in the middle"),
    "deep and closed": ('{"a":' * 100_000 + "1" + "}" * 100_000, "line 1 is not JSON: "),
    "a number of many digits": (f'{{"completed": {"9" * 5000}}}', "line 1 is not JSON: "),
    "large": ('{"a": "' + "x" * 2**21 + '"}', "has over 1048576 bytes outside its arrays"),
    "many": ("{}" * 10_001, "r.json has over 10000 objects"),
    "no completed": (result(completed=None), "gives no number as completed"),
    "completed in words": (result(completed="all"), "gives completed as 'all', which is no number"),
    "half a request": (result(completed=1.5), "gives completed as 1.5, which is no whole number"),
    "a bool": (result(completed=True), "gives completed as true, which is no number"),
    "an array": (result(duration=[1, 2]), "gives duration as [], which is no number"),
    "an object": (result(duration={}), "gives duration as {}, which is no number"),
    "below zero": (result(output_throughput=-1), "gives output_throughput as -1, which cannot be"),
    "a latency below zero": (result(p99_ttft_ms=-1), "gives p99_ttft_ms as -1, which cannot be"),
    "huge": (result(duration=1e300), "gives duration as 1e+300, which cannot be"),
    "rates": (result(request_rate=[1, 2]), "gives request_rate as [], which is no number"),
    "latency": ({"avg_latency": 1.0, "latencies": []}, "a result of vllm bench latency"),
    "throughput": ({"elapsed_time": 1.0}, "a result of vllm bench throughput"),
    "startup": ({"avg_cold_startup_time": 1.0}, "a result of vllm bench startup"),
    "records": ([{"benchmark": {}, "model": {}, "metric": {}}], "again, in PyTorch's format"),
    "a failure": (
        {"error_type": "OSError", "error": "no\nserver", "serve_overrides": {}},
        "is a run that failed: OSError: no\\nserver",
    ),
    "a warm-up": (result(run_number=-1), "is a warm-up, which is not measured"),
    "a config": ({"model_type": "llama", "hidden_size": 4096}, "r.json is not a bench result"),
}  # fmt: skip


@pytest.mark.parametrize("content, says", BAD.values(), ids=BAD)
def test_what_is_no_result(tmp_path: Path, content: object, says: str) -> None:
    assert says in problem_of(tmp_path, content)


def test_paths_that_hold_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", Path("a\0b"), tmp_path):
        with pytest.raises(ParseError):
            Sweep.of([path])


def test_results_before_a_cut(tmp_path: Path) -> None:
    """An appended file that was cut keeps its whole rows, and says where it ends."""
    whole = json.dumps(RESULT)
    for text in (f"{whole}\n{whole[:100]}", f"[\n{whole}"):
        sweep = Sweep.of([written(tmp_path, "r.json", text)])
        assert len(sweep.rows) == 1
        assert not sweep.whole
        assert sweep.skipped[0].reason.startswith("line 2 ends in the middle")


# The cut of arrays, against the plain reading.


TRICKY: Final = {
    "completed": 1, "a": [1, [2, ["]"]], {"b": [3]}], "c": {"d": [], "e": "[\\\"]{"}, "": "\\",
    "f": "\\\\\"", "g": ["\\", "\"", "}"], "h": "\u2028 \U0001f600 \n", "i": None, "j": "{[",
}  # fmt: skip


def emptied(value: object) -> object:
    if isinstance(value, list):
        return []
    if isinstance(value, dict):
        return {name: emptied(inner) for name, inner in value.items()}
    return value


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_arrays_are_left_out(indent: int | None, ascii_only: bool) -> None:
    """However the bytes are cut into pieces."""
    text = json.dumps([TRICKY, RESULT, TRICKY], indent=indent, ensure_ascii=ascii_only).encode()
    expected = [emptied(TRICKY), emptied(RESULT), emptied(TRICKY)]
    for size in (1, 2, 3, 5, 7, 64, 4096):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [one.fields for one in read("r.json", pieces)] == expected


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.dictionaries(st.text(), values, max_size=4), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.integers(1, 40),
)
def test_any_objects_in_any_pieces(
    objects: list[dict[str, object]], listed: bool, indent: int | None, size: int
) -> None:
    """Against `json` itself: a list of objects or one after the other, cut anywhere."""
    if listed:
        text = json.dumps(objects, indent=indent, ensure_ascii=False).encode()
    else:
        text = "\n".join(json.dumps(one, indent=indent) for one in objects).encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert [one.fields for one in read("r.json", pieces)] == [emptied(one) for one in objects]


def test_lines_are_counted() -> None:
    text = b'{"a": [\n1,\n2]}\n\n{"b": "x"}\n{"c"\n: 1}'
    for size in (1, 3, 100):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [one.line for one in read("r.json", pieces)] == [1, 5, 6]


def test_memory_is_bounded() -> None:
    """A detailed result of 16 MB of token times is read in a few."""

    def pieces() -> Iterator[bytes]:
        yield json.dumps(RESULT).encode()[:-1] + b', "itls": [['
        for _ in range(64):
            yield b"0.0123456789012345, " * 13_107
        yield b'0]], "generated_texts": ["' + b"x" * 2**20 + b'"]}'

    tracemalloc.start()
    (document,) = read("r.json", pieces())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert document.fields["itls"] == document.fields["generated_texts"] == []
    assert peak < 6 * 2**20
