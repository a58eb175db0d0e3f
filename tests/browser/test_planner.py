"""The planner in a real browser: answers as here, the way to a command, configs of others."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import NOT_RUN, SITE, served
from tests.browser.look import PHONE, SCHEMES, WIDEST, violations, watch
from tests.browser.planner_questions import MODELS, batch_lines, forms
from vllm_parallel.engine.commands import find
from vllm_parallel.planned.answering import answered, batch
from vllm_parallel.review import Review

pytestmark = [pytest.mark.site, pytest.mark.browser]

SEED: Final = 8
BATCHED, FORMS = 400, 100
QWEN: Final = (MODELS / "qwen3-32b.json").read_text("utf-8")
KINDS: Final = ("accepted", "config", "load", "memory", "error")
PYTHON_MS: Final = 120_000
# The page's own engine, begun apart from the form.
ENGINE: Final = """
  const { Engine } = await import("../assets/javascripts/planner-engine.js")
  const { python, archive } = document.getElementById("planner").dataset
  const [files, packed] = [python, archive].map(name => new URL(`../${name}`, location).href)
  const engine = window.engine ??= new Engine({ python: files, archive: packed })
"""
ASK: Final = f"""async ([ask, texts]) => {{ {ENGINE}
  const found = []
  for (const text of texts) found.push(await engine.ask(ask, text))
  return found
}}"""
LATE: Final = f"""async text => {{ {ENGINE}
  await engine.begin()
  const sent = engine.send({{ ask: "answered", text }}, 1, "late")
  const why = await sent.catch(error => error.message)
  return [why, engine.begun, (await engine.ask("batch", "[1]")).length > 0]
}}"""
PASTE: Final = """text => {
  const data = new DataTransfer()
  data.setData("text/plain", text)
  document.body.dispatchEvent(new ClipboardEvent("paste", {
    clipboardData: data, bubbles: true, cancelable: true }))
}"""
# Into the empty field for a config, where every text counts as one.
FILL: Final = """text => {
  const own = document.getElementById("planner-config")
  own.value = ""
  const data = new DataTransfer()
  data.setData("text/plain", text)
  own.dispatchEvent(new ClipboardEvent("paste", {
    clipboardData: data, bubbles: true, cancelable: true }))
}"""
DROP: Final = """text => {
  const data = new DataTransfer()
  data.items.add(new File([text], "config.json", { type: "application/json" }))
  const seen = new Promise(done => {
    document.getElementById("planner").addEventListener("answered", done, { once: true })
  })
  document.getElementById("planner").dispatchEvent(new DragEvent("drop", {
    dataTransfer: data, bubbles: true, cancelable: true }))
  return seen.then(() => {})
}"""


@pytest.fixture
def python() -> None:
    """Tests that need the site's own Python; without it they are said not to have run."""
    if not (SITE / "assets/pyodide/pyodide.asm.wasm").is_file():
        pytest.skip(f"{NOT_RUN}: this site has no Pyodide; make pyodide site")


@pytest.fixture
def planner(page: Page, host: str) -> Page:
    """The planner, opened, with its first answer."""
    return opened(page, host)


def opened(page: Page, host: str, query: str = "") -> Page:
    page.set_default_timeout(PYTHON_MS)
    page.goto(f"{host}/planner/{query}", wait_until="load")
    page.wait_for_selector("#planner:not([hidden])")
    page.wait_for_function("document.getElementById('planner-said').textContent !== ''")
    return page


def said(page: Page) -> str:
    """What the page says, once it no longer loads or computes."""
    page.wait_for_function(
        "!document.getElementById('planner-answer').inert"
        " && !document.getElementById('planner-said').textContent.startsWith('Loading')"
    )
    return page.inner_text("#planner-said")


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
        "the given config has 'num_hidden_layers': nan",
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


def test_an_address_that_anyone_wrote(page: Page, host: str) -> None:
    watched = watch(page, host)
    packer = zlib.compressobj(9, wbits=-15)
    bomb = packer.compress(bytes(50 * 2**20)) + packer.flush()
    unpacks = f"#config={base64.urlsafe_b64encode(bomb).decode().rstrip('=')}"
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


@pytest.mark.parametrize(
    "field, typed", [("nodes", "0.5"), ("gpus_per_node", "0x4"), ("nodes", "1e0")]
)
def test_numbers_that_the_package_refuses_are_not_in_the_grid(
    field: str, typed: str, page: Page, host: str
) -> None:
    opened(page, host, f"?{field}={typed}")
    assert "From the figures" not in said(page)
    assert page.locator(".ranking").count() == 0


@pytest.mark.parametrize("hash_", ["#config=AAAA", "#config=%21", "#config="])
def test_a_config_that_cannot_be_read_answers_nothing(hash_: str, page: Page, host: str) -> None:
    opened(page, host, hash_)
    assert "paste" in said(page)
    assert page.input_value("#planner-model") == ""
    assert page.locator(".ranking").count() == 0


def test_another_address_in_an_open_planner(planner: Page, host: str) -> None:
    said(planner)
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(QWEN.encode()) + packer.flush()
    config = f"#config={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
    planner.evaluate("hash => { location.hash = hash }", config)
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
