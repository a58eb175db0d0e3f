"""Results of `vllm bench serve`: rows, doubts, sweep trees, and files that are none."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import FIELD, needs_field
from vllm_parallel import cli
from vllm_parallel.engine.bench_results import BenchResult, Latency, Sweep
from vllm_parallel.engine.bench_results.documents import read
from vllm_parallel.errors import ParseError

Streams = pytest.CaptureFixture[str]
RUNS: Final = Path(__file__).parents[1] / "results"
Fields = Mapping[str, object]

# As v0.32.0 writes one: 16 requests of 128 + 32 tokens, 4 at a time.
RESULT: Final[dict[str, object]] = {
    "date": "20261130-120000", "endpoint_type": "openai", "backend": "openai", "label": None,
    "model_id": "m", "tokenizer_id": "m", "num_prompts": 16, "layout": "tp2", "gpus": "2",
    "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 4, "duration": 4.0,
    "completed": 16, "failed": 0, "total_input_tokens": 2048, "total_output_tokens": 512,
    "request_throughput": 4.0, "request_goodput": None, "output_throughput": 128.0,
    "total_token_throughput": 640.0, "latencies": [0.5, 0.6], "queue_times": [0.0, 0.0],
    "max_output_tokens_per_s": 200.0, "max_concurrent_requests": 5, "rtfx": 0.0,
    "mean_ttft_ms": 200.0, "median_ttft_ms": 190.0, "std_ttft_ms": 5.0, "p50_ttft_ms": 190.0,
    "p99_ttft_ms": 400.0, "mean_tpot_ms": 20.0, "median_tpot_ms": 19.0, "std_tpot_ms": 1.0,
    "p50_tpot_ms": 19.0, "p99_tpot_ms": 30.0, "mean_itl_ms": 20.0, "median_itl_ms": 18.0,
    "p99_itl_ms": 40.0,
}  # fmt: skip
LATENCIES: Final = {name: value for name, value in RESULT.items() if name.endswith("_ms")}
GONE: Final = object()


def result(**changes: object) -> dict[str, object]:
    """The result with some fields changed, and without those that are GONE."""
    fields = RESULT | changes
    return {name: value for name, value in fields.items() if value is not GONE}


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def row_of(folder: Path, content: object, name: str = "tp2-c4-r1.json") -> BenchResult:
    (row,) = Sweep.of([written(folder, name, content)]).rows
    return row


def problem_of(folder: Path, content: object, name: str = "r.json") -> str:
    with pytest.raises(ParseError) as raised:
        Sweep.of([written(folder, name, content)])
    text = str(raised.value)
    assert name in text
    assert text.isprintable()
    return text


def test_a_row(tmp_path: Path) -> None:
    row = row_of(tmp_path, RESULT)
    assert (row.label, row.gpus, row.load.max_concurrency, row.trial) == ("tp2", 2, 4, 1)
    assert (row.outcome.completed, row.outcome.failed, row.outcome.duration) == (16, 0, 4.0)
    assert (row.outcome.output_throughput, row.output_throughput_per_gpu) == (128.0, 64.0)
    assert row.outcome.latency("ttft") == Latency(mean=200.0, p50=190.0, p99=400.0)
    assert row.outcome.latency("e2el") is None
    assert (row.doubts, row.notes) == ((), ())


# What may differ, and what is read nevertheless.


@pytest.mark.parametrize(
    "changes, name, label, trial",
    [
        ({}, "x.json", "tp2", None),
        ({"layout": GONE, "label": "mine"}, "x.json", "mine", None),
        ({"layout": GONE}, "tp4pp2-c4-r3.json", "tp4pp2", 3),
        ({"layout": GONE}, "tp4pp2-c4.json", "tp4pp2", None),
        ({"layout": GONE}, "x.json", None, None),
        ({"layout": ""}, "a-c4-r2.json", "a", 2),
        ({"layout": 8}, "x.json", "8", None),
        ({"trial": "2"}, "tp2-c4-r1.json", "tp2", 2),
        ({"run_number": 0}, "x.json", "tp2", 0),
        ({"layout": GONE}, "SERVE--tp=2-BENCH--max_concurrency=4/run=1.json", "tp=2", 1),
        ({"layout": GONE}, "SERVE--tp=2-WL--request_rate=4/run=1.json", "tp=2", 1),
        ({"layout": GONE}, "SERVE--tp=2/run=1.json", "tp=2", 1),
        ({"layout": GONE}, "SERVE--tp=2-SLA--p99_ttft_ms/run=1.json", "tp=2", 1),
        ({"layout": GONE}, "BENCH--max_concurrency=4/run=1.json", None, 1),
        ({"layout": GONE, "_benchmark_name": "tp8"}, "moved.json", "tp8", None),
        ({"layout": GONE}, "experiment/run=1.json", None, 1),
    ],
)
def test_label_and_trial(
    tmp_path: Path, changes: Fields, name: str, label: str | None, trial: int | None
) -> None:
    """Metadata first, then vLLM's label, then the name of the file or of the sweep's folder."""
    row = row_of(tmp_path, result(**changes), name)
    assert (row.label, row.trial) == (label, trial)


@pytest.mark.parametrize(
    "changes, gpus, note",
    [
        ({"gpus": 8}, 8, None),
        ({"gpus": 8.0}, 8, None),
        ({"gpus": GONE, "num_gpus": "4"}, 4, None),
        ({"gpus": GONE}, None, None),
        ({"gpus": GONE, "tensor_parallel_size": 4, "data-parallel-size": "2"}, 8, None),
        ({"gpus": True}, None, "gives gpus as true, which is no count: left out"),
        ({"gpus": "eight"}, None, "gives gpus as 'eight'"),
        ({"gpus": "8.5"}, None, "gives gpus as '8.5'"),
        ({"gpus": 0}, None, "gives gpus as 0"),
        ({"gpus": [8]}, None, "gives gpus as []"),
        ({"gpus": float("nan")}, None, "gives gpus as NaN"),
        ({"layout": {"tp": 2}}, 2, 'gives layout as {"tp": 2}, which is no name'),
        ({"layout": True}, 2, "gives layout as true"),
        ({"trial": "first"}, 2, "gives trial as 'first'"),
    ],
)
def test_metadata(tmp_path: Path, changes: Fields, gpus: int | None, note: str | None) -> None:
    """Words of the user's: what cannot be is left out with a note, and the figures stand."""
    row = row_of(tmp_path, result(**changes))
    assert row.gpus == gpus
    assert row.comparable
    assert row.notes == () if note is None else note in row.notes[0]


