"""What `vllm bench serve` and its sweeps write: a row a trial, and what was passed over."""

from vllm_parallel.engine.bench_results.latency import Latency
from vllm_parallel.engine.bench_results.outcome import BenchLoad, Outcome
from vllm_parallel.engine.bench_results.result import BenchResult
from vllm_parallel.engine.bench_results.sweep import Skipped, Sweep

__all__ = ["BenchLoad", "BenchResult", "Latency", "Outcome", "Skipped", "Sweep"]
