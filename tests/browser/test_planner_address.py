"""The planner's address: it holds the question, and anyone may have written it."""

from __future__ import annotations

import base64
import json
import zlib
from random import Random

import pytest
from playwright.sync_api import Page

from tests.browser.look import watch
from tests.browser.planner_page import PASTE, QWEN, opened, said

pytestmark = [pytest.mark.site, pytest.mark.browser]


def fragment(config: bytes) -> str:
    """The address's end that holds a config, packed as the page packs it."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(config) + packer.flush()
    return f"#config={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def test_the_address_holds_the_question(planner: Page, host: str) -> None:
    planner.select_option("#planner-model", "deepseek-r1")
    planner.select_option("#planner-gpu", "h200")
    planner.fill("#planner-nodes", "2")
    planner.press("#planner-nodes", "Enter")
    before = said(planner)
    third = planner.locator(".ranking input").nth(2)
    third.check()
    command = planner.inner_text(".command")
    planner.wait_for_function("new URL(location).searchParams.has('layout')")
    other = planner.context.new_page()
    opened(other, host, planner.url.partition("/planner/")[2])
    assert said(other) == before
    assert other.inner_text(".command") == command
    assert other.locator(".ranking input").nth(2).is_checked()


def test_the_address_holds_a_config(planner: Page, host: str, python: None) -> None:
    planner.evaluate(PASTE, QWEN)
    before = said(planner)
    other = planner.context.new_page()
    opened(other, host, planner.url.partition("/planner/")[2])
    assert "13 MiB" in said(other) or "Compute it here" in said(other)
    assert other.input_value("#planner-config") == QWEN
    other.click("#planner-said button")
    other.wait_for_selector(".ranking")
    assert said(other) == before


def test_an_address_that_anyone_wrote(page: Page, host: str) -> None:
    watched = watch(page, host)
    unpacks = fragment(bytes(50 * 2**20))
    for query in (
        "?model=%3Cimg%3E", "?gpu=x&nodes=%3Cb%3E", "#config=AAAA", "?layout=tp%22", unpacks,
    ):  # fmt: skip
        opened(page, host, query)
        assert said(page), query
        page.goto("about:blank")
    assert not watched.errors


def test_the_address_is_read_after_going_back(planner: Page, host: str) -> None:
    planner.fill("#planner-nodes", "2")
    planner.press("#planner-nodes", "Enter")
    before = said(planner)
    planner.goto("about:blank")
    planner.go_back(wait_until="load")
    planner.wait_for_selector(".ranking")
    planner.select_option("#planner-gpu", "h200")
    other = said(planner)
    assert "nodes=2" in planner.url
    planner.reload(wait_until="load")
    planner.wait_for_selector(".ranking")
    assert said(planner) == other
    assert planner.input_value("#planner-nodes") == "2"
    assert other.partition(" layouts")[0].split()[-1] == before.partition(" layouts")[0].split()[-1]


@pytest.mark.parametrize("hash_", ["#config=AAAA", "#config=%21", "#config="])
def test_a_config_that_cannot_be_read_answers_nothing(hash_: str, page: Page, host: str) -> None:
    opened(page, host, hash_)
    assert "paste" in said(page)
    assert page.input_value("#planner-model") == ""
    assert page.locator(".ranking").count() == 0


def test_another_address_in_an_open_planner(planner: Page, host: str) -> None:
    said(planner)
    planner.evaluate("hash => { location.hash = hash }", fragment(QWEN.encode()))
    planner.wait_for_function("document.getElementById('planner-config').value !== ''")
    assert "Your config" in said(planner)
    assert planner.locator(".ranking").count() == 0
    planner.evaluate("location.hash = '#how-to-read-it'")
    planner.wait_for_function("location.hash.startsWith('#config=')")
    planner.evaluate("location.hash = '#config=AAAA'")
    planner.wait_for_function("document.getElementById('planner-config').value === ''")
    assert "cannot be read" in said(planner)


def test_a_config_too_long_for_an_address_leaves_no_other_question(
    planner: Page, host: str
) -> None:
    noise = "".join(Random(1).choices("0123456789abcdef", k=40_000))
    planner.fill("#planner-config", json.dumps({"noise": noise}))
    planner.wait_for_function("location.href.endsWith('#config=')")
    planner.reload(wait_until="load")
    planner.wait_for_selector("#planner:not([hidden])")
    assert "too long" in said(planner)
