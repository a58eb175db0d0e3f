"""No figure of a page moves unnoticed: `make published` writes down what moved on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import ndiff
from pathlib import Path
from typing import Final

import pytest

from html_tree import parse
from scripts.published import FOLDER, file_of, pages, shown

MOST: Final = 20
SAY: Final = "if these moved on purpose: make published, and say old → new in the commit"


def moved(name: str, old: list[str], new: list[str]) -> Iterator[str]:
    """Lines that came and went, each under the heading it stands below."""
    heading = ""
    for line in ndiff(old, new):
        text = line[2:]
        if line.startswith("? "):
            continue
        heading = text.removeprefix("# ") if text.startswith("# ") else heading
        if not line.startswith("  "):
            yield f"{name}/#{heading}: {'was' if line[0] == '-' else 'is'} {text}"


@pytest.mark.site
def test_no_figure_has_moved(real_site: Path) -> None:
    found = pages(real_site)
    assert len(found) > 30
    lines: list[str] = []
    for name in sorted(found):
        path = file_of(name)
        old = path.read_text("utf-8").splitlines() if path.is_file() else []
        if old != found[name]:
            lines += moved(name, old, found[name])
    assert not lines, "\n".join([*lines[:MOST], SAY])
    files = {file_of(name) for name in found}
    assert not set(FOLDER.glob("*.txt")) - files, "pages without figures now: make published"


def test_what_moved_is_named_with_its_place() -> None:
    page = '<h2 id="a">A</h2><p><data data-name="x.y">{0}</data></p><table><tr>{1}</tr></table>'
    old = list(shown(parse(page.format(3, "<td>tp8</td><td>1.5</td>"))))
    new = list(shown(parse(page.format(3, '<td>tp8</td><td class="assumed">1.5</td>'))))
    assert list(moved("guide/launch", old, old)) == []
    assert list(moved("guide/launch", old, new)) == [
        "guide/launch/#a: was tp8 | 1.5",
        "guide/launch/#a: is tp8 | 1.5 (assumed)",
    ]
