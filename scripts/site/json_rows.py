"""What rows of public evidence hold under their keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

Json = Mapping[str, object]


def rows_of(path: Path) -> list[dict[str, object]]:
    """The objects of a file of JSON lines; blank lines are passed over."""
    lines = path.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


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
