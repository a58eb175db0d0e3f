"""Which ranks there are, and which of them form a group on each axis.

Rank numbers are counted in digits, DP x PP x PCP x TP, TP fastest. A group is the ranks that
agree on every digit but its own, so it is found by arithmetic whatever the size of the service.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import Axis, Layout

# The digits that vary inside a group, slowest first. TP has two, since DCP cuts runs out of it.
OWN_DIGITS: Final = {
    Axis.TP: ("tp_run", "tp_inner"),
    Axis.PP: ("pp",),
    Axis.DP: ("dp",),
    Axis.PCP: ("pcp",),
    Axis.EP: ("dp", "pcp", "tp_run", "tp_inner"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """A rank's number in the service and its coordinates.

    Source: vllm/distributed/parallel_state.py, initialize_model_parallel (v0.32.0)

    >>> rank = Rank.of(Layout(tp=2, pp=2, dp=2), 5)
    >>> rank.dp, rank.pp, rank.pcp, rank.tp
    (1, 0, 0, 1)
    """

    number: int
    dp: int
    pp: int
    pcp: int
    tp: int

    @classmethod
    def of(cls, layout: Layout, number: int) -> Rank:
        """The rank with this number, `0 <= number < layout.ranks`."""
        rest, tp = divmod(number, layout.tp)
        rest, pcp = divmod(rest, layout.pcp)
        dp, pp = divmod(rest, layout.pp)
        return cls(number=number, dp=dp, pp=pp, pcp=pcp, tp=tp)

    def expert_rank(self, layout: Layout) -> int:
        """Place in the EP group, which also numbers the slices of a cut expert.

        Source: vllm/model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig (v0.32.0)
        """
        return (self.dp * layout.pcp + self.pcp) * layout.tp + self.tp


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The ranks that talk to each other on one axis, in vLLM's order."""

    axis: Axis
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, layout: Layout, axis: Axis, number: int) -> Group:
        """The group of one rank.

        Source: vllm/distributed/parallel_state.py, initialize_model_parallel (v0.32.0)

        >>> Group.of(Layout(tp=2, pp=2, dp=2), Axis.EP, 4).ranks
        (0, 1, 4, 5)
        >>> Group.of(Layout(tp=4, pcp=2, dcp=8), Axis.DCP, 0).ranks
        (0, 4, 1, 5, 2, 6, 3, 7)
        """
        all_digits = digits(layout)
        own = [all_digits[name] for name in own_digits(layout, axis)]
        first = number - sum(number // stride % width * stride for stride, width in own)
        return cls(axis=axis, ranks=tuple(first + offset for offset in counted(own)))

    @property
    def width(self) -> int:
        """Ranks in the group."""
        return len(self.ranks)

    def leaves_node(self, cluster: Cluster) -> bool | None:
        """Whether members sit on more than one node; None if nodes are unknown."""
        if cluster.gpus_per_node is None:
            return None
        return len({cluster.node_of(rank) for rank in self.ranks}) > 1

    def busiest_node_members(self, cluster: Cluster) -> int | None:
        """Most members that share one node; None if nodes are unknown."""
        if cluster.gpus_per_node is None:
            return None
        return max(Counter(cluster.node_of(rank) for rank in self.ranks).values())


def all_groups(layout: Layout, axis: Axis) -> tuple[Group, ...]:
    """Every group of an axis, ordered by its first rank.

    >>> [group.ranks for group in all_groups(Layout(tp=2, pp=2), Axis.PP)]
    [(0, 2), (1, 3)]
    """
    return tuple(Group(axis=axis, ranks=ranks) for ranks in rank_lists(layout, axis))


def rank_lists(layout: Layout, axis: Axis) -> list[tuple[int, ...]]:
    """The ranks of every group of an axis.

    >>> rank_lists(Layout(tp=2, pp=2), Axis.TP)
    [(0, 1), (2, 3)]
    """
    all_digits = digits(layout)
    own = own_digits(layout, axis)
    offsets = counted([all_digits[name] for name in own])
    firsts = counted([digit for name, digit in all_digits.items() if name not in own])
    return [tuple([first + offset for offset in offsets]) for first in firsts]


def digits(layout: Layout) -> dict[str, tuple[int, int]]:
    """The digits of a rank number, slowest first: how far a step goes, and how many there are.

    >>> digits(Layout(tp=4, pp=2, dp=2, dcp=2))
    {'dp': (8, 2), 'pp': (4, 2), 'pcp': (4, 1), 'tp_run': (2, 2), 'tp_inner': (1, 2)}
    """
    run = layout.dcp if layout.pcp == 1 else 1
    return {
        "dp": (layout.world_size, layout.dp),
        "pp": (layout.tp * layout.pcp, layout.pp),
        "pcp": (layout.tp, layout.pcp),
        "tp_run": (run, layout.tp // run),
        "tp_inner": (1, run),
    }


def own_digits(layout: Layout, axis: Axis) -> tuple[str, ...]:
    """The digits that vary inside a group of an axis, slowest first.

    DCP runs inside TP. Beside PCP it is the PCP group, or all of TP x PCP with PCP fastest.
    """
    if axis is not Axis.DCP:
        return OWN_DIGITS[axis]
    if layout.pcp == 1:
        return ("tp_inner",)
    if layout.dcp == 1:
        return ()
    return ("pcp",) if layout.dcp == layout.pcp else ("tp_run", "tp_inner", "pcp")


def counted(own: list[tuple[int, int]]) -> list[int]:
    """Every number that these digits spell, slowest digit first.

    >>> counted([(4, 2), (1, 2)])
    [0, 1, 4, 5]
    """
    numbers = [0]
    for stride, width in own:
        numbers = [number + i * stride for number in numbers for i in range(width)]
    return numbers
