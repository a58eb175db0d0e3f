"""Measured speeds: which are judged is settled, and nothing but the accuracy script reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from vllm_parallel.catalog.rates import pinned_factors

from speeds import priced, read  # isort: skip

ROOT: Final = Path(__file__).parents[1]
POINTS: Final = ROOT / "results" / "public-speeds" / "points.jsonl"
JUDGED: Final = (
    "p001 p002 p003 p004 p006 p021 p025 p040 "
    "p050 p051 p052 p053 p054 p055 p056 p057 p058 "
    "p068 p069 p070 p071 p072 p073 p074 p075 p076 "
    "p077 p078 p079 p080 p081 p082 p083 p084 p085"
).split()  # settled before any coefficient was chosen


def test_nothing_else_reads_them() -> None:
    """No rate can follow the points: one module of the site opens the file."""
    readers = {
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "scripts", "snippets", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".json", ".toml"}
        and 'public-speeds"' in path.read_text("utf-8")
    }
    assert readers == {"scripts/site/speeds.py"}


def test_pins_are_few_and_each_on_a_point() -> None:
    pins = pinned_factors()
    assert len(pins) <= 4
    assert len({pin.point for pin in pins}) == len({pin.rate for pin in pins}) == len(pins)
    assert {pin.point for pin in pins} <= set(JUDGED)
    for pin in pins:  # its own point is met, to two places of the factor
        [speed] = priced(
            row for row in read(POINTS, POINTS.with_name("configs")) if row.id == pin.point
        )
        assert abs(speed.error) < 0.004


def test_judged_points_are_settled() -> None:
    """Every other line says why it is not judged."""
    rows = [json.loads(line) for line in POINTS.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows if "unjudged" not in row] == JUDGED
    assert len(rows) == len({row["id"] for row in rows}) == 78
    assert all(row["source"] and row.get("unjudged", "why") for row in rows)
    assert all(
        {"engine", "assumed", "milliseconds"} <= set(row) for row in rows if row["id"] in JUDGED
    )
