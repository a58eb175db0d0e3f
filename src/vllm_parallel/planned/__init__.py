"""What the planner answers: a search in strings to show, the same in a build and in a browser."""

from __future__ import annotations

from vllm_parallel.planned.notes import notes
from vllm_parallel.planned.rows import STEP_PARTS, RefusedRow, Row, Shelf, cell

__all__ = ["STEP_PARTS", "RefusedRow", "Row", "Shelf", "cell", "notes"]
