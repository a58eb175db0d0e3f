"""What a real browser says of a page: its console, its requests, its width, and axe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request

PHONE: Final = 360
DESK: Final = 1280
SCHEMES: Final = ("light", "dark")
GRAVE: Final = frozenset({"serious", "critical"})
CONTENT: Final = ".md-content"
OPEN: Final = "document.querySelectorAll('details').forEach(one => one.open = true)"
WIDEST: Final = """() => {
  const room = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= room) return null
  const wide = [...document.querySelectorAll('.md-content *')]
    .filter(one => one.getBoundingClientRect().right > room + 1)
    .map(one => one.tagName.toLowerCase() + '.' + (one.getAttribute('class') || ''))
  return `${document.documentElement.scrollWidth} px: ${wide.slice(0, 3).join(', ')}`
}"""


@dataclass(kw_only=True)  # playwright hangs its own marks on the methods of a listener
class Watch:
    """What a page's console and its requests said since it was opened."""

    host: str
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def said(self, message: ConsoleMessage) -> None:
        """Note an error or a warning."""
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)

    def asked(self, request: Request) -> None:
        """Note a request to another host."""
        if not request.url.startswith((self.host, "data:", "blob:")):
            self.strangers.append(request.url)


def watch(page: Page, host: str) -> Watch:
    """Begin to listen."""
    watched = Watch(host=host)
    page.on("console", watched.said)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", watched.asked)
    return watched


def complaints(page: Page, address: str, host: str) -> Iterator[str]:
    """Everything wrong with one page, at a desk and on a phone, in light and dark."""
    watched = watch(page, host)
    page.set_viewport_size({"width": DESK, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(f"{host}/{address}", wait_until="load")
    page.evaluate(OPEN)
    axe = Axe()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        yield from (f"{scheme}: {text}" for text in violations(page, axe))
    page.set_viewport_size({"width": PHONE, "height": 740})
    wide = page.evaluate(WIDEST)
    if wide:
        yield f"scrolls sideways at {PHONE} px, {wide}"
    yield from (f"console: {text}" for text in watched.errors)
    yield from (f"asks another host: {url}" for url in watched.strangers)


def violations(page: Page, axe: Axe) -> Iterator[str]:
    """What axe finds grave in a page's content as it stands."""
    found = axe.run(page, CONTENT, {"resultTypes": ["violations"]}).response["violations"]
    for violation in found:
        if violation["impact"] in GRAVE:
            nodes = violation["nodes"]
            where = "; ".join(node["html"][:160] for node in nodes[:3])
            yield f"{violation['id']} ({len(nodes)}): {where}"
