"""Slips in a page's Markdown that are no slips to Markdown: ragged tables, code that is none."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence

from fences import Fence, Line

SPAN = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
_SPAN = re.compile(SPAN)
_CELL = re.compile(r"(?<!\\)\|")
_LEFT_OUT = re.compile(r"…|--8<--")
_READERS: Mapping[str, Callable[[str], object]] = {
    "json": json.loads,
    "python": ast.parse,
    "toml": tomllib.loads,
}


def table_problems(prose: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Rows with more or fewer cells than the head of their table: cells would be lost, or empty.

    >>> lines = ("| a | b |", "|---|---|", "| `x|y` |")
    >>> list(table_problems([Line(number=n, text=t, has_body=False) for n, t in enumerate(lines)]))
    [(2, 'a row of 1 cells in a table of 2')]
    """
    head, last = 0, -2
    for line in prose:
        if not line.text.lstrip().startswith("|"):
            continue
        count = _cells(line.text)
        if line.number != last + 1:
            head = count
        elif count != head:
            yield line.number, f"a row of {count} cells in a table of {head}"
        last = line.number


def code_problems(fence: Fence) -> Iterator[tuple[int, str]]:
    """What a reader copies and his tools refuse; a block that leaves something out is not read."""
    text = "\n".join(fence.body)
    reader = _READERS.get(fence.language or "")
    if reader is None or not text.strip() or _LEFT_OUT.search(text):
        return
    try:
        reader(text)
    except (SyntaxError, ValueError) as error:
        said = str(error).partition(" (<")[0]
        yield fence.line, f"what it shows is no {fence.language}: {said}"


def _cells(row: str) -> int:
    inner = _SPAN.sub("", row.strip()).removeprefix("|").removesuffix("|")
    return len(_CELL.findall(inner)) + 1
