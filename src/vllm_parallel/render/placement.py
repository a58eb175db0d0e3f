"""Rank-placement diagrams: which node holds each rank, and its group on each axis."""

from __future__ import annotations

from typing import Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ranks import Rank, all_groups
from vllm_parallel.render.numbers import counted
from vllm_parallel.render.numbers import ranks as rank_run
from vllm_parallel.render.svg import Picture, element

CELL: Final = 50
ROW: Final = 30
HEAD: Final = 46
LABEL: Final = 38
GAP: Final = 26
MARGIN: Final = 8
COLOURS: Final = 8
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES: Final = {
    Axis.TP: "tensor",
    Axis.PP: "pipeline",
    Axis.DP: "data",
    Axis.PCP: "prefill-context",
    Axis.DCP: "decode-context",
    Axis.EP: "expert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A layout on nodes, to be drawn. `moe` says whether engines and experts form groups."""

    layout: Layout
    cluster: Cluster
    moe: bool = False

    @property
    def axes(self) -> list[Axis]:
        """The axes with groups of more than one rank."""
        axes = [axis for axis in Axis if self.moe or axis not in (Axis.DP, Axis.EP)]
        return [axis for axis in axes if all_groups(self.layout, axis)[0].width > 1]

    def seats(self, axis: Axis) -> dict[int, tuple[int, int]]:
        """Group number and place in the group of each rank."""
        groups = enumerate(all_groups(self.layout, axis))
        return {rank: (n, i) for n, group in groups for i, rank in enumerate(group.ranks)}

    def description(self) -> str:
        """Every group in words.

        >>> Placement(layout=Layout(tp=2, pp=2), cluster=Cluster()).description()
        'tensor groups: 0, 1; 2, 3. pipeline groups: 0, 2; 1, 3.'
        """
        sentences = []
        for axis in self.axes:
            groups = "; ".join(rank_run(group.ranks) for group in all_groups(self.layout, axis))
            sentences.append(f"{NAMES[axis]} groups: {groups}.")
        return " ".join(sentences) or "Every rank is alone."


def diagram(placement: Placement, ident: str) -> str:
    """The picture of a placement: a band a node, a column a rank, a row an axis.

    >>> text = diagram(Placement(layout=Layout(tp=2), cluster=Cluster(gpus_per_node=8)), "tp2")
    >>> text.startswith('<svg class="rp-diagram" role="img" aria-labelledby="tp2-t tp2-d"')
    True
    """
    layout, per_node = placement.layout, placement.cluster.gpus_per_node or placement.layout.ranks
    axes = placement.axes
    height = HEAD + ROW * len(axes) + GAP
    bands = [
        range(first, min(first + per_node, layout.ranks))
        for first in range(0, layout.ranks, per_node)
    ]
    parts = [part for n, band in enumerate(bands) for part in _band(placement, band, n * height)]
    columns = max(len(band) for band in bands)
    picture = Picture(
        ident=ident,
        title=f"{layout}: {counted(layout.ranks, 'rank')} on {counted(len(bands), 'node')}",
        desc=placement.description(),
        width=LABEL + columns * CELL + MARGIN,
        height=height * len(bands),
    )
    return picture.drawn(parts)


def _band(placement: Placement, band: range, top: int) -> list[str]:
    """One node: its name, its ranks, and a row of groups for each axis."""
    axes = placement.axes
    width, height = len(band) * CELL, HEAD + ROW * len(axes)
    node = placement.cluster.node_of(band[0])
    name = f"node {node}" if node is not None else "ranks"
    parts = [
        element(
            "rect", x=LABEL, y=top + 16, width=width, height=height - 16, rx=4, class_="rp-node"
        ),
        element("text", name, x=LABEL, y=top + 11, class_="rp-label"),
    ]
    parts += [_rank(placement, number, _x(band, number), top + 16) for number in band]
    for row, axis in enumerate(axes):
        y = top + HEAD + row * ROW
        parts.append(element("text", axis.value, x=LABEL - 8, y=y + 20, class_="rp-axis"))
        seats = placement.seats(axis)
        alone = max(group for group, _ in seats.values()) == 0
        parts += [_seat(seats[number], _x(band, number), y, alone=alone) for number in band]
    return parts


def _x(band: range, number: int) -> int:
    return LABEL + (number - band[0]) * CELL


def _rank(placement: Placement, number: int, x: int, y: int) -> str:
    rank = Rank.of(placement.layout, number)
    layout = placement.layout
    digits = {
        "d": (layout.dp, rank.dp),
        "p": (layout.pp, rank.pp),
        "c": (layout.pcp, rank.pcp),
        "t": (layout.tp, rank.tp),
    }
    place = " ".join(f"{name}{at}" for name, (width, at) in digits.items() if width > 1)
    return element("text", str(number), x=x + CELL // 2, y=y + 14, class_="rp-rank") + element(
        "text", place, x=x + CELL // 2, y=y + 26, class_="rp-place"
    )


def _seat(seat: tuple[int, int], x: int, y: int, *, alone: bool) -> str:
    """A rank's group by colour and letter, and its place in it by number."""
    group, place = seat
    letter = LETTERS[group] if group < len(LETTERS) else str(group)
    text = str(place) if alone else f"{letter}{place}"
    cell = element(
        "rect", x=x + 2, y=y + 2, width=CELL - 4, height=ROW - 4, rx=3,
        class_=f"rp-cell rp-g{group % COLOURS}",
    )  # fmt: skip
    return cell + element("text", text, x=x + CELL // 2, y=y + 20, class_="rp-seat")
