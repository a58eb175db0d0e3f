"""A real Chromium, and the built site served on this machine alone: `make test-site`.

The browser is `CHROMIUM`, or the first found on the path; the site is `site/`, or `SITE`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from scripts.chromium import SITE, chromium
from tests.browser.planner_page import opened

ROOT: Final = Path(__file__).parents[2]
WHOLE: Final = "print/index.html"
MODELS: Final = 3  # of which every page is looked at
# All other hosts are unreachable, and a test says so where a page asks for one.
NOT_RUN: Final = "NOT RUN"
ALONE: Final = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Say nothing of requests."""

    def send_error(self, code: int, *args: object, **kwargs: object) -> None:
        """Answer as a host of pages does: with the site's own error page, at any address."""
        page = Path(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code)
            return
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.read_bytes())


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder served on this machine."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def addresses() -> list[str]:
    """Every page of the built site, the error page too; not the one that is all the others.

    Of the models' pages, which are alike, a few.
    """
    paths = (path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html")))
    found = [path.removesuffix("index.html") for path in paths if path != WHOLE]
    models = [path for path in found if path.startswith("models/") and path != "models/"]
    looked_at = models[:: max(1, len(models) // MODELS)]
    return [path for path in found if path not in models or path in looked_at]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "address" in metafunc.fixturenames:
        metafunc.parametrize("address", addresses() or ["no site: run make site first"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say aloud which tests the site did not allow; a skip is easily overlooked."""
    skipped = terminalreporter.stats.get("skipped", [])
    said = [str(report.longrepr[-1]) for report in skipped if isinstance(report.longrepr, tuple)]
    missing = [text for text in said if NOT_RUN in text]
    if missing:
        text = missing[0].removeprefix("Skipped: ")
        terminalreporter.write_line(f"{len(missing)} TESTS OF THE PLANNER WERE {text}", red=True)


@pytest.fixture(scope="session")
def host() -> Iterator[str]:
    assert (SITE / "build-complete").is_file(), f"no whole site at {SITE}: run make site"
    with served(SITE) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    assert path, "no Chromium on the path: install it, or name it, CHROMIUM=/path make test-site"
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", ALONE]
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


@pytest.fixture
def python() -> None:
    """Tests that need the site's own Python; without it they are said not to have run."""
    if not (SITE / "assets/pyodide/pyodide.asm.wasm").is_file():
        pytest.skip(f"{NOT_RUN}: this site has no Pyodide; make pyodide site")


@pytest.fixture
def planner(page: Page, host: str) -> Page:
    """The planner, opened, with its first answer."""
    return opened(page, host)
