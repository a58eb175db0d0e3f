"""The groups of every layout in a grid, a card each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from vllm_parallel import Axis, Cluster, Layout, all_groups
from vllm_parallel.render.html import permalink
from vllm_parallel.render.numbers import ranks

MOST: Final = 16
WIDTHS: Final = (1, 2, 4, 8, 16)
NODE: Final = Cluster(gpus_per_node=8)


def grid() -> Iterator[Layout]:
    """Layouts of 2 to 16 ranks whose widths are powers of two, smallest first."""
    found = []
    for tp, pp, dp, pcp in product(WIDTHS, repeat=4):
        beside = Layout(tp=tp, pp=pp, dp=dp, pcp=pcp)
        if 1 < beside.ranks <= MOST:
            choices = [dcp for dcp in beside.dcp_choices if dcp in WIDTHS]
            found += [Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp) for dcp in choices]
    yield from sorted(found, key=lambda one: one.ranks)


def count() -> int:
    """How many layouts the grid has."""
    return len(list(grid()))


def ident(layout: Layout) -> str:
    """The anchor of a layout.

    >>> ident(Layout(tp=4, pp=2))
    'tp4-pp2'
    """
    return str(layout).replace(" ", "-")


def cards(width: int) -> str:
    """The layouts of so many ranks, each with its groups of more than one rank."""
    return "\n".join(_card(layout) for layout in grid() if layout.ranks == width)


def _card(layout: Layout) -> str:
    anchor = ident(layout)
    rows = "".join(_row(layout, axis) for axis in Axis)
    return (
        f'<div class="entry groups"><h3 id="{anchor}"><code>{layout}</code>'
        f"{permalink(anchor)}</h3>"
        f'<dl data-search-exclude="yes">{rows}</dl></div>'
    )


def _row(layout: Layout, axis: Axis) -> str:
    groups = all_groups(layout, axis)
    if groups[0].width == 1:
        return ""
    lists = "; ".join(ranks(group.ranks) for group in groups)
    leaving = sum(bool(group.leaves_node(NODE)) for group in groups)
    note = f" <small>({leaving} of {len(groups)} leave a node of 8)</small>" if leaving else ""
    return f"<dt>{axis.value}</dt><dd>{lists}{note}</dd>"
