"""Tables for a terminal, aligned with spaces."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: int = 2) -> str:
    """Rows in aligned columns; columns numbered in `right` are set to the right.

    >>> print(table([("weights", "16.43 GiB"), ("buffers", "0.03 GiB")], right=(1,)))
      weights  16.43 GiB
      buffers   0.03 GiB
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(" " * indent + "  ".join(cells).rstrip())
    return "\n".join(lines)
