"""Some of many, drawn by a seed that is said, so that the draw can be repeated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def drawn(items: Sequence[Item], draw: int | None, seed: int | None, target: str) -> list[Item]:
    """All items, or so many of them; prints how to draw the same ones again by a make target."""
    if draw is None:
        return list(items)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    print(f"{min(draw, len(items))} of {len(items)} mutants, drawn by seed {seed}; to repeat it:")
    print(f"  make {target} DRAW={draw} SEED={seed}", flush=True)
    return random.Random(seed).sample(items, min(draw, len(items)))
