"""Tables in Markdown, safe for any text in their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


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
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
