"""The versions in `CHANGELOG.md`: as a page, and as a feed for readers of news.

A version is a heading `## 1.2.3 - 2026-12-01` and the Markdown under it. `## Unreleased` may stand
before the first; the page shows it, the feed does not.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

import markdown

FILE: Final = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
PAGE: Final = "about/changes/"
# Names entries wherever the site is published, so that no reader of news shows one twice.
SPACE: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "vllm-parallel")
_HEADING = re.compile(r"(?P<name>\d+\.\d+\.\d+) - (?P<date>\d{4}-\d\d-\d\d)|(?P<open>Unreleased)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version: its name, its day, None until it is released, and its changes in Markdown."""

    name: str
    day: dt.date | None
    changes: str

    @property
    def anchor(self) -> str:
        """Where the page has it.

        >>> Version(name="0.1.0", day=dt.date(2026, 12, 1), changes="").anchor
        'v0-1-0'
        """
        return f"v{self.name.replace('.', '-')}" if self.day else "unreleased"

    @property
    def updated(self) -> str:
        """The day as a feed writes it."""
        return f"{self.day}T00:00:00Z"


def versions(text: str) -> tuple[Version, ...]:
    r"""The versions of a file's text, newest first.

    Raises:
        ValueError: a heading that is none, no version, no changes, or days out of order.

    >>> [one.anchor for one in versions("## 0.1.0 - 2026-12-01\n- A.")]
    ['v0-1-0']
    """
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    found = tuple(map(_version, parts))
    days = [one.day for one in found if one.day]
    if not days or days != sorted(days, reverse=True):
        raise ValueError("CHANGELOG.md: needs a released version, and the newest comes first")
    return found


def page() -> str:
    """The versions as Markdown with anchors."""
    return "\n\n".join(_section(one) for one in versions(FILE.read_text("utf-8")))


def feed(given: Sequence[Version], *, title: str, address: str) -> str:
    """The released versions as an Atom feed.

    `address` is where the site is published, empty if nobody knows: links then are relative.
    """
    released = [one for one in given if one.day]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>urn:uuid:{SPACE}</id>",
        f"<title>{escape(title)}: changes</title>",
        f"<author><name>{escape(title)}</name></author>",
        f"<updated>{released[0].updated}</updated>",
        f'<link href="{address}{PAGE}"/>',
    ]
    if address:
        lines.append(f'<link rel="self" href="{address}feed.xml"/>')
    for one in released:
        lines += _entry(one, address)
    return "\n".join([*lines, "</feed>", ""])


def _version(part: str) -> Version:
    heading, _, changes = part.partition("\n")
    match = _HEADING.fullmatch(heading.strip())
    if match is None:
        raise ValueError(f"CHANGELOG.md: {heading!r} is not like '1.2.3 - 2026-12-01'")
    if not changes.strip() and not match["open"]:
        raise ValueError(f"CHANGELOG.md: {heading!r} has no changes")
    day = dt.date.fromisoformat(match["date"]) if match["date"] else None
    return Version(name=match["name"] or match["open"], day=day, changes=changes.strip())


def _section(one: Version) -> str:
    day = f"<time>{one.day}</time>\n\n" if one.day else ""
    return f"## {one.name} {{#{one.anchor}}}\n\n{day}{one.changes}"


def _entry(one: Version, address: str) -> Iterator[str]:
    yield "<entry>"
    yield f"<id>urn:uuid:{uuid.uuid5(SPACE, one.name)}</id>"
    yield f"<title>{one.name}</title>"
    yield f"<updated>{one.updated}</updated>"
    yield f'<link href="{address}{PAGE}#{one.anchor}"/>'
    yield f'<content type="html">{escape(markdown.markdown(one.changes))}</content>'
    yield "</entry>"
