"""What was asked of a server in one trial, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from vllm_parallel.engine.bench_results.latency import Latency
from vllm_parallel.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLoad:
    """The load. Tokens are sums over the requests that were completed. None: not said."""

    model: str | None = None
    date: str | None = None
    num_prompts: int | None = None
    request_rate: float | None = None  # a second; infinite without a limit
    max_concurrency: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The figures. `duration` is in seconds, the throughput in output tokens a second."""

    completed: int
    failed: int | None = None
    duration: float | None = None
    output_throughput: float | None = None
    latencies: Mapping[str, Latency]

    def latency(self, metric: str) -> Latency | None:
        """One of `ttft tpot itl e2el`; None where none was measured."""
        return self.latencies.get(metric)
