"""Results of `vllm bench serve`: what a row says, and what keeps it from being compared."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.bench.made import GONE, LATENCIES, RESULT, ZEROS, Fields, result, row_of
from vllm_parallel.engine.bench_results import Latency


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
