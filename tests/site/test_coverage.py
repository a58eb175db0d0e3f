"""Both source texts are covered line by line, and what covers them stands where it is said to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pytest

import covered
from covered import FILE, SOURCES, items
from html_tree import parse
from tests.site.builder import ROOT, Builder
from tests.site.faults import refused

SHARED: Final = Path(os.environ.get("VLLM_PARALLEL_SHARED", ROOT.parent / "shared"))
SEEDS: Final = SHARED / "seeds"


def item(**changes: str) -> str:
    """One item that holds on the small site, or with something changed."""
    row = {
        "id": "guide-1",
        "source": "guide",
        "lines": "1",
        "kind": "heading",
        "says": "What it is.",
        "page": "guide/estimate.md#the-table",
        "holds": "An example sees the same",
        **changes,
    }
    lines = (f'{name} = "{value}"' for name, value in row.items() if value)
    return "[[item]]\n" + "\n".join(lines) + "\n"


def of_project() -> tuple[covered.Item, ...]:
    return items((ROOT / FILE).read_text(encoding="utf-8"))


def uncovered(source: str) -> list[int]:
    """Lines of a source that hold something and belong to no item."""
    text = (SEEDS / SOURCES[source]).read_text(encoding="utf-8")
    taken = {line for one in of_project() if one.source == source for line in one.lines}
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and number not in taken
    ]


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the source texts are not beside this checkout")
@pytest.mark.parametrize("source", SOURCES)
def test_every_line_is_covered(source: str) -> None:
    left = uncovered(source)
    assert not left, f"lines of {source} that no item of {FILE.name} covers: {left}"


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the source texts are not beside this checkout")
def test_no_item_lies_beyond_its_source() -> None:
    for source, name in SOURCES.items():
        length = len((SEEDS / name).read_text(encoding="utf-8").splitlines())
        beyond = [o.id for o in of_project() if o.source == source and max(o.lines) > length]
        assert not beyond, f"{name} has {length} lines"


FILE_FAULTS: Final = (
    (item(id=""), "item 1 (without an id): lacks id"),
    (item(says=" "), "says is ' ', not a text"),
    (item(kind="note"), "kind is 'note', none of caveat, command"),
    (item(source="book"), "source is 'book', none of guide, chapter"),
    (item(lines="4-2"), "lines is '4-2', which runs backwards"),
    (item(lines="all"), "lines is 'all', not like '88-92'"),
    (item(id="Guide 1"), "an id holds small letters"),
    (item(holds=""), "needs exactly one of holds and figure"),
    (item(figure="tp8.tokens"), "needs exactly one of holds and figure"),
    (item() + item(), "item guide-1: its id is given twice"),
    ("[[item]\n", "Expected ']]'"),
)


@pytest.mark.parametrize("text, says", FILE_FAULTS, ids=[says for _, says in FILE_FAULTS])
def test_file_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        items(text)


def test_lines_are_read_as_ranges() -> None:
    (one,) = items(item(lines="88-90, 95"))
    assert one.lines == (88, 89, 90, 95)
    assert one.address == "guide/estimate/#the-table"


@pytest.mark.parametrize(
    "page, address", [("index.md", ""), ("guide/index.md#a", "guide/#a"), ("a/b.md", "a/b/")]
)
def test_addresses(page: str, address: str) -> None:
    (one,) = items(item(page=page))
    assert one.address == address


def test_a_section_ends_where_the_next_begins() -> None:
    page = parse(
        '<article class="md-content__inner"><h2 id="a">A</h2><p>one <code>two</code></p>'
        '<ul><li id="row">three</li><li>four</li></ul><h2 id="b">B</h2><p>five</p></article>'
    )
    found = covered.problems(
        items(
            item(id="code", page="p.md#a", holds="One two")
            + item(id="heading", page="p.md#b", holds="B five")
            + item(id="row", page="p.md#row", holds="three")
            + item(id="next-row", page="p.md#row", holds="four")
            + item(id="next-section", page="p.md#a", holds="five")
        ),
        {"p.md": page},
    )
    assert [text.partition(":")[0] for text in found] == ["next-row", "next-section"]


@pytest.mark.site
def test_what_does_not_stand_there_fails_the_build(mini: Path, builder: Builder) -> None:
    """All faults at once: one build tells them all, and of what is right says nothing."""
    target = mini / FILE
    target.parent.mkdir(parents=True)
    target.write_text(
        item()
        + item(id="guide-figure", page="index.md", holds="", figure="tp8.tokens")
        + item(id="no-page", page="guide/gone.md#the-table")
        + item(id="no-anchor", page="guide/estimate.md#gone")
        + item(id="no-phrase", holds="nobody wrote this")
        + item(id="no-figure", holds="", figure="tp8.tokens"),
        encoding="utf-8",
    )
    built = builder.build(mini, mini.with_name("site"))
    refused(
        built,
        1,
        "coverage.toml: no-page: there is no page guide/gone.md",
        "coverage.toml: no-anchor: there is no anchor guide/estimate.md#gone",
        "coverage.toml: no-phrase: 'nobody wrote this' does not occur in guide/estimate.md#the-t",
        "coverage.toml: no-figure: there is no figure tp8.tokens in guide/estimate.md#the-table",
    )
    assert "guide-1:" not in built.output
    assert "guide-figure:" not in built.output


@pytest.mark.site
def test_file_that_cannot_be_read_fails_the_build(mini: Path, builder: Builder) -> None:
    target = mini / FILE
    target.parent.mkdir(parents=True)
    target.write_text(item(kind="note"), encoding="utf-8")
    built = builder.build(mini, mini.with_name("site"))
    refused(built, 1, "coverage.toml: item 1 (guide-1): kind is 'note'")
