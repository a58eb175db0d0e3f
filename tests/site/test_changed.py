"""Old figures are found in a site of a changed input, as `make test-changed` builds two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from html_tree import parse
from scripts.changed import CATALOG, CHANGES, Change, Shown, complaints
from scripts.copies import ROOT

CHANGE: Final = Change(name="a", file="a.json", keys=("x", "y"), value=90, moves=("tp8.tokens",))
PAGE: Final = '<p><data data-name="tp8.tokens">{0}</data> of {0}, {1}, {2}</p>'


def page(inline: str, typed: str, other: str) -> dict[str, Shown]:
    return {"index.html": Shown.of(parse(PAGE.format(inline, typed, other)))}


def test_everything_moved() -> None:
    before = page("1,368,448", "1,368,448", "16.4 GiB")
    after = page("1,500,000", "1,500,000", "16.4 GiB")
    assert list(complaints(CHANGE, before, after)) == []


def test_a_typed_figure_is_found() -> None:
    before = page("1,368,448", "1,368,448", "")
    after = page("1,500,000", "1,368,448", "")
    assert list(complaints(CHANGE, before, after)) == [
        "index.html: 1,368,448 stood there 3 times and stands there 1 times"
    ]


def test_a_figure_that_does_not_move_is_found() -> None:
    same = page("1,368,448", "1,368,448", "")
    assert list(complaints(CHANGE, same, same)) == ["index.html: tp8.tokens is still 1,368,448"]


def test_a_figure_that_no_page_shows_is_found() -> None:
    bare = {"index.html": Shown.of(parse("<p>1,368,448</p>"))}
    assert list(complaints(CHANGE, bare, bare)) == [
        "no page shows tp8.tokens: name another figure in CHANGES"
    ]


def test_changes_name_inputs_that_exist(tmp_path: Path) -> None:
    for change in CHANGES:
        target = tmp_path / CATALOG / change.file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / CATALOG / change.file).read_text(encoding="utf-8")
        target.write_text(text, encoding="utf-8")
        change.apply(tmp_path)
        assert json.loads(target.read_text(encoding="utf-8")) != json.loads(text)