@pytest.mark.parametrize(
    "changes, ttft, note",
    [
        ({"p50_ttft_ms": GONE}, Latency(mean=200.0, p50=190.0, p99=400.0), None),
        ({"p99_ttft_ms": GONE, "mean_ttft_ms": GONE}, Latency(p50=190.0), None),
        ({"p99_ttft_ms": float("nan")}, Latency(mean=200.0, p50=190.0), "p99_ttft_ms as nan"),
        (dict.fromkeys((name for name in LATENCIES if "ttft" in name), GONE), None, None),
        (
            dict.fromkeys((name for name in LATENCIES if "ttft" in name), 0.0),
            None,
            "gives every ttft as 0: none was measured",
        ),
        (
            {"median_ttft": 0.25, "p99_ttft": 0.5}
            | dict.fromkeys((name for name in LATENCIES if "ttft" in name), GONE),
            Latency(p50=250.0, p99=500.0),
            "gives latencies in seconds",
        ),
    ],
)
def test_latencies(tmp_path: Path, changes: Fields, ttft: Latency | None, note: str | None) -> None:
    """Missing percentiles, none at all, zeros that are no times, seconds."""
    row = row_of(tmp_path, result(**changes))
    assert row.outcome.latency("ttft") == ttft
    assert row.notes == () if note is None else note in row.notes[0]


@pytest.mark.parametrize(
    "rate, found",
    [("inf", float("inf")), (float("inf"), float("inf")), (4, 4.0), ("4.5", 4.5), (None, None)],
)
def test_request_rate(tmp_path: Path, rate: object, found: float | None) -> None:
    row = row_of(tmp_path, result(request_rate=rate))
    assert row.load.request_rate == found
    assert row.notes == ()


