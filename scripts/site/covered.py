"""Where each thing that the two source texts say stands on the site: `coverage.toml`.

An item names lines of a source, a page with an anchor, and a phrase or an inline figure that must
occur there in the built page. The build fails where one does not.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from html_tree import Element
from sections import Sections, content

FILE = Path("docs", "verification", "coverage.toml")
SOURCES = {"guide": "deployment-guide.txt", "chapter": "parallelism-chapter.txt"}
KINDS = frozenset("heading paragraph row command tip caveat reference list figure".split())

_KEYS = frozenset("id source lines kind says page".split())
_ID = re.compile(r"[a-z][a-z0-9-]*")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a source says, and where the site says it.

    Exactly one of `holds` and `figure` is not empty.
    """

    id: str
    source: str
    lines: tuple[int, ...]
    kind: str
    says: str
    page: str
    anchor: str
    holds: str
    figure: str

    @property
    def address(self) -> str:
        """Where it stands, below the root of the site.

        >>> list(items('''[[item]]
        ... id = "a"
        ... source = "guide"
        ... lines = "3-4"
        ... kind = "tip"
        ... says = "One."
        ... page = "guide/launch.md#two"
        ... holds = "one"'''))[0].address
        'guide/launch/#two'
        """
        path = self.page.removesuffix(".md").removesuffix("index").strip("/")
        return f"{path}/{f'#{self.anchor}' if self.anchor else ''}".removeprefix("/")


def items(text: str) -> tuple[Item, ...]:
    """Items of a file's text.

    Raises:
        ValueError: The text is no TOML, or an item is not as it should be; one line for each.
    """
    rows = tomllib.loads(text).get("item", [])
    found: list[Item] = []
    faults: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(_item(row))
        except ValueError as error:
            faults.append(f"item {number} ({row.get('id', 'without an id')}): {error}")
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            faults.append(f"item {one.id}: its id is given twice")
        seen.add(one.id)
    if faults:
        raise ValueError("\n".join(faults))
    return tuple(found)


def problems(given: Iterable[Item], pages: Mapping[str, Element]) -> Iterator[str]:
    """What is not where an item says. `pages` are the built ones by their path in `docs/`."""
    read: dict[str, Sections | None] = {}
    for one in given:
        if one.page not in read:
            root = content(pages[one.page]) if one.page in pages else None
            read[one.page] = None if root is None else Sections.of(root)
        text = _problem(one, read[one.page])
        if text:
            yield f"{one.id}: {text}"


def _problem(one: Item, sections: Sections | None) -> str:
    """What is wrong with an item on its page; empty if nothing is."""
    where = f"{one.page}#{one.anchor}" if one.anchor else one.page
    if sections is None:
        return f"there is no page {one.page}"
    section = sections.section(one.anchor)
    if section is None:
        return f"there is no anchor {where}"
    if one.holds and not section.holds(one.holds):
        return f"{one.holds!r} does not occur in {where}"
    if one.figure and one.figure not in section.figures:
        return f"there is no figure {one.figure} in {where}"
    return ""


def _item(row: dict[str, object]) -> Item:
    for name, value in row.items():
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name} is {value!r}, not a text")
    texts = {name: str(value) for name, value in row.items()}
    if not texts.keys() >= _KEYS:
        raise ValueError(f"lacks {', '.join(sorted(_KEYS - texts.keys()))}")
    if len(texts.keys() - _KEYS) != 1 or not texts.keys() - _KEYS <= {"holds", "figure"}:
        raise ValueError("needs exactly one of holds and figure, and no other key")
    if texts["source"] not in SOURCES:
        raise ValueError(f"source is {texts['source']!r}, none of {', '.join(SOURCES)}")
    if texts["kind"] not in KINDS:
        raise ValueError(f"kind is {texts['kind']!r}, none of {', '.join(sorted(KINDS))}")
    if _ID.fullmatch(texts["id"]) is None:
        raise ValueError("an id holds small letters, digits and hyphens")
    page, _, anchor = texts["page"].partition("#")
    return Item(
        id=texts["id"],
        source=texts["source"],
        lines=tuple(_lines(texts["lines"])),
        kind=texts["kind"],
        says=texts["says"],
        page=page,
        anchor=anchor,
        holds=texts.get("holds", ""),
        figure=texts.get("figure", ""),
    )


def _lines(text: str) -> Iterator[int]:
    """Line numbers of `88-92, 95`."""
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"lines is {text!r}, not like '88-92' or '88-92, 95'")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last:
            raise ValueError(f"lines is {text!r}, which runs backwards")
        yield from range(first, last + 1)
