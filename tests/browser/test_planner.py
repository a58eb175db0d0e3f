"""The planner in a real browser: answers as here, the way to a command, configs of others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from scripts.chromium import SITE
from tests.browser.conftest import served
from tests.browser.look import PHONE, SCHEMES, WIDEST, violations, watch
from tests.browser.planner_page import ASK, DROP, FILL, LATE, PASTE, PYTHON_MS, QWEN, opened, said
from tests.browser.planner_questions import MODELS, batch_lines, forms
from vllm_parallel.engine.commands import find
from vllm_parallel.planned.answering import answered, batch
from vllm_parallel.review import Review

pytestmark = [pytest.mark.site, pytest.mark.browser]


SEED: Final = 8
BATCHED, FORMS = 400, 100


KINDS: Final = ("accepted", "config", "load", "memory", "error")


def test_the_browser_answers_byte_for_byte_as_here(planner: Page, python: None) -> None:
    random = Random(SEED)
    lines, asked = batch_lines(BATCHED, random), forms(FORMS, random)
    theirs = planner.evaluate(ASK, ["batch", lines])
    ours = [batch(line) for line in lines]
    for line, one, other in zip(lines, theirs, ours, strict=True):
        assert one == other, line
    for text, one in zip(asked, planner.evaluate(ASK, ["answered", asked]), strict=True):
        assert one == answered(text), text
    kinds = Counter(_kind(json.loads(line)) for line in ours)
    assert min(kinds[kind] for kind in ("accepted", "config", "load", "memory", "error")) >= 20, (
        kinds
    )


def _kind(answer: dict[str, dict[str, str | bool]]) -> str:
    if "error" in answer:
        return "error"
    verdict = answer["verdict"]
    return "accepted" if verdict["accepted"] else str(verdict["stage"])


def test_from_home_to_a_command_in_three_clicks(page: Page, host: str, python: None) -> None:
    """Pasting is typing; the link, the GPU and the button are the clicks."""
    watched = watch(page, host)
    page.set_default_timeout(PYTHON_MS)
    page.goto(f"{host}/", wait_until="load")
    page.click(".md-content a[href$='planner/']")
    page.wait_for_selector("#planner:not([hidden])")
    page.evaluate("text => navigator.clipboard.writeText(text)", QWEN)
    page.keyboard.press("Control+V")
    assert "Computed in this browser" in said(page)
    page.select_option("#planner-gpu", "h200")
    page.wait_for_function("document.querySelector('.ranking')?.closest('[inert]') === null")
    assert "Computed in this browser" in said(page)
    page.click(".copy")
    text = page.evaluate("navigator.clipboard.readText()")
    (command,) = find(text)
    review = Review.of(command, {"model": json.loads(QWEN), "gpu": "h200", "gpus_per_node": 8})
    assert review.passes, (text, review.answer())
    assert not watched.errors
    assert not watched.strangers


# What is pasted, and what the page says of it. Each is a sentence, and the next is answered.
HOSTILE: Final = {
    "cut": (QWEN[:-20], "the config is not JSON (line "),
    "a list": ("[1, 2]", "the config is [1, 2]; a config is one JSON object"),
    "deep": ("[" * 100_000, "the config is not JSON (it is nested more than 64 deep)"),
    "a large number": (
        QWEN.replace('"num_hidden_layers": 64', f'"num_hidden_layers": {10**400}'),
        "the given config has 'num_hidden_layers': 10000000",
    ),
    "more digits": (
        QWEN.replace('"num_hidden_layers": 64', f'"num_hidden_layers": {"9" * 5000}'),
        "the config is not JSON (a number has 5000 digits)",
    ),
    "NaN": (
        QWEN.replace('"num_hidden_layers": 64', '"num_hidden_layers": NaN'),
        "the given config has 'num_hidden_layers': NaN",
    ),
    "its own prototype": ('{"__proto__": {"hidden_size": 1}}', "the given config names no arch"),
    "markup": (
        '{"architectures": ["<img src=x onerror=document.title=1>"]}',
        "the given config is a '<img src=x onerror=document.title=1>'",
    ),
    "half a character": ('{"architectures": ["\\ud800"]}', r"the given config is a '\ud800'"),
    "no JSON": ("<h1>404</h1>", "the config is not JSON (line 1, column 1: a value is expected)"),
    "5 MB": ("x" * 5_000_000, "The config has 5,000,000 characters; a config.json has at most"),
    "1 MB of lists": (f"[{'[],' * 300_000}[]]", "the config is [[], [], "),
    "absurd sizes": (
        QWEN.replace('"num_hidden_layers": 64', '"num_hidden_layers": 4000000000'),
        "",
    ),
}


def test_configs_of_others_end_in_a_sentence(
    planner: Page, host: str, python: None, tmp_path: Path
) -> None:
    watched = watch(planner, host)
    for name, (text, says) in HOSTILE.items():
        planner.evaluate(FILL, text)
        found = said(planner)
        assert found.startswith(says), (name, found)
        assert found.strip(), name
        assert len(found) < 500, (name, found)
        assert "\n" not in found.strip(), (name, found)
    assert not planner.query_selector("#planner-said img, #planner-answer img")
    for change in (FILL, DROP):
        planner.evaluate(change, "[]")
        assert said(planner).startswith("the config is []")
        planner.evaluate(change, QWEN)
        assert "vLLM starts" in said(planner)
    file = tmp_path / "config.json"
    file.write_text("[1]")
    planner.set_input_files("[name=file]", files=file)
    planner.wait_for_function("document.querySelector('#planner-config').value === '[1]'")
    assert said(planner).startswith("the config is [1]")
    assert not watched.errors


def test_a_question_that_takes_too_long_is_ended(planner: Page, host: str, python: None) -> None:
    """The limit is cut short; the worker is ended, and the next question is answered by another."""
    asked = json.dumps({"model": "deepseek-r1", "gpu": "h200", "nodes": "8"})
    assert planner.evaluate(LATE, asked) == ["late", False, True]


STATES: Final = (
    "?model=deepseek-r1&gpu=h200&nodes=2",
    "?model=deepseek-r1&gpu=rtx-4090&gpus_per_node=1&goal=capacity",
    "?model=llama-3.1-70b&layout=tp4+dp2",
    "?nodes=x",
    "?model=nobody",
)


@pytest.mark.parametrize("query", STATES)
def test_each_state_of_the_page_is_clean(query: str, page: Page, host: str) -> None:
    """Ranked, all refused, another layout picked, no answer: axe, and the width of a phone."""
    opened(page, host, query)
    assert said(page)
    axe = Axe()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert not list(violations(page, axe)), scheme
    page.set_viewport_size({"width": PHONE, "height": 740})
    assert page.evaluate(WIDEST) is None


def test_a_site_in_a_folder_of_its_host(page: Page) -> None:
    """Addresses are relative to the scripts, not to the host."""
    with served(SITE.parent) as host:
        opened(page, f"{host}/{SITE.name}")
        assert "From the figures that the site was built with." in said(page)


@pytest.mark.parametrize(
    "field, typed", [("nodes", "0.5"), ("gpus_per_node", "0x4"), ("nodes", "1e0")]
)
def test_numbers_that_the_package_refuses_are_not_in_the_grid(
    field: str, typed: str, page: Page, host: str
) -> None:
    opened(page, host, f"?{field}={typed}")
    assert "From the figures" not in said(page)
    assert page.locator(".ranking").count() == 0


def test_what_is_pasted_beside_the_fields_and_is_no_config(planner: Page, host: str) -> None:
    before = said(planner)
    planner.evaluate(PASTE, "an address, say")
    assert said(planner).startswith("What was pasted is no config.json")
    assert planner.input_value("#planner-model") == "llama-3.1-70b"
    assert before.startswith("vLLM starts")


def test_what_does_not_arrive_is_said_in_a_sentence(page: Page, host: str) -> None:
    page.route("**/models/placements/*", lambda route: route.abort())
    opened(page, host)
    assert said(page).startswith("vLLM starts")
    assert page.locator(".command").count() == 1
    page.route("**/models/qwen3-32b.json", lambda route: route.abort())
    page.select_option("#planner-model", "qwen3-32b")
    page.wait_for_function("!document.querySelector('.ranking')")
    assert said(page).startswith("The figures of qwen3-32b did not arrive")


def test_a_python_that_does_not_load_is_said(page: Page, host: str, python: None) -> None:
    page.context.route("**/pyodide.mjs", lambda route: route.abort())
    opened(page, host)
    page.evaluate(PASTE, QWEN)
    assert said(page).startswith("Python did not load")


def test_a_layout_that_is_not_shown_is_named(page: Page, host: str) -> None:
    opened(page, host, "?layout=tp99")
    assert "tp99 is not among those shown" in said(page)


def test_all_of_it_by_keyboard(planner: Page, host: str) -> None:
    """From the first field with Tab, arrows and Enter to a copied command; focus is always seen."""
    planner.focus("#planner-model")
    planner.keyboard.type("qwen3-32b")
    reached = set()
    for _ in range(40):
        planner.keyboard.press("Tab")
        name = planner.evaluate("document.activeElement.name || document.activeElement.className")
        reached.add(name)
        if name == "gpu":
            planner.keyboard.type("H200")
        if name == "layout":
            planner.keyboard.press("ArrowDown")
            assert planner.evaluate("document.activeElement.checked")
        if "copy" in name:
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert planner.evaluate(outline) != "none"
            break
    fields = {"config", "file", "gpus_per_node", "nodes", "max_model_len", "concurrency", "goal"}
    assert fields <= reached, reached
    planner.keyboard.press("Enter")
    planner.wait_for_function("document.getElementById('planner-copied').textContent === 'Copied'")
    text = planner.evaluate("navigator.clipboard.readText()")
    assert text == planner.text_content(".command code")
    assert "qwen/qwen3-32b" in text.lower()


def test_what_is_not_in_the_grid_is_said(planner: Page, python: None) -> None:
    assert "From the figures that the site was built with." in said(planner)
    planner.fill("#planner-max_model_len", "16k")
    planner.wait_for_selector("#planner-said button")
    assert "not in the figures" in said(planner)
    planner.click("#planner-said button")
    planner.wait_for_selector(".ranking")
    assert "Computed in this browser" in said(planner)
    assert "--max-model-len 16000" in planner.inner_text(".command")


def test_without_javascript_the_catalog_stands_there(browser: Browser, host: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{host}/planner/", wait_until="load")
    assert page.is_hidden("#planner")
    rows = page.locator("table.figures tbody tr")
    models = sorted(path.stem for path in Path(MODELS).glob("*.json"))
    text = page.inner_text(".md-content")
    assert rows.count() >= len(models)
    assert all(model in text for model in models)