def test_older_and_other_fields(tmp_path: Path) -> None:
    """No `failed`, a colon in a name, fields nobody knows: a row like the others."""
    old = result(failed=GONE, endpoint_type=GONE, label=GONE, request_goodput=GONE, best_of=1)
    row = row_of(tmp_path, old | {"request_goodput:": None, "good_completed": None})
    assert (row.outcome.failed, row.comparable) == (None, True)
    older = {"total_input": 2048, "total_output": 512, "total_input_tokens": GONE}
    row = row_of(tmp_path, result(**older, total_output_tokens=GONE))
    assert (row.load.input_tokens, row.load.output_tokens) == (2048, 512)


# What keeps a row from being compared.


SECONDS: Final = {name: float(str(value)) / 1000 for name, value in LATENCIES.items()}
ZEROS: Final = dict.fromkeys(LATENCIES, 0.0)


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"failed": 1}, "1 of 17 requests failed"),
        ({"completed": 0, "failed": 16, "output_throughput": 0.0} | ZEROS, "no request was comp"),
        ({"failed": GONE, "completed": 15}, "15 of 16 requests were completed"),
        ({"failed": GONE, "num_prompts": GONE}, "does not say how many requests failed"),
        ({"duration": float("nan")}, "it has no duration"),
        ({"output_throughput": None}, "it has no output_throughput"),
        ({"output_throughput": float("-inf")}, "it has no output_throughput"),
        (SECONDS, "its latencies fill 0.33% of the duration: they are not in milliseconds"),
        ({name: float(str(ms)) * 1000 for name, ms in LATENCIES.items()}, "longer than the dur"),
    ],
)
def test_doubts(tmp_path: Path, changes: Fields, says: str) -> None:
    row = row_of(tmp_path, result(**changes))
    assert not row.comparable
    assert says in row.doubts[0]
    if row.outcome.completed == 0:
        assert row.outcome.latency("tpot") is None


def test_a_slow_rate_is_no_doubt(tmp_path: Path) -> None:
    """With a rate limit a server may idle: latencies may fill little of the duration."""
    slow = result(request_rate=0.01, duration=1600.0, output_throughput=0.32)
    assert row_of(tmp_path, slow).comparable


# Forms of a file.


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


# Folders.


def tree(folder: Path) -> Path:
    """What `vllm bench sweep serve` leaves: two layouts, two runs each, and what lies beside."""
    for tp in (1, 2):
        inner = f"SERVE--tensor_parallel_size={tp}-BENCH--max_concurrency=4"
        runs = [
            result(layout=GONE, gpus=GONE, run_number=number, tensor_parallel_size=tp)
            for number in range(2)
        ]
        for number, run in enumerate(runs):
            written(folder, f"{inner}/run={number}.json", json.dumps(run, indent=4))
        written(folder, f"{inner}/summary.json", json.dumps(runs, indent=4))
        written(folder, f"{inner}/warmup.json", RESULT)
    written(folder, "summary.csv", "a,b\n")
    return folder


def test_a_sweep(tmp_path: Path) -> None:
    sweep = Sweep.of([tree(tmp_path)])
    labels = ["tensor_parallel_size=1"] * 2 + ["tensor_parallel_size=2"] * 2
    assert [row.label for row in sweep.rows] == labels
    assert [row.trial for row in sweep.rows] == [0, 1, 0, 1]
    assert [row.gpus for row in sweep.rows] == [1, 1, 2, 2]
    assert sorted({one.reason for one in sweep.skipped}) == [
        "a warm-up, which is not measured", "not a bench result", "the runs beside it again",
    ]  # fmt: skip
    assert sweep.whole
    assert list(map(len, sweep.cells.values())) == [2, 2]


def test_a_sweep_that_failed(tmp_path: Path) -> None:
    """A run that failed is skipped with its reason, and leaves the sweep less than whole."""
    failure = {"run_number": 1, "error_type": "OSError", "error": "x", "serve_overrides": {}}
    written(tree(tmp_path), "SERVE--a/run=1.failure.json", failure)
    sweep = Sweep.of([tmp_path])
    assert len(sweep.rows) == 4
    assert "a run that failed: OSError: x" in {one.reason for one in sweep.skipped}
    assert not sweep.whole


