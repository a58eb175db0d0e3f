"""What a page's Markdown must hold before it is rendered.

Markdown has no errors: a mistyped fence, admonition or snippet marker is shown as text, and the
example in it is never run. These checks refuse what cannot be told apart from such a slip.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fences import Fence, Line, Source
from written import code_problems, table_problems

_TYPES = "note abstract info tip success question warning failure danger bug example quote"
ADMONITIONS = frozenset(_TYPES.split())
LANGUAGES = frozenset("bash console diff ini json nginx pycon python text toml yaml".split())
RUN = frozenset({"python", "pycon"})
RUN_OPTIONS = frozenset("exec source html session id idprefix result title updatetoc".split())
SHOWN_OPTIONS = frozenset({"title", "hl_lines", "linenums"})
COMMANDS = frozenset({"bash", "console", "text"})
MARKS = frozenset({"model", "refused"})  # of commands, read by commands.py
VALUES = {
    "exec": frozenset({"on"}),
    "html": frozenset({"on", "true"}),
    "updatetoc": frozenset({"no"}),
    "result": LANGUAGES,
    "source": frozenset("above below tabbed-left tabbed-right material-block console".split()),
}

_HEADER = re.compile(r"^[ >]*(?:`{3,}|~{3,})[^\n]*", re.MULTILINE)
_REASON = re.compile(r' (?:why|model|refused)="[^"]*"')
_ADMONITION_LIKE = re.compile(r"\s*(?:!{2,}|\?{2,})")
_ADMONITION = re.compile(r'\s*(?:!!!|\?\?\?\+?) (?P<type>[a-z]+)(?: inline| end)*(?: "[^"]*")?\s*')
_TAB_LIKE = re.compile(r'\s*={2,}[!+]?\s*"')
_TAB = re.compile(r'\s*===[!+]? "[^"]+"\s*')
_SNIPPET_LIKE = re.compile(r'-+8<|8<-+|--\s+8\s*<|"snippets/[^"]*"\s*$')
_SNIPPET = re.compile(r'[ \t>]*--8<-- "[\w-][\w./-]*(?::[a-z][\w-]*)?"\s*')
_HEADING_VALUE = re.compile(r"#{1,6} .*\{=")

Found = Iterator[tuple[int, str]]


def problems(markdown: str, page: str) -> Found:
    """Line number and complaint of everything wrong on a page.

    `page` is its path in `docs/` without the suffix, the one session name it may use.
    """
    source = Source.of(markdown)
    for fence in source.fences:
        yield from _fence(fence, page)
    for line in source.prose:
        yield from _prose(line)
    yield from table_problems(source.prose)
    for number, text in enumerate(markdown.splitlines(), 1):
        if _SNIPPET_LIKE.search(text) and not _SNIPPET.fullmatch(text):
            yield number, f'{text.strip()!r} is not --8<-- "path" or --8<-- "path:section"'


def without_reasons(markdown: str) -> str:
    """The page without `why="…"` and its like: they are for who edits the page, not for its HTML.

    >>> without_reasons('```python why="needs a GPU"')
    '```python'
    """
    return _HEADER.sub(lambda header: _REASON.sub("", header[0]), markdown)


def _fence(fence: Fence, page: str) -> Found:
    if fence.language is None:
        yield fence.line, f'fence header {fence.header!r} is not: language key="value" …'
        return
    if fence.language not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        yield fence.line, f"fence language {fence.language!r} is not one of {known}"
    if not fence.closed:
        yield fence.line, "fence is never closed"
    if not any(line.strip() for line in fence.body):
        yield fence.line, "code block is empty"
    if fence.option("exec") is None:
        yield from _shown(fence)
        yield from code_problems(fence)
    else:
        yield from _run(fence, page)


def _shown(fence: Fence) -> Found:
    allowed = SHOWN_OPTIONS | ({"why"} if fence.language in RUN else frozenset())
    if fence.language in COMMANDS:
        allowed |= MARKS
    yield from _options(fence, allowed)
    if fence.language in RUN and not (fence.option("why") or "").strip():
        yield fence.line, f'{fence.language} block neither runs (exec="on") nor says why="…" not'


def _run(fence: Fence, page: str) -> Found:
    yield from _options(fence, RUN_OPTIONS)
    if fence.language not in RUN:
        yield fence.line, f"a {fence.language} block is never run by a page"
    if fence.option("session") not in {None, page}:
        yield fence.line, f'session must be "{page}": a page shares its names with no other'


def _options(fence: Fence, allowed: frozenset[str]) -> Found:
    for name, value in fence.options:
        if name not in allowed:
            yield fence.line, f"option {name!r} does not belong on this {fence.language} block"
        elif name in VALUES and value not in VALUES[name]:
            known = ", ".join(sorted(VALUES[name]))
            yield fence.line, f"option {name}={value!r} is not one of {known}"


def _prose(line: Line) -> Found:
    text = line.text.strip()
    if _ADMONITION_LIKE.match(line.text):
        match = _ADMONITION.fullmatch(line.text)
        if match is None:
            yield line.number, f'{text!r} is not: !!! type "title"'
        elif match["type"] not in ADMONITIONS:
            yield line.number, f"admonition type {match['type']!r} is unknown"
        elif not line.has_body:
            yield line.number, f"{text!r} has no body: indent it by four columns"
    if _TAB_LIKE.match(line.text):
        if _TAB.fullmatch(line.text) is None:
            yield line.number, f'{text!r} is not: === "title"'
        elif not line.has_body:
            yield line.number, f"{text!r} has no body: indent it by four columns"
    if _HEADING_VALUE.match(line.text):
        yield line.number, f"{text!r}: a value in a heading would move its anchor"
