"""A built page as a tree: as much of HTML as the checks need, from the standard library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Element:
    """One element with its attributes, its children and the text between them; equal to itself."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> frozenset[str]:
        """Names in its class attribute."""
        return frozenset(self.attributes.get("class", "").split())

    def walk(self, skip: frozenset[str] = frozenset()) -> Iterator[Element]:
        """The element and all below it in page order, but none of the tags in `skip`."""
        if self.tag in skip:
            return
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk(skip)

    def texts(self, skip: frozenset[str] = frozenset()) -> Iterator[str]:
        """The runs of text in it, an element's own before those below; not of tags in `skip`."""
        for element in self.walk(skip):
            yield from (child for child in element.children if isinstance(child, str))

    def text(self, skip: frozenset[str] = frozenset()) -> str:
        """All text in it as a reader meets it, that of tags in `skip` left out."""
        if self.tag in skip:
            return ""
        parts = (child if isinstance(child, str) else child.text(skip) for child in self.children)
        return "".join(parts)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element(tag="", attributes={})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag=tag, attributes={name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


@lru_cache(maxsize=256)
def parse(html: str) -> Element:
    """Root of a page's tree, to be read only: pages are asked for once written and at the end.

    >>> list(parse('<p>one <code>two</code></p>').texts(skip=frozenset({"code"})))
    ['one ']
    """
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root
