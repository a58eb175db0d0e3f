"""Results of `vllm bench serve` as v0.32.0 writes them, and files that hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.engine.bench_results import BenchResult, Sweep
from vllm_parallel.errors import ParseError

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
ZEROS: Final = dict.fromkeys(LATENCIES, 0.0)
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
