"""What the two source texts say and where this site says it, as tables."""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import Final

from claims import TEXTS
from covered import FILE, Item, items
from vllm_parallel.render.html import Cell, computed, table

ROOT: Final = Path(__file__).resolve().parents[2]


def listed() -> tuple[Item, ...]:
    """Every item, in the order of the texts."""
    found = items((ROOT / FILE).read_text(encoding="utf-8"))
    return tuple(sorted(found, key=lambda one: (list(TEXTS).index(one.source), min(one.lines))))


def count() -> int:
    """How many items are listed."""
    return len(listed())


def counts() -> str:
    """How many items of each kind a text has."""
    found = Counter((one.source, one.kind) for one in listed())
    kinds = sorted({kind for _, kind in found})
    rows = [
        [Cell(kind), *(computed(str(found[source, kind])) for source in TEXTS)] for kind in kinds
    ]
    totals = [computed(str(sum(found[source, kind] for kind in kinds))) for source in TEXTS]
    rows.append([Cell("all"), *totals])
    caption = "Items of each text. The build fails where one is not on its page."
    return table(("", *TEXTS.values()), rows, caption=caption, totals=(len(rows) - 1,))


def places(source: str) -> str:
    """Every item of a text with its lines, and a link to where it stands."""
    rows = "\n".join(_row(one) for one in listed() if one.source == source)
    return (
        '<div class="table-box"><table class="places"><thead><tr><th>lines</th><th>kind</th>'
        f"<th>what it says</th><th>where</th></tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(one: Item) -> str:
    runs = [line for line in one.lines if line - 1 not in one.lines]
    ends = [line for line in one.lines if line + 1 not in one.lines]
    lines = ", ".join(
        str(first) if first == last else f"{first}–{last}"
        for first, last in zip(runs, ends, strict=True)
    )
    address = one.address.partition("#")[0].rstrip("/") or "home"
    return (
        f'<tr id="{one.id}"><td>{lines}</td><td>{one.kind}</td><td>{escape(one.says)}</td>'
        f'<td><a href="../../{escape(one.address)}">{escape(address)}</a></td></tr>'
    )
