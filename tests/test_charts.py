"""Charts: whole pictures that say in words what they show, drawn alike every time."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

import pytest

from vllm_parallel.render.charts import Bar, Bars, Curves, curves, stacked

BARS: Final = Bars(
    parts=("weights", "kv", "idle"),
    groups=(
        ("one", (Bar(label="tp8", parts=(4.0, 1.0, 0.0)), Bar(label="tp4", parts=(8.0, 1.5, 0.5)))),
        ("<two>", (Bar(label="tp8", parts=(2.0, 2.0, 1.0)),)),
    ),
)
LINES: Final = Curves(
    lines=(("tp2", ((1, 2), (100, 20))), ("tp4", ((1, 3), (100, 20)))),
    across=((1, "1"), (100, "100")),
    up=((1, "1"), (100, "100")),
    marks=((10, "here"),),
)


def parsed(text: str) -> ET.Element:
    """The picture; its title and desc are what names it."""
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    named = [
        root.find(f"*[@id='{ident}']") for ident in (root.get("aria-labelledby") or "").split()
    ]
    assert [part.tag for part in named if part is not None] == ["title", "desc"]
    assert all(part is not None and part.text for part in named)
    return root


def test_bars_are_as_long_as_their_times() -> None:
    root = parsed(stacked(BARS, "bars", "Bars"))
    boxes = [box for box in root.iter("rect") if box.get("height") == "20"]
    lengths = [float(box.get("width") or 0) for box in boxes]
    assert len(lengths) == 8  # a part of no time is not drawn
    assert [length / lengths[0] * 4 for length in lengths] == pytest.approx(
        [4, 1, 8, 1.5, 0.5, 2, 2, 1], rel=0.01
    )
    ends = [float(box.get("x") or 0) + float(box.get("width") or 0) for box in boxes]
    assert max(ends) < 420
    classes = [(box.get("class") or "").split()[-1] for box in boxes]
    assert classes == "rp-g0 rp-g1 rp-g0 rp-g1 rp-g2 rp-g0 rp-g1 rp-g2".split()


def test_every_number_is_said() -> None:
    text = BARS.description()
    assert "tp4 10.0 ms (weights 8.0, kv 1.5, idle 0.5)" in text
    assert LINES.description() == "tp2: from 2 to 20; tp4: from 3 to 20; marked here."


def test_lines_keep_to_their_axes() -> None:
    root = parsed(curves(LINES, "lines", "Lines"))
    found = [line.get("points") or "" for line in root.iter("polyline")]
    places = [[tuple(map(float, place.split(","))) for place in line.split()] for line in found]
    assert [line[0][0] for line in places[:2]] == [54, 54]
    assert places[0][-1] == places[1][-1] == (394.0, 113.4)  # 20 of 1 to 100
    assert places[0][0][1] > places[1][0][1]
    dashes = [line.get("stroke-dasharray") for line in root.iter("polyline")]
    assert dashes[:2] == dashes[2:]  # a piece of each beside its name
    assert len(set(dashes)) == 2
    names = [float(text.get("y") or 0) for text in root.iter("text") if text.text in ("tp2", "tp4")]
    assert names == [line[0][1] + 4 for line in places[2:]]


def test_drawn_alike_every_time() -> None:
    assert stacked(BARS, "bars", "Bars") == stacked(BARS, "bars", "Bars")
    assert curves(LINES, "lines", "Lines") == curves(LINES, "lines", "Lines")
    assert "&lt;two&gt;" in stacked(BARS, "bars", "Bars")
