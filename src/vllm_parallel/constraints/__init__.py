"""vLLM's start-up rules, one row each, and the questions that are asked of them."""

from __future__ import annotations

from vllm_parallel.constraints.admissible import admitted
from vllm_parallel.constraints.constraint import Constraint, Known, Stage, Violation
from vllm_parallel.constraints.table import (
    RULES,
    check,
    check_after_memory,
    check_before_memory,
    require,
    violations,
)

__all__ = [
    "RULES",
    "Constraint",
    "Known",
    "Stage",
    "Violation",
    "admitted",
    "check",
    "check_after_memory",
    "check_before_memory",
    "require",
    "violations",
]
