"""`/metrics` as vLLM serves it: a snapshot of each engine, and what changed between two."""

from vllm_parallel.engine.metrics.change import EngineChange, MetricsChange
from vllm_parallel.engine.metrics.snapshot import EngineMetrics, Snapshot

__all__ = ["EngineChange", "EngineMetrics", "MetricsChange", "Snapshot"]
