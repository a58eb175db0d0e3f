"""What a built page must hold: complaints about one page's HTML, or about one style sheet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from html_tree import Element
from links import ASSETS, is_external, references
from sections import content

_CODE = frozenset({"code", "pre", "kbd", "samp"})
_NOT_PROSE = _CODE | {"script", "style", "svg", "textarea", "template"}
_COPIED = "clipboard-copy-txt"  # a notebook cell's code once more, hidden, for its button
_POINTERS = ("aria-labelledby", "aria-describedby", "aria-controls", "for")
_LEAKS = {
    "snippet marker": re.compile(r"-+8<|8<-+"),
    "fence": re.compile(r"```|~~~"),
    "link": re.compile(r"\]\(|\]\["),
    "reference or footnote": re.compile(r"(?<!\w)\[\^?[A-Za-z][\w .`-]*\]"),
    "admonition": re.compile(r"^\s*(?:!!!?|\?\?\?)", re.MULTILINE),
    "tab": re.compile(r'^\s*={2,}[!+]?\s*["“]', re.MULTILINE),
    "value": re.compile(r"\{=|=\}"),
    "attribute list": re.compile(r"\{:?\s*[.#][A-Za-z]"),
    "emphasis": re.compile(r"\*\*"),
    "table": re.compile(r"\|\s*:?-{3,}"),
    "icon": re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:"),
}
_CSS_EXTERNAL = re.compile(
    r"""(?:url\(|["'])\s*(?P<target>(?:https?:)?//[^\s"')]+)""", re.IGNORECASE
)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_REFRESH = re.compile(r"url\s*=\s*['\"]?\s*(?P<target>(?:https?:)?//\S+)", re.IGNORECASE)
_SCRIPT_EXTERNAL = re.compile(r"""["'`](?P<target>(?:https?:)?//[\w.-]+[^"'`\s]*)""")
_NAMES = "http://www.w3.org/"
_COUNTED = re.compile(r"exec-\d+--")  # by markdown-exec


@lru_cache(maxsize=256)
def page_problems(root: Element) -> tuple[str, ...]:
    """Everything wrong within one page."""
    return tuple(_problems(root))


def _problems(root: Element) -> Iterator[str]:
    yield from _identifiers(root)
    yield from external_assets(root)
    yield from _images(root)
    yield from _empty(root)
    yield from _title(root)
    for element in root.walk(_NOT_PROSE):
        if _COPIED not in element.classes:
            for text in element.children:
                yield from _leaks(text) if isinstance(text, str) else ()


def style_problems(css: str) -> Iterator[str]:
    """External addresses in a style sheet or a style attribute.

    >>> list(style_problems("a { background: url('//cdn.test/a.png') }"))
    ['external asset in CSS: //cdn.test/a.png']
    """
    for match in _CSS_EXTERNAL.finditer(_CSS_COMMENT.sub("", css)):
        if not match["target"].startswith(_NAMES):
            yield f"external asset in CSS: {match['target']}"


def script_problems(script: str) -> Iterator[str]:
    """External addresses in a script of the site's own; the names of XML's languages are none.

    >>> list(script_problems('fetch("https://cdn.test/a.json")'))
    ['external address in a script: https://cdn.test/a.json']
    """
    for match in _SCRIPT_EXTERNAL.finditer(script):
        if not match["target"].startswith(_NAMES):
            yield f"external address in a script: {match['target']}"


def external_assets(root: Element) -> Iterator[str]:
    """What a page or a drawing would fetch from another host."""
    for reference in references(root):
        if reference.tag in ASSETS and is_external(reference.target):
            yield f"external asset in <{reference.tag}>: {reference.target}"
    for element in root.walk():
        yield from style_problems(element.attributes.get("style", ""))
        if element.tag == "style":
            yield from style_problems("".join(element.texts()))
        elif element.tag == "script":
            yield from script_problems("".join(element.texts()))
        elif element.tag == "meta":
            for match in _REFRESH.finditer(element.attributes.get("content", "")):
                yield f"external asset in <meta>: {match['target']}"


def identifiers(root: Element) -> Iterator[str]:
    """Names that an anchor or a pointer on this page can mean, in page order."""
    for element in root.walk():
        if "id" in element.attributes:
            yield element.attributes["id"]


def _identifiers(root: Element) -> Iterator[str]:
    counts = Counter(identifiers(root))
    yield from (f"duplicate id: {name!r}" for name, count in counts.items() if count > 1)
    for name in filter(_COUNTED.match, counts):
        yield f'id {name!r} counts the examples of all pages: give its block idprefix=""'
    for element in root.walk():
        for attribute in _POINTERS:
            for name in element.attributes.get(attribute, "").split():
                if name not in counts:
                    yield f"{attribute} of <{element.tag}> points at no id: {name!r}"


def _images(root: Element) -> Iterator[str]:
    for element in root.walk():
        if element.tag == "img" and not element.attributes.get("alt", "").strip():
            yield f"image without alt text: {element.attributes.get('src', '')}"


def _title(root: Element) -> Iterator[str]:
    """A page has one title; a search result and a reader's tab show it."""
    said = content(root)
    titles = [] if said is None else [one for one in said.walk() if one.tag == "h1"]
    if said is not None and len(titles) != 1:
        yield f"a page has one title, and here are {len(titles)}"


def _empty(root: Element) -> Iterator[str]:
    printed = _printed_by_cells(root)
    for element in root.walk():
        if element.tag != "pre" or id(element) in printed:
            pass
        elif not "".join(element.texts()).strip():
            yield "empty code block"
        if "admonition" in element.classes or element.tag == "details":
            yield from _bodiless(element)


def _printed_by_cells(root: Element) -> set[int]:
    """Blocks that a notebook's cells printed: a slow kernel sends a blank line by itself."""
    outputs = [one for one in root.walk() if "jp-OutputArea-output" in one.classes]
    return {id(below) for one in outputs for below in one.walk()}


def _bodiless(element: Element) -> Iterator[str]:
    children = [child for child in element.children if isinstance(child, Element)]
    titles = [child for child in children if _is_title(child)]
    body = [child for child in children if not _is_title(child)]
    if not any(text.strip() or _shows(child) for child in body for text in (*child.texts(), "")):
        title = " ".join("".join(text for child in titles for text in child.texts()).split())
        yield f"admonition without a body: {title!r}"


def _is_title(element: Element) -> bool:
    return element.tag == "summary" or "admonition-title" in element.classes


def _shows(element: Element) -> bool:
    return any(below.tag in {"img", "svg"} for below in element.walk())


def _leaks(text: str) -> Iterator[str]:
    for kind, pattern in _LEAKS.items():
        match = pattern.search(text)
        if match:
            around = text[max(match.start() - 20, 0) : match.end() + 20]
            yield f"leaked {kind} markup: {' '.join(around.split())!r}"