def test_a_summary_alone(tmp_path: Path) -> None:
    """Without the runs beside it, a summary holds the rows."""
    runs = [result(layout=GONE, run_number=number) for number in range(3)]
    written(tmp_path, "SERVE--tp=2/summary.json", runs)
    sweep = Sweep.of([tmp_path])
    assert [(row.label, row.trial) for row in sweep.rows] == [("tp=2", n) for n in range(3)]


def test_a_run_folder(tmp_path: Path) -> None:
    """Logs, metrics and PyTorch's twins lie beside results; the order is that of the load."""
    for label in ("tp2", "tp1"):
        for width in (16, 4):
            for trial in (2, 1):
                name = f"{label}-c{width}-r{trial}.json"
                written(tmp_path, name, result(layout=label, max_concurrency=width))
    for name in ("tp2-serve.log", "run.toml", "tp2-c4-r1.pytorch.json", ".cache/x-c4-r1.json"):
        written(tmp_path, name, "[]")
    sweep = Sweep.of([tmp_path, tmp_path / "tp2-c4-r1.json"])
    found = [(row.label, row.load.max_concurrency, row.trial) for row in sweep.rows]
    assert found == [(label, width, trial) for label in ("tp1", "tp2") for width in (4, 16)
                     for trial in (1, 2)]  # fmt: skip
    assert sweep.whole
    assert len(sweep.skipped) == 3


def test_a_bad_file_among_good_ones(tmp_path: Path) -> None:
    good, bad = written(tmp_path, "a-c4.json", RESULT), written(tmp_path, "b.json", '{"a": ')
    for paths in ([tmp_path], [bad, good]):
        sweep = Sweep.of(paths)
        assert len(sweep.rows) == 1
        assert sweep.skipped[0].reason.startswith("line 1 ends in the middle")
        assert not sweep.whole


def test_trials_and_gpus_that_clash(tmp_path: Path) -> None:
    for name, changes in {"a": {}, "b": {}, "c": {}, "d": {"start": 2}, "e": {"gpus": 4}}.items():
        trial = 2 if name == "e" else 1
        written(tmp_path, f"{name}.json", result(trial=trial, **changes))
    twins, gpus = Sweep.of([tmp_path]).notes
    assert twins.startswith(f"tp2: {tmp_path}/a.json and {tmp_path}/b.json are both trial 1 at")
    assert twins.endswith("at concurrency 4, and so are 1 more; write --metadata trial=…")
    assert gpus == "tp2 has 2 and 4 GPUs, in different results"


def test_a_name_that_disagrees(tmp_path: Path) -> None:
    row = row_of(tmp_path, RESULT, "tp2-c16-r1.json")
    assert "is named for concurrency 16, not 4" in row.notes[0]


# The command.


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


# What others have written.


@needs_field
def test_field_results() -> None:
    rows = {Path(row.path).stem: row for row in Sweep.of([FIELD / "bench-json"]).rows}
    assert len(rows) == 7
    doubtful = [name for name, row in rows.items() if not row.comparable]
    assert doubtful == ["v0.25.1-all_requests_failed"]
    assert rows[doubtful[0]].outcome.latency("tpot") is None
    seconds = rows["inferencex-glm5_fp8_vllm_tp8_isl1024_osl128_conc32"]
    ttft = seconds.outcome.latency("ttft")
    assert ttft is not None
    assert ttft.p50 == pytest.approx(428.62243112)
    assert "in seconds" in seconds.notes[0]
    run = rows["v0.25.1-sweep-run0"]
    assert (run.trial, run.load.max_concurrency, run.outcome.completed) == (0, 2, 8)


@pytest.mark.parametrize("run", sorted(RUNS.glob("*/run.toml")), ids=lambda path: path.parent.name)
def test_committed_runs(run: Path) -> None:
    """Every result that the real vLLM wrote is a row, named as its file is."""
    sweep = Sweep.of([run.parent])
    assert sweep.whole
    assert sweep.notes == ()
    assert len(sweep.rows) == len(list(run.parent.glob("*-c*-r*.json")))
    for row in sweep.rows:
        name = f"{row.label}-c{row.load.max_concurrency}-r{row.trial}.json"
        assert Path(row.path).name == name
        assert row.outcome.latency("ttft")
