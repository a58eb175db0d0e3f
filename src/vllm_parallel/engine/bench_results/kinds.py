"""What a JSON object of vLLM's benchmarks is, and which of them are results of `bench serve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.errors import on_one_line

NOT_A_RESULT: Final = "not a bench result"
PYTORCH: Final = "the figures of another file again, in PyTorch's format"
SUMMARY: Final = "the runs beside it again"
WARM_UP: Final = "a warm-up, which is not measured"
# Files that lie beside results as a matter of course: to pass over them leaves nothing unread.
EXPECTED: Final = (NOT_A_RESULT, PYTORCH, SUMMARY, WARM_UP)
# A field that only results of another benchmark have.
OTHERS: Final[Mapping[str, str]] = {
    "avg_latency": "latency",
    "elapsed_time": "throughput",
    "avg_cold_startup_time": "startup",
    "mm_processor_stats": "mm-processor",
}
LONGEST: Final = 100


def reason(fields: Mapping[str, object]) -> str | None:
    """Why an object is no result of `vllm bench serve`; None where it is one.

    Source: vllm/benchmarks/{serve,latency,throughput,startup,sweep/serve}.py (v0.32.0)

    >>> reason({"avg_latency": 1.5, "latencies": []})
    'a result of vllm bench latency, not of bench serve'
    >>> reason({"completed": 8, "duration": 1.3})
    """
    if fields.get("run_number") == -1:
        return WARM_UP
    if "completed" in fields and "duration" in fields and "mm_processor_stats" not in fields:
        return None
    if "benchmark" in fields and "metric" in fields:
        return PYTORCH
    if "error_type" in fields and "serve_overrides" in fields:
        error = on_one_line(f"{fields['error_type']}: {fields.get('error')}")
        return f"a run that failed: {error[:LONGEST]}"
    for name in fields:
        if name in OTHERS:
            return f"a result of vllm bench {OTHERS[name]}, not of bench serve"
    return NOT_A_RESULT
