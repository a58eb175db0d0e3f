"""Measured speeds: which are judged is settled, and nothing but the accuracy script reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
POINTS: Final = ROOT / "results" / "public-speeds" / "points.jsonl"
JUDGED: Final = (
    "p001 p002 p003 p004 p006 p021 p025 p040 "
    "p050 p051 p052 p053 p054 p055 p056 p057 p058 "
    "p068 p069 p070 p071 p072 p073 p074 p075 p076 "
    "p077 p078 p079 p080 p081 p082 p083 p084 p085"
).split()  # settled before any coefficient was chosen


def test_judged_points_are_settled() -> None:
    """Every other line says why it is not judged."""
    rows = [json.loads(line) for line in POINTS.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows if "unjudged" not in row] == JUDGED
    assert len(rows) == len({row["id"] for row in rows}) == 78
    assert all(row["source"] and row.get("unjudged", "why") for row in rows)
    assert all(
        {"engine", "assumed", "milliseconds"} <= set(row) for row in rows if row["id"] in JUDGED
    )
