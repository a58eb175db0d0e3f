"""Placement diagrams: well-formed, every rank once, every group where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from vllm_parallel.cluster import Cluster
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ranks import all_groups
from vllm_parallel.render.placement import CELL, Placement, diagram
from vllm_parallel.render.svg import Picture, element, wrap

NASTY: Final = "<b>\"&'|`x` ]]> $(rm) \\"


def placements() -> Iterator[Placement]:
    """Layouts of up to 32 ranks on nodes of several sizes, dense and not."""
    for tp, pp, dp, pcp, per_node in product((1, 2, 8), (1, 2), (1, 2), (1, 2), (None, 4, 6, 8)):
        if tp * pp * dp * pcp <= 32:
            for dcp in {1, pcp, tp * pcp}:
                layout = Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp)
                for moe in (False, True):
                    yield Placement(layout=layout, cluster=Cluster(gpus_per_node=per_node), moe=moe)


Pictures = list[tuple[Placement, ET.Element]]
EMS: Final = {" ": 0.28, ",": 0.28, "t": 0.28}  # of a sans-serif; other letters and digits 0.56
SIZES: Final = {"rp-rank": 15.0, "rp-place": 9.5, "rp-seat": 13.0, "rp-axis": 13.0}


def text_width(words: str, kind: str) -> float:
    return SIZES[kind] * sum(EMS.get(letter, 0.56) for letter in words)


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    return [(placement, ET.fromstring(diagram(placement, "one"))) for placement in placements()]


def drawn(placement: Placement) -> ET.Element:
    picture = diagram(placement, "one")
    assert diagram(placement, "one") == picture
    return ET.fromstring(picture)


def number(part: ET.Element, name: str) -> float:
    return float(part.attrib[name])


def texts(picture: ET.Element, kind: str) -> list[ET.Element]:
    return [part for part in picture.iter("text") if part.attrib["class"] == kind]


def test_every_rank_appears_once(pictures: Pictures) -> None:
    for placement, picture in pictures:
        shown = [part.text for part in texts(picture, "rp-rank")]
        assert shown == [str(rank) for rank in range(placement.layout.ranks)]
        for axis in placement.axes:
            assert axis.value in {part.text for part in texts(picture, "rp-axis")}
        cells = [part for part in picture.iter("rect") if "rp-cell" in part.attrib["class"]]
        assert len(cells) == len(shown) * len(placement.axes)


def test_every_rank_is_in_its_node(pictures: Pictures) -> None:
    """A rank's number stands between the sides of the frame of its node, below its name."""
    for placement, picture in pictures:
        frames = [part for part in picture.iter("rect") if part.attrib["class"] == "rp-node"]
        per_node = placement.cluster.gpus_per_node or placement.layout.ranks
        assert len(frames) == -(-placement.layout.ranks // per_node)
        names = [part.text for part in texts(picture, "rp-label")]
        if placement.cluster.gpus_per_node is None:
            assert names == ["ranks"]
        else:
            assert names == [f"node {node}" for node in range(len(frames))]
        for part in texts(picture, "rp-rank"):
            frame = frames[int(part.text or "") // per_node]
            left, top = number(frame, "x"), number(frame, "y")
            assert left < number(part, "x") < left + number(frame, "width")
            assert top < number(part, "y") < top + number(frame, "height")


def test_text_stays_in_its_cell(pictures: Pictures) -> None:
    """Cells do not touch, a seat's text is inside its cell, and all of it inside the picture."""
    for _, picture in pictures:
        width, height = (float(picture.attrib[name]) for name in ("width", "height"))
        assert picture.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
        parts = list(picture)
        for cell, seat in pairwise(parts):
            if seat.attrib.get("class") == "rp-seat":
                left, top = number(cell, "x"), number(cell, "y")
                half = text_width(seat.text or "", "rp-seat") / 2
                assert left <= number(seat, "x") - half
                assert number(seat, "x") + half <= left + number(cell, "width")
                assert top + 10 < number(seat, "y") < top + number(cell, "height")
                assert number(cell, "width") < CELL
        for part in (*picture.iter("rect"), *picture.iter("text")):
            assert 0 <= number(part, "x") < width
            assert 0 <= number(part, "y") < height
            assert number(part, "x") + float(part.attrib.get("width", 0)) <= width
            assert number(part, "y") + float(part.attrib.get("height", 0)) <= height


def test_coordinates_do_not_run_into_each_other(pictures: Pictures) -> None:
    """`d0 p0 t0` fits between its neighbours; only what is wider than one is written."""
    for placement, picture in pictures:
        layout = placement.layout
        wide = sum(width > 1 for width in (layout.tp, layout.pp, layout.dp, layout.pcp))
        for part in texts(picture, "rp-place"):
            words = part.text or ""
            assert len(words.split()) == wide
            assert wide > 3 or text_width(words, "rp-place") <= CELL


def test_seats_are_the_groups(pictures: Pictures) -> None:
    """Letter and number of every cell: which group, and which place in it."""
    for placement, picture in pictures:
        found: dict[str, list[str]] = {}
        for node in range(len(texts(picture, "rp-label"))):
            top = number(texts(picture, "rp-label")[node], "y")
            below = top + float(picture.attrib["height"]) / len(texts(picture, "rp-label"))
            for axis in texts(picture, "rp-axis"):
                if top < number(axis, "y") < below:
                    row = found.setdefault(axis.text or "", [])
                    seats = texts(picture, "rp-seat")
                    row += [s.text or "" for s in seats if number(s, "y") == number(axis, "y")]
        for axis_ in placement.axes:
            groups = all_groups(placement.layout, axis_)
            wanted = [""] * placement.layout.ranks
            for letter, group in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", groups, strict=False):
                for place, rank in enumerate(group.ranks):
                    wanted[rank] = f"{letter}{place}" if len(groups) > 1 else str(place)
            assert found[axis_.value] == wanted


def test_axes_of_a_dense_model() -> None:
    layout = Layout(tp=2, dp=2)
    assert Placement(layout=layout, cluster=Cluster()).axes == [Axis.TP]
    moe = Placement(layout=layout, cluster=Cluster(), moe=True)
    assert moe.axes == [Axis.TP, Axis.DP, Axis.EP]
    assert moe.description() == (
        "tensor groups: 0, 1; 2, 3. data groups: 0, 2; 1, 3. expert groups: 0–3."
    )
    context = Placement(layout=Layout(tp=2, pp=2, pcp=2, dcp=2), cluster=Cluster())
    assert context.description() == (
        "tensor groups: 0, 1; 2, 3; 4, 5; 6, 7. pipeline groups: 0, 4; 1, 5; 2, 6; 3, 7. "
        "prefill-context groups: 0, 2; 1, 3; 4, 6; 5, 7. "
        "decode-context groups: 0, 2; 1, 3; 4, 6; 5, 7."
    )
    alone = Placement(layout=Layout(), cluster=Cluster())
    assert alone.description() == "Every rank is alone."
    assert len(texts(drawn(alone), "rp-rank")) == 1


def test_identities_are_of_the_picture() -> None:
    """Two pictures on a page share no id; title and description are named by theirs."""
    placement = Placement(layout=Layout(tp=2, pp=2), cluster=Cluster(gpus_per_node=2))
    seen: set[str] = set()
    for ident in ("a", "b", "tp2-pp2"):
        picture = ET.fromstring(diagram(placement, ident))
        found = [part.attrib["id"] for part in picture.iter() if "id" in part.attrib]
        assert len(found) == len(set(found))
        assert not seen & set(found)
        seen |= set(found)
        assert picture.attrib["aria-labelledby"].split() == found[:2]
        assert (picture[0].tag, picture[1].tag) == ("title", "desc")
        assert picture[0].text == "tp2 pp2: 4 ranks on 2 nodes"
        assert picture[1].text == placement.description()


def test_elements_escape() -> None:
    part = ET.fromstring(element("text", NASTY, x=4, class_="rp-a", aria_label=NASTY))
    assert (part.text, part.attrib) == (NASTY, {"x": "4", "class": "rp-a", "aria-label": NASTY})
    assert element("rect", x=1) == '<rect x="1"/>'
    assert wrap("g", "<b/>", id="x") == '<g id="x"><b/></g>'
    picture = Picture(ident="i", title=NASTY, desc=NASTY, width=1, height=2)
    root = ET.fromstring(picture.drawn([element("text", NASTY)]))
    assert [child.text for child in root] == [NASTY] * 3
    assert (root.attrib["role"], root.attrib["viewBox"]) == ("img", "0 0 1 2")
