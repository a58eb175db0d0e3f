"""Tables in Markdown; a cell holds Markdown, a bar in it is no column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

BAR_OR_CODE: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """A Markdown table; columns numbered in `right` are set to the right.

    >>> print(table(("layout", "tokens"), [("tp8", "1,024")], right=(1,)))
    | layout | tokens |
    |---|---:|
    | tp8 | 1,024 |
    """
    rules = ["---:" if column in right else "---" for column in range(len(head))]
    lines = [_line(head), f"|{'|'.join(rules)}|", *(_line(row) for row in rows)]
    return "\n".join(lines)


def code(text: str) -> str:
    """Text as a code span, whatever backticks it holds; line breaks become spaces.

    >>> code("use `-tp 4`")
    '`` use `-tp 4` ``'
    """
    flat = " ".join(text.split("\n"))
    if "`" not in flat:
        return f"`{flat}`"
    longest = max(len(run) for run in re.findall("`+", flat))
    fence = "`" * (longest + 1)
    return f"{fence} {flat} {fence}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(text) for text in cells)} |"


def _cell(text: str) -> str:
    """The text on one line, its bars escaped; code spans take them as they are."""
    flat = " ".join(text.split("\n"))
    return BAR_OR_CODE.sub(lambda found: r"\|" if found[0] == "|" else found[0], flat)
