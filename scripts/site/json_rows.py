"""What rows of public evidence hold under their keys."""

from __future__ import annotations

from collections.abc import Mapping

Json = Mapping[str, object]


def whole_number(row: Json, key: str) -> int | None:
    """A whole number, None where there is none.

    >>> whole_number({"tp": 8}, "tp"), whole_number({"tp": "8"}, "tp")
    (8, None)
    """
    value = row.get(key)
    return value if isinstance(value, int) else None


def number(row: Json, key: str) -> float | None:
    """A number, None where there is none.

    >>> number({"rate": 2}, "rate")
    2.0
    """
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else None
