"""Tags of a page that are left open or close nothing: a browser mends them, each in its own way."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

from html_tree import VOID

# What may be closed by what follows it.
_CLOSED_BY_OTHERS = frozenset(
    "body colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr".split()
)
# What ends a paragraph that is open, so that its own end tag then closes nothing.
_ENDS_PARAGRAPHS = frozenset(
    "address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hr main nav ol p pre section table ul".split()
)


class Form(NamedTuple):
    """Every tag that does not match, with its line, and the names that anchors can mean."""

    problems: list[str]
    identifiers: list[str]

    @classmethod
    def of(cls, html: str) -> Form:
        """The form of a page's content.

        >>> Form.of('<div id="a"><b>bold</div>')
        Form(problems=['<b> in line 1 is not closed before </div>'], identifiers=['a'])
        >>> Form.of("<p>one<p>two</em>").problems
        ['</em> in line 1 closes nothing']
        >>> Form.of("<p><div>one</div></p>").problems
        ['</p> in line 1 closes nothing']
        """
        reader = _Reader()
        reader.feed(html)
        reader.close()
        left = (f"<{tag}> in line {line} is never closed" for tag, line in reader.left())
        return cls([*reader.found, *left], reader.identifiers)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.identifiers: list[str] = []
        self._open: list[tuple[str, int]] = []

    def left(self) -> list[tuple[str, int]]:
        """Tags that are still open and must not be, with their lines."""
        return [one for one in self._open if one[0] not in _CLOSED_BY_OTHERS]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._name(attrs)
        if tag in _ENDS_PARAGRAPHS and self._open and self._open[-1][0] == "p":
            self._open.pop()
        if tag not in VOID:
            self._open.append((tag, self.getpos()[0]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """In SVG it stands for itself; in HTML it is one that cannot hold anything."""
        self._name(attrs)

    def _name(self, attrs: list[tuple[str, str | None]]) -> None:
        self.identifiers += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        line = self.getpos()[0]
        for depth in range(len(self._open) - 1, -1, -1):
            if self._open[depth][0] == tag:
                above = self._open[depth + 1 :]
                del self._open[depth:]
                self.found += [
                    f"<{name}> in line {at} is not closed before </{tag}>"
                    for name, at in above
                    if name not in _CLOSED_BY_OTHERS
                ]
                return
        if tag not in VOID:
            self.found.append(f"</{tag}> in line {line} closes nothing")
