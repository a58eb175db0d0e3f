"""Where a figure comes from."""

from __future__ import annotations

from enum import StrEnum


class Provenance(StrEnum):
    """Computed by this package, assumed, measured on a machine, or in a maker's datasheet."""

    COMPUTED = "computed"
    ASSUMED = "assumed"
    MEASURED = "measured"
    DATASHEET = "datasheet"
