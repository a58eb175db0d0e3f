"""The sections of a built page: what stands under a heading, or in an element with an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from html_tree import Element

_LEVELS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset("br dd div dt h1 h2 h3 h4 h5 h6 li p td th tr".split())
UNSEEN = frozenset({"script", "style", "template"})


def folded(text: str) -> str:
    """A text in small letters, its spaces folded.

    >>> folded(" Two  Pools ")
    'two pools'
    """
    return " ".join(text.split()).casefold()


def content(root: Element) -> Element | None:
    """What a page says, without the frame around it, or None."""
    return next((e for e in root.walk() if "md-content__inner" in e.classes), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The words of a section in page order, folded, and the names of its inline figures."""

    text: str
    figures: frozenset[str]

    def holds(self, phrase: str) -> bool:
        """Whether a phrase occurs in it, whatever its case and spaces."""
        return folded(phrase) in self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """A page laid flat: its elements and texts in page order, and where each id begins and ends."""

    pieces: Sequence[Element | str]
    extents: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, root: Element) -> Sections:
        """Sections below an element.

        >>> from html_tree import parse
        >>> page = parse("<h2 id=a>A</h2><p>one</p><h3>B</h3><p>two</p><h2>C</h2><p>three</p>")
        >>> Sections.of(page).section("a").text
        'a one b two'
        """
        flat = _Flat()
        flat.add(root)
        return cls(pieces=flat.pieces, extents=flat.extents)

    def section(self, anchor: str) -> Section | None:
        """What stands under an anchor, or None where it is missing; the page without an anchor.

        A heading's section ends at the next one of its level or above.
        """
        if not anchor:
            return self._section(0, len(self.pieces))
        if anchor not in self.extents:
            return None
        start, end = self.extents[anchor]
        head = self.pieces[start]
        level = _LEVELS.get(head.tag) if isinstance(head, Element) else None
        return self._section(start, end if level is None else self._next(start + 1, level))

    def _next(self, start: int, level: int) -> int:
        """Where the next heading of a level or above stands; the page's end if there is none."""
        for at in range(start, len(self.pieces)):
            piece = self.pieces[at]
            if isinstance(piece, Element) and _LEVELS.get(piece.tag, 9) <= level:
                return at
        return len(self.pieces)

    def _section(self, start: int, end: int) -> Section:
        pieces = self.pieces[start:end]
        names = (e.attributes.get("data-name") for e in pieces if isinstance(e, Element))
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        return Section(text=folded(text), figures=frozenset(name for name in names if name))


@dataclass(slots=True)
class _Flat:
    """A page being laid flat."""

    pieces: list[Element | str] = field(default_factory=list)
    extents: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, element: Element) -> None:
        if element.tag in UNSEEN:
            return
        start = len(self.pieces)
        self.pieces.append(element)
        for child in element.children:
            if isinstance(child, str):
                self.pieces.append(child)
            else:
                self.add(child)
        if element.tag in _BLOCKS:
            self.pieces.append(" ")
        if "id" in element.attributes:
            self.extents[element.attributes["id"]] = (start, len(self.pieces))
