"""A built page as plain Markdown: words, tables and code; pictures by their descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from html_tree import Element

_DROPPED = frozenset({"script", "style", "button", "template"})
_SIGNS = frozenset(
    {"headerlink", "anchor-link", "clipboard-copy-txt", "foot", "md-content__button"}
)
_BLOCKS = frozenset(
    "article aside blockquote dd details div dl dt figcaption figure nav p section summary".split()
)
_AROUND = {"code": "`", "strong": "**", "em": "*"}
# Figures that are not merely computed, as on the page: leaning, or heavier.
_KINDS = {"assumed": "*", "measured": "**"}


def text(root: Element) -> str:
    r"""Markdown of an element.

    >>> from html_tree import parse
    >>> print(text(parse("<h2>A<a class='headerlink'>¶</a></h2><p>One\n<code>two</code></p>"
    ...                  "<table><tr><th>b</th><td>c</td></tr></table><ul><li>d</li></ul>")))
    ## A
    <BLANKLINE>
    One `two`
    <BLANKLINE>
    | b | c |
    |---|---|
    <BLANKLINE>
    - d
    <BLANKLINE>
    """
    lines = (line.rstrip() for line in "".join(_markdown(root)).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _markdown(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, str):
            yield re.sub(r"\s+", " ", child)
        elif child.tag not in _DROPPED and not _SIGNS & child.classes:
            yield _element(child)


def _element(element: Element) -> str:
    if "tabbed-set" in element.classes:
        return _tabs(element)
    if element.tag in _OWN:
        return _OWN[element.tag](element)
    inner = "".join(_markdown(element))
    sign = _sign(element)
    if sign and inner.strip():
        return f"{sign}{inner.strip()}{sign}"
    return f"\n\n{inner.strip()}\n\n" if element.tag in _BLOCKS else inner


def _tabs(element: Element) -> str:
    """Every tab below its name, which on the page stands in a row with the others.

    >>> from html_tree import parse
    >>> label, block = "<label>{}</label>".format, "<div class=tabbed-block>{}</div>".format
    >>> html = f"<div class=tabbed-set>{label('a')}{label('b')}{block(1)}{block(2)}</div>"
    >>> text(parse(html)).split()
    ['a:', '1', 'b:', '2']
    """
    names = [one for one in element.walk() if one.tag == "label"]
    blocks = [one for one in element.walk() if "tabbed-block" in one.classes]
    pairs = zip(names, blocks, strict=True)
    return "".join(f"\n\n{_line(name)}:\n\n{''.join(_markdown(block))}" for name, block in pairs)


def _heading(element: Element) -> str:
    return f"\n\n{'#' * int(element.tag[1])} {_line(element)}\n\n"


def _code(element: Element) -> str:
    return f"\n\n```\n{element.text().strip()}\n```\n\n"


def _list(element: Element) -> str:
    return f"\n{''.join(_markdown(element))}\n\n"


def _item(element: Element) -> str:
    return f"\n- {_line(element)}"


def _term(element: Element) -> str:
    return f"\n- {_line(element)}: "


def _sign(element: Element) -> str:
    """What stands on both sides of it."""
    kinds = (sign for kind, sign in _KINDS.items() if kind in element.classes)
    return _AROUND.get(element.tag) or next(kinds, "")


def _line(element: Element) -> str:
    return " ".join("".join(_markdown(element)).split())


def _table(element: Element) -> str:
    rows, captions = [], []
    for one in element.walk():
        if one.tag == "caption":
            captions.append(_line(one))
        if one.tag == "tr":
            cells = [cell for cell in one.children if isinstance(cell, Element)]
            rows.append([_cell(cell) for cell in cells])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if rows:
        lines.insert(1, f"|{'---|' * len(rows[0])}")
    return "\n".join(["\n", *lines, *(f"\n{caption}" for caption in captions), "\n"])


def _cell(cell: Element) -> str:
    inner, sign = _line(cell).replace("|", "\\|"), _sign(cell)
    return f"{sign}{inner}{sign}" if inner else ""


def _picture(element: Element) -> str:
    """What a picture shows, in the words it has for those who do not see it; nothing of an icon."""
    said = (" ".join(one.text().split()) for one in element.walk() if one.tag in {"title", "desc"})
    return f"\n\n{' '.join(said)}\n\n"


_OWN: Final[dict[str, Callable[[Element], str]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _heading),
    **dict.fromkeys(("ul", "ol"), _list),
    "pre": _code,
    "table": _table,
    "svg": _picture,
    "li": _item,
    "dt": _term,
    "dd": _line,
    "br": lambda _: "\n",
}
