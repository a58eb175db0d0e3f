"""Logs of `vllm serve`: what each line says, and what a whole log says."""

from __future__ import annotations

from vllm_parallel.engine.log.merging import are_nodes, merged
from vllm_parallel.engine.log.nouns import (
    Asked,
    EnginePool,
    Load,
    Refusal,
    ServeLog,
    Sign,
    Worker,
)
from vllm_parallel.engine.log.serve_log import is_current, read, read_file

__all__ = [
    "Asked", "EnginePool", "Load", "Refusal", "ServeLog", "Sign", "Worker", "are_nodes",
    "is_current", "merged", "read", "read_file",
]  # fmt: skip
