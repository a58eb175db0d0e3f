"""Figures of `results/public-evidence` that its sentences quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import evidence_tables as tables
from figure import by_name

FIGURES: Final[Mapping[str, Callable[[], object]]] = {
    "publications": tables.publications,
    "figures": tables.figures,
    "points": tables.points,
}
__getattr__ = by_name(FIGURES)
