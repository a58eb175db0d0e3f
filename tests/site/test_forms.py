"""The other forms of the site: tables as JSON, texts for models, one page, a feed, moved pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

import changelog
import data_tables
from html_checks import identifiers
from html_tree import parse
from tests.site.builder import Builder
from tests.site.faults import append, refused
from tests.site.test_reference import LISTS

pytestmark = pytest.mark.site

ADDRESS: Final = "https://example.org/under/here/"
MOVED: Final = "scripts/site/moved.toml"
PRINT: Final = "# All of it\n\n<div class='whole'></div>\n".replace("'", '"')


@pytest.mark.parametrize("table", data_tables.TABLES, ids=lambda table: table.name)
def test_a_table_has_the_rows_of_its_page(table: data_tables.Table) -> None:
    read = json.loads(table.text())
    assert list(read) == ["table", "says", "vllm", "fields", "rows"]
    assert all(list(row) == list(read["fields"]) for row in read["rows"])
    anchors = [row["address"].partition("#")[2] for row in read["rows"]]
    walked = LISTS.get(table.page.removesuffix(".md"))
    if walked is not None:
        assert sorted(anchors) == sorted(walked())
    assert len(anchors) > 4


def test_a_row_with_another_field_is_refused() -> None:
    table = data_tables.Table(
        name="odd",
        page="odd.md",
        says="Odd",
        rows=lambda: iter([{"name": "a", "more": 1, "address": "a/"}]),
        fields={"name": "the name"},
    )
    with pytest.raises(ValueError, match=r"data/odd\.json: a row has"):
        table.text()


def test_every_address_of_a_table_is_on_the_site(real_site: Path) -> None:
    known: dict[str, set[str]] = {}
    listed = json.loads((real_site / "data/index.json").read_text("utf-8"))["tables"]
    assert [one["table"] for one in listed] == [table.name for table in data_tables.TABLES]
    for one in listed:
        for row in json.loads((real_site / one["file"]).read_text("utf-8"))["rows"]:
            page, _, anchor = row["address"].partition("#")
            if page not in known:
                root = parse((real_site / page / "index.html").read_text("utf-8"))
                known[page] = set(identifiers(root))
            assert anchor in known[page], row["address"]


def test_every_page_is_a_part_of_the_whole(real_site: Path) -> None:
    whole = (real_site / "print/index.html").read_text("utf-8")
    home = parse((real_site / "index.html").read_text("utf-8"))
    links = [one.attributes["href"] for one in home.walk() if "md-nav__link" in one.classes
             and one.tag == "a"]  # fmt: skip
    pages = {link for link in links if link.endswith("/") and not link.startswith(".")}
    assert len(pages) > 40
    for page in pages:
        assert f'<section id="page-{page.strip("/").replace("/", "-")}">' in whole, page
    assert "print/" not in (real_site / "search/search_index.json").read_text("utf-8")


def test_forms_of_the_small_site(mini: Path, builder: Builder) -> None:
    (mini / "docs/print.md").write_text(f"---\nsearch: {{exclude: true}}\n---\n{PRINT}", "utf-8")
    append("mkdocs.yml", f"site_url: {ADDRESS}\n")(mini)
    append("docs/index.md", "\n## Here\n\n[There](guide/estimate.md), [here](#here).\n")(mini)
    built = builder.build(mini, mini.with_name("site"))
    assert built.code == 0, built.output
    whole = built.page("print/index.html")
    assert '<h3 id="page-home--here">Here</h3>' in whole
    assert '<a href="#page-guide-estimate">There</a>, <a href="#page-home--here">here</a>' in whole
    first, second = (
        whole.index(f'<section id="{one}">') for one in ("page-home", "page-guide-estimate")
    )
    assert first < second
    assert f"{ADDRESS}guide/estimate/" in built.page("sitemap.xml")
    assert "print" not in built.page("sitemap.xml")
    assert 'content="noindex"' in whole
    assert "All of it" not in built.page("search/search_index.json")
    assert f"]({ADDRESS}guide/estimate/): " in built.page("llms.txt")
    assert "There, here." in built.page("llms-full.txt")
    error = built.page("404.html")
    assert 'action="/under/here/"' in error
    assert '<a href="#not-found" class="md-skip">' in error


def test_a_page_that_has_moved_leads_on(mini: Path, builder: Builder) -> None:
    append(MOVED, '"old/deep/" = "guide/estimate/"\n"older/" = "#tiny"\n')(mini)
    append("docs/index.md", '\n<p id="tiny">A place.</p>\n')(mini)
    built = builder.build(mini, mini.with_name("site"))
    assert built.code == 0, built.output
    page = built.page("old/deep/index.html")
    assert '<a href="../../guide/estimate/">' in page
    assert '<link rel="canonical" href="../../guide/estimate/">' in page
    assert 'content="0; url=../../guide/estimate/"' in page
    assert '<a href="../#tiny">' in built.page("older/index.html")


def test_a_move_to_nowhere_is_refused(mini: Path, builder: Builder) -> None:
    append(MOVED, '"old/" = "gone/"\n"older/" = "guide/estimate/#gone"\n')(mini)
    built = builder.build(mini, mini.with_name("site"))
    refused(
        built, 1, "old/index.html: dead link in <a>: '../gone/'", "older/index.html: dead anchor"
    )


LOG: Final = "# Changelog\n\n## Unreleased\n\n- C < D.\n\n## 0.2.0 - 2026-12-02\n\n- B & b.\n"
OLD: Final = "\n## 0.1.0 - 2026-12-01\n\n- A.\n"
ATOM: Final = "{http://www.w3.org/2005/Atom}"


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_the_feed_has_the_released_versions(address: str) -> None:
    versions = changelog.versions(LOG + OLD)
    assert [one.anchor for one in versions] == ["unreleased", "v0-2-0", "v0-1-0"]
    feed = changelog.feed(versions, title="Here & there", address=address)
    root = ET.fromstring(feed)
    assert root.findtext(f"{ATOM}title") == "Here & there: changes"
    assert root.findtext(f"{ATOM}updated") == "2026-12-02T00:00:00Z"
    entries = root.findall(f"{ATOM}entry")
    assert [one.findtext(f"{ATOM}title") for one in entries] == ["0.2.0", "0.1.0"]
    assert "<li>B &amp; b.</li>" in (entries[0].findtext(f"{ATOM}content") or "")
    links = [one.attrib["href"] for one in root.iter(f"{ATOM}link")]
    assert f"{address}about/changes/#v0-1-0" in links
    assert (f"{address}feed.xml" in links) == bool(address)
    identities = [one.text for one in root.iter(f"{ATOM}id")]
    assert len(set(identities)) == len(identities) == 3


@pytest.mark.parametrize(
    "edit, says",
    [
        (lambda text: text.replace("2026-12-02", "2026-11-01"), "the newest comes first"),
        (lambda text: text.replace("2026-12-02", "2026-13-02"), "month must be in 1..12"),
        (lambda text: text.replace("0.2.0 - ", "0.2 - "), "is not like '1.2.3 - 2026-12-01'"),
        (lambda text: text.replace("- A.", ""), "'0.1.0 - 2026-12-01' has no changes"),
        (lambda text: text.partition("## 0.2.0")[0], "needs a released version"),
    ],
)
def test_a_changelog_is_refused(edit: Callable[[str], str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        changelog.versions(edit(LOG + OLD))
