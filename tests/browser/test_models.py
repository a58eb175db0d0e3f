"""The pages of models: all of them at a glance, and the index as a reader sorts and filters it."""

from __future__ import annotations

import json
from typing import Final

import pytest
from playwright.sync_api import Page

from scripts.chromium import SITE
from tests.browser.look import PHONE, WIDEST, watch
from vllm_parallel import load_model, model_names

pytestmark = [pytest.mark.site, pytest.mark.browser]

ROWS: Final = "table.models tr[data-family]"


def names(page: Page) -> list[str]:
    """The models that are shown, in their order."""
    texts: list[str] = page.eval_on_selector_all(
        f"{ROWS}:not([hidden])", "rows => rows.map(row => row.querySelector('a').textContent)"
    )
    return texts


@pytest.mark.parametrize("share", range(2))
def test_every_model_page_at_a_glance(share: int, page: Page, host: str) -> None:
    """The heavy look is for a few; here the console, strangers and the width of a phone."""
    watched = watch(page, host)
    page.set_viewport_size({"width": PHONE, "height": 740})
    for name in model_names()[share::2]:
        page.goto(f"{host}/models/{name}/", wait_until="load")
        assert page.evaluate(WIDEST) is None, name
        assert page.locator("h1").inner_text().startswith("Which GPUs hold ")
        assert not watched.errors, name
        assert not watched.strangers, name


def test_the_index_sorts(page: Page, host: str) -> None:
    page.goto(f"{host}/models/", wait_until="load")
    by_family = names(page)
    assert sorted(by_family) == model_names()
    head = page.get_by_role("columnheader", name="longest request", exact=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    rising = [load_model(name).context.max_model_len for name in names(page)]
    assert rising == sorted(rising)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = [load_model(name).context.max_model_len for name in names(page)]
    assert falling == sorted(rising, reverse=True)
    head.get_by_role("button").click()
    assert names(page) == by_family


def test_what_is_not_modelled_sorts_last_both_ways(page: Page, host: str) -> None:
    page.goto(f"{host}/models/", wait_until="load")
    head = page.get_by_role("columnheader", name="MI300X", exact=True)
    for _ in range(2):
        head.get_by_role("button").click()
        texts = page.eval_on_selector_all(
            f"{ROWS} td:nth-child(6)", "cells => cells.map(cell => cell.textContent)"
        )
        missing = texts.count("not modelled")
        assert missing
        assert set(texts[-missing:]) == {"not modelled"}


def test_where_it_fits_needs_no_scroll_on_a_desk(page: Page, host: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    for name in ("gpt-oss-120b", "llama-3.1-8b"):
        page.goto(f"{host}/models/{name}/", wait_until="load")
        over = page.eval_on_selector("table.fits", "one => one.scrollWidth - one.clientWidth")
        assert over <= 0, name


def test_the_index_filters(page: Page, host: str) -> None:
    page.goto(f"{host}/models/", wait_until="load")
    told = page.locator(".models-filter output")
    assert told.inner_text() == f"{len(model_names())} of {len(model_names())} models"
    page.get_by_label("Kind").select_option("quantised")
    wanted = {name for name in model_names() if load_model(name).quantisation is not None}
    assert set(names(page)) == wanted
    page.get_by_label("Kind").select_option("")
    page.get_by_label("×").select_option("rtx-4090")
    page.get_by_label("Starts on").select_option("1")
    fitting = set()
    for name in model_names():
        grid = json.loads((SITE / "models" / f"{name}.json").read_text("utf-8"))
        fitting |= {name} if grid["cells"]["rtx-4090"]["1"].get("found") else set()
    assert set(names(page)) == fitting
    page.get_by_label("Name").fill("QWEN")
    assert set(names(page)) == {name for name in fitting if name.startswith("qwen")}
    families = page.locator("table.models tr.group:not([hidden])").all_inner_texts()
    assert [text.strip() for text in families] == ["Qwen"]


def test_without_scripts_the_index_is_a_table(page: Page, host: str) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]  # a page has one
    plain = context.new_page()
    plain.goto(f"{host}/models/", wait_until="load")
    assert plain.locator(ROWS).count() == len(model_names())
    assert plain.locator("table.models caption").is_visible()
    assert plain.locator(".models-filter").count() == 0
    context.close()
