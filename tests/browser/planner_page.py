"""The planner's page in a test: opened, asked, and what it says."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Page

from tests.browser.planner_questions import MODELS

QWEN: Final = (MODELS / "qwen3-32b.json").read_text("utf-8")


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
