"""What layouts are compared by."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vllm_parallel.engine.bench_results import BenchResult

LATENCIES: Final = ("ttft", "tpot", "itl")


class Metric(StrEnum):
    """A figure of a trial, named as in the rows of `vllm-parallel bench`."""

    OUTPUT_THROUGHPUT = "output_throughput"
    OUTPUT_THROUGHPUT_PER_GPU = "output_throughput_per_gpu"
    TTFT_MS = "ttft_ms"
    TPOT_MS = "tpot_ms"
    ITL_MS = "itl_ms"

    @property
    def more_is_better(self) -> bool:
        """Whether a faster layout has more of it."""
        return self in (Metric.OUTPUT_THROUGHPUT, Metric.OUTPUT_THROUGHPUT_PER_GPU)

    @property
    def words(self) -> str:
        """What it is, for a sentence.

        >>> [metric.words for metric in Metric][1:3]
        ['output tokens a second of each GPU', 'median TTFT']
        """
        return WORDS[self]

    @property
    def unit(self) -> str:
        """What it is counted in, for the head of a column."""
        return UNITS.get(self, "ms")

    def of(self, result: BenchResult) -> float | None:
        """The figure of a trial: a rate, or a median latency; None where there is none."""
        if self is Metric.OUTPUT_THROUGHPUT:
            return result.outcome.output_throughput
        if self is Metric.OUTPUT_THROUGHPUT_PER_GPU:
            return result.output_throughput_per_gpu
        latency = result.outcome.latency(self.removesuffix("_ms"))
        return None if latency is None else latency.p50


WORDS: Final = {
    Metric.OUTPUT_THROUGHPUT: "output tokens a second",
    Metric.OUTPUT_THROUGHPUT_PER_GPU: "output tokens a second of each GPU",
    Metric.TTFT_MS: "median TTFT",
    Metric.TPOT_MS: "median TPOT",
    Metric.ITL_MS: "median ITL",
}
UNITS: Final = {
    Metric.OUTPUT_THROUGHPUT: "tok/s",
    Metric.OUTPUT_THROUGHPUT_PER_GPU: "tok/s/GPU",
}
