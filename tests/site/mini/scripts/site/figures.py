"""Figures that the small site quotes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Two figures and something that is none."""

    tokens: int
    share: float
    ranks: tuple[int, ...]


tp8 = Layout(tokens=1_368_448, share=0.125, ranks=(0, 1))
