"""Ways to read the site: by keyboard, from a folder, on paper, from an address that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page

from scripts.chromium import SITE
from scripts.offline import archive, offline
from tests.browser.conftest import WHOLE, served
from tests.browser.look import DESK, PHONE, WIDEST, watch
from tests.site.builder import build_server, copy_mini
from tests.site.faults import append

pytestmark = [pytest.mark.site, pytest.mark.browser]

ROWS: Final = (  # a page of rows, and one of them
    ("reference/constraints/", "heads-divide-by-tp"),
    ("reference/flags/", "serve-tensor-parallel-size"),
    ("reference/metrics/", "metric-num-preemptions-total"),
    ("reference/log-lines/", "line-model-loading"),
)
FOCUS: Final = "document.activeElement"
LEADS: Final = """() => [...document.querySelectorAll(".whole-contents a")]
  .map(one => document.querySelector(one.hash)?.matches("section"))"""
# Told apart without colour: how each kind of figure is set.
KINDS: Final = """() => ["computed", "assumed", "measured"].map(kind => {
  const style = getComputedStyle(document.querySelector(`p > data.${kind}`))
  return [style.fontStyle, Number(style.fontWeight)]
})"""
REGIONS: Final = (".md-skip", ".md-header", ".md-sidebar--primary", ".md-content", ".md-footer")
REGION: Final = f"regions => regions.findIndex(one => {FOCUS}.closest(one))"


@pytest.mark.parametrize("place, anchor", ROWS, ids=[place for place, _ in ROWS])
def test_address_of_a_row_is_copied_by_keyboard(
    place: str, anchor: str, page: Page, host: str
) -> None:
    page.goto(f"{host}/{place}", wait_until="load")
    rows = page.locator(".md-content :is(.rule, .option) .headerlink")
    buttons = page.locator(".md-content .copy-link")
    assert rows.count() == buttons.count() > 50
    button = page.locator(f'[id="{anchor}"] .copy-link')
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".md-dialog--active[role=status]")
    assert page.evaluate("navigator.clipboard.readText()") == f"{host}/{place}#{anchor}"
    assert button.evaluate(f"one => one === {FOCUS}"), "the focus stays where it was"
    name = button.get_attribute("aria-label") or ""
    assert name.startswith("Copy link to ")
    assert len(name) > len("Copy link to ")
    page.emulate_media(media="print")
    assert not button.is_visible()


def test_without_scripts_the_address_is_a_plain_link(browser: Browser, host: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{host}/reference/metrics/", wait_until="load")
    assert page.locator(".copy-link").count() == 0
    page.locator("#metric-num-preemptions-total .headerlink").click()
    assert page.url.endswith("#metric-num-preemptions-total")
    context.close()


@pytest.mark.parametrize("place", ["", "reference/hardware/", "about/changes/", "gone/"])
def test_tab_goes_through_the_page_in_order(place: str, page: Page, host: str) -> None:
    page.set_viewport_size({"width": DESK, "height": 900})
    page.goto(f"{host}/{place}", wait_until="load")
    page.keyboard.press("Tab")
    skip = page.locator(".md-skip")
    assert skip.evaluate(f"one => one === {FOCUS}")
    page.wait_for_function("getComputedStyle(document.querySelector('.md-skip')).opacity === '1'")
    met = [0]
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(f"{FOCUS} === document.body"):
            break
        met.append(page.evaluate(REGION, list(REGIONS)))
    inside = [one for one in met if one >= 0]
    assert inside == sorted(inside), "the order of the page"
    assert {REGIONS[one] for one in inside} >= {".md-skip", ".md-header", ".md-content"}


def test_skipping_leads_past_the_header(page: Page, host: str) -> None:
    page.goto(f"{host}/", wait_until="load")
    for key in ("Tab", "Enter", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate(f"!!{FOCUS}.closest('.md-content')")


def found_from_nowhere(page: Page, host: str, address: str) -> str:
    """Where the first hit is, for a search from the page that says that nothing is here."""
    answer = page.goto(f"{host}/{address}", wait_until="load")
    assert answer is not None
    assert answer.status == 404
    field = page.locator(".not-found input")
    assert field.input_value() == "decode contxt"
    field.fill("preemption")
    field.press("Enter")
    first = page.wait_for_selector(".md-search-result__item a", timeout=60_000)
    assert first is not None
    found: str = first.evaluate("one => one.pathname")
    return found


def test_an_address_that_is_none_leads_to_a_search(page: Page, host: str) -> None:
    watched = watch(page, host)
    assert found_from_nowhere(page, host, "a/b/decode-contxt/").startswith("/")
    errors = [text for text in watched.errors if "404" not in text]
    assert (errors, watched.strangers) == ([], [])


def test_so_does_one_below_the_folder_of_the_site(page: Page, tmp_path: Path) -> None:
    mini = tmp_path / "mini"
    copy_mini(mini)
    append("mkdocs.yml", "site_url: https://example.org/under/here/\n")(mini)
    append("docs/guide/estimate.md", "\nA preemption.\n")(mini)
    (tmp_path / "root" / "under").mkdir(parents=True)
    with build_server() as builder:
        built = builder.build(mini, tmp_path / "root" / "under" / "here")
    assert built.code == 0, built.output
    (tmp_path / "root" / "404.html").write_text(built.page("404.html"), encoding="utf-8")
    with served(tmp_path / "root") as host:
        found = found_from_nowhere(page, host, "under/here/a/decode-contxt")
    assert found == "/under/here/guide/estimate/"


def test_the_site_opens_from_a_folder(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    offline(SITE, folder)
    watched = watch(page, folder.as_uri())
    page.goto((folder / "index.html").as_uri(), wait_until="load")
    page.locator(".md-content a[href^='guide/launch/']").first.click()
    assert page.url.startswith((folder / "guide/launch/index.html").as_uri())
    page.click(".md-search__input")
    page.fill(".md-search__input", "--decode-context-parallel-size")
    wanted = (folder / "reference/flags/index.html").as_uri()
    hit = page.locator(f".md-search-result__item a[href^='{wanted}']").first
    hit.wait_for(state="attached", timeout=60_000)
    hit.evaluate("one => one.click()")
    page.wait_for_url(f"{wanted}*")
    page.goto((folder / "planner/index.html").as_uri(), wait_until="load")
    assert page.locator("#planner-static").is_visible()
    assert "a site that a server sends" in page.locator("#planner-static").inner_text()
    assert not page.locator("#planner").is_visible()
    assert (watched.errors, watched.strangers) == ([], [])


def test_no_link_of_the_folder_opens_a_list_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    offline(SITE, folder)
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        assert 'href=".."' not in text, path
        assert 'href="./"' not in text, path
    archive(folder, tmp_path / "one.zip")
    archive(folder, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_the_whole_on_one_page(page: Page, host: str) -> None:
    watched = watch(page, host)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": PHONE, "height": 740})
    page.goto(f"{host}/{WHOLE.removesuffix('index.html')}", wait_until="load")
    assert page.evaluate(WIDEST) is None
    assert (watched.errors, watched.strangers) == ([], [])
    found = page.evaluate(LEADS)
    assert len(found) > 40
    assert all(found), "each line of the contents leads to a part"
    page.emulate_media(media="print", color_scheme="dark")
    ink, paper = page.evaluate(
        "['color', 'backgroundColor'].map(name => getComputedStyle(document.body)[name])"
    )
    assert page.evaluate(KINDS) == [["normal", 400], ["italic", 400], ["normal", 600]]
    assert light(ink) < 100 < 200 < light(paper), "dark on white, whatever the screen shows"


def light(colour: str) -> int:
    """The middle of the three parts of `rgb(1, 2, 3)`, 255 where it is transparent."""
    parts = [int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    return 255 if colour.startswith("rgba") and colour.endswith(" 0)") else sorted(parts)[1]
