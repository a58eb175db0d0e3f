"""Where a figure comes from."""

from __future__ import annotations

from enum import StrEnum


class Provenance(StrEnum):
    """Computed by this package, assumed by somebody, or measured on a machine."""

    COMPUTED = "computed"
    ASSUMED = "assumed"
    MEASURED = "measured"
