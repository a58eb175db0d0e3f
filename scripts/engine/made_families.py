"""Model configs of invented shapes of the many families that are a table of keys each."""

from __future__ import annotations

from dice import Dice
from family import Family
from made_dense import DENSE
from made_library import LIBRARY
from made_older import OLDER
from made_sparse import SPARSE
from shapes import Config

FAMILIES: dict[str, Family] = {**DENSE, **SPARSE, **LIBRARY, **OLDER}


def made_families(count: int) -> dict[str, Config]:
    """So many configs of each family, by name."""
    return {
        f"{name}-{number:02}": family.config(Dice(f"{name} {number}"))
        for name, family in FAMILIES.items()
        for number in range(count)
    }
