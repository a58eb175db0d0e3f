"""How long the planner of `site/` takes in Chromium: a catalog question, a config of one's own.

Run by `make bench`. The median of 20, from the change in the form until the answer is drawn.
"""

from __future__ import annotations

import functools
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

from scripts.chromium import SITE, chromium
from vllm_parallel.catalog import model_names

ROOT: Final = Path(__file__).parents[1]
MODELS: Final = ROOT / "src" / "vllm_parallel" / "catalog" / "models"
ROUNDS: Final = 20
CATALOG_MS: Final = 100
OWN_MS: Final = 1000
LOAD_MS: Final = 180_000
# Milliseconds until the answer to a change is on the screen.
TIMED: Final = """change => new Promise(done => {
  const form = document.getElementById("planner")
  const start = performance.now()
  form.addEventListener("answered", () => requestAnimationFrame(() => setTimeout(() => {
    const shown = document.querySelector(".ranking, .refusals")
    done(shown ? performance.now() - start : document.getElementById("planner-said").textContent)
  })), { once: true })
  if (change.model) {
    form.elements.model.value = change.model
    form.elements.model.dispatchEvent(new Event("input", { bubbles: true }))
  } else {
    const data = new DataTransfer()
    data.setData("text/plain", change.config)
    document.body.dispatchEvent(new ClipboardEvent("paste", {
      clipboardData: data, bubbles: true, cancelable: true }))
  }
})"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Say nothing of requests."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder served on this machine."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def milliseconds(page: Page, change: dict[str, str]) -> float:
    """One round.

    Raises:
        RuntimeError: the page answers with a sentence in place of an answer.
    """
    found = page.evaluate(TIMED, change)
    if isinstance(found, str):
        raise RuntimeError(f"the planner says: {found}")
    return float(found)


def line(name: str, times: list[float], limit: int) -> None:
    median = statistics.median(times)
    met = "met" if median <= limit else "NOT MET"
    print(f"{name:<44} {median:>7.0f} ms   at most {limit:<5} ms {met}")


def main() -> None:
    path = chromium()
    if path is None:
        print("THE PLANNER WAS NOT TIMED: no Chromium on the path.")
        return
    if not (SITE / "planner" / "index.html").is_file():
        print("THE PLANNER WAS NOT TIMED: no built site; make site.")
        return
    models = model_names()[::3][:ROUNDS]
    with served(SITE) as host, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(LOAD_MS)
        page.goto(f"{host}/planner/")
        page.wait_for_selector(".ranking")
        times = [milliseconds(page, {"model": model}) for model in models]
        line("planner: a catalog question, median of 20", times, CATALOG_MS)
        if (SITE / "assets" / "pyodide").is_dir():
            configs = [(MODELS / f"{model}.json").read_text("utf-8") for model in models]
            milliseconds(page, {"config": configs[0]})  # loads Python
            times = [milliseconds(page, {"config": config}) for config in configs]
            line("planner: an own config, median of 20", times, OWN_MS)
        else:
            print("AN OWN CONFIG WAS NOT TIMED: the site was built without Pyodide.")
        browser.close()


if __name__ == "__main__":
    main()
