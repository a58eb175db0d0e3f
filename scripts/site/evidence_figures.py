"""Figures of `results/public-evidence` that its sentences quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import evidence_tables as tables

FIGURES: Final[Mapping[str, Callable[[], object]]] = {
    "publications": tables.publications,
    "figures": tables.figures,
    "points": tables.points,
}


def __getattr__(name: str) -> object:
    """A figure by its name, computed when a page asks."""
    if name not in FIGURES:
        raise AttributeError(f"no figure {name!r}")
    return FIGURES[name]()
