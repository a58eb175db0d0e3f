"""How heavy a page may be, and how long one of the guide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from html_tree import Element
from sections import content

PAGE_BYTES = 400_000
GUIDE_WORDS = 900

_GUIDE = "guide/"
# Pages that may be heavier: a notebook brings its own styles, and one page is all the others.
_HEAVY = ("notebooks/", "print.md")
_UNCOUNTED = frozenset("table pre svg script style template".split())
# What a page says of itself, and cards: the rows of a generated table, set so that they wrap.
_ASIDE = frozenset("facts foot headerlink option rule symptom".split())
_WORD = re.compile(r"\S*\w\S*")


def words(root: Element) -> int:
    """Words of a built page outside tables, blocks of code and drawings, its foot left out.

    >>> from html_tree import parse
    >>> words(parse('<div class="md-content__inner">One <code>two</code>.<pre>3</pre></div>'))
    2
    """
    said = content(root)
    return 0 if said is None else len(_WORD.findall(_text(said)))


def problems(page: str, root: Element, size: int) -> Iterator[str]:
    """What is too much on a page, by its path in `docs/`, its tree and its bytes."""
    if size > PAGE_BYTES and not page.startswith(_HEAVY):
        yield f"{size:,} bytes are more than the {PAGE_BYTES:,} of a page: split it"
    if page.startswith(_GUIDE) and words(root) > GUIDE_WORDS:
        count = words(root)
        yield f"{count} words are more than the {GUIDE_WORDS} of a guide page: cut, or use a table"


def _text(element: Element) -> str:
    if element.tag in _UNCOUNTED or _ASIDE & element.classes:
        return " "
    parts = (child if isinstance(child, str) else _text(child) for child in element.children)
    between = "" if element.tag in {"a", "code", "data", "em", "strong", "span"} else " "
    return f"{between}{''.join(parts)}{between}"
