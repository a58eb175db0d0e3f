"""Every page in a real browser, and that each check finds the fault it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import served
from tests.browser.look import complaints

pytestmark = [pytest.mark.site, pytest.mark.browser]


def test_page(address: str, page: Page, host: str) -> None:
    found = list(complaints(page, address, host))
    assert not found, "\n".join(found)


PALE: Final = "p { color: #333; background: #222 }"
FAULTS: Final = (
    ("<script>console.error('so it is')</script>", "console: so it is"),
    ("<script>gone()</script>", "console: gone is not defined"),
    ('<script src="gone.js"></script>', "console: Failed to load resource"),
    ('<img src="https://cdn.example.org/a.png" alt="a">', "asks another host: https://cdn"),
    ('<div style="width: 400px">wide</div>', "scrolls sideways at 360 px, 4"),
    ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "light: image-alt (1)"),
    ('<p style="color: #ccc; background: #fff">pale</p>', "light: color-contrast (1)"),
    (
        f"<style>@media (prefers-color-scheme: dark) {{ {PALE} }}</style><p>dark</p>",
        "dark: color-contrast (1)",
    ),
    ("<details><summary>Answer</summary><a href='#'></a></details>", "light: link-name (1)"),
)


@pytest.mark.parametrize("body, says", FAULTS, ids=[says for _, says in FAULTS])
def test_fault_is_found(body: str, says: str, page: Page, tmp_path: Path) -> None:
    html = f'<!doctype html><html lang="en"><title>t</title><main class="md-content">{body}</main>'
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    (tmp_path / "favicon.ico").touch()
    with served(tmp_path) as host:
        found = list(complaints(page, "", host))
    assert any(text.startswith(says) for text in found), found
