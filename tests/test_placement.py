"""Groups on nodes, against ranks that are placed one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from vllm_parallel.cluster import Cluster
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ranks import Group, all_groups


def placed(ranks: int, gpus_per_node: int) -> list[int]:
    """Node of each rank: fill a node, then open the next."""
    nodes: list[int] = []
    node, taken = 0, 0
    for _ in range(ranks):
        if taken == gpus_per_node:
            node, taken = node + 1, 0
        nodes.append(node)
        taken += 1
    return nodes


def widths() -> Iterator[Layout]:
    for tp, pcp, pp, dp in product((1, 2, 4, 8), (1, 2, 4), (1, 2), (1, 2)):
        runs = [n for n in range(1, tp + 1) if tp % n == 0] if pcp == 1 else [1, pcp, tp * pcp]
        for dcp in sorted(set(runs)):
            yield Layout(tp=tp, pcp=pcp, pp=pp, dp=dp, dcp=dcp)


def cases() -> Iterator[tuple[int, Layout]]:
    for gpus_per_node, layout in product((4, 8), widths()):
        yield gpus_per_node, layout
    for layout in widths():
        if layout.tp == 4:
            yield 6, layout


def is_uneven(group: Group) -> bool:
    """Whether the steps from member to member differ."""
    return len({b - a for a, b in zip(group.ranks, group.ranks[1:], strict=False)}) > 1


def test_every_group_of_every_layout() -> None:
    uneven, straddling = set(), set()
    for gpus_per_node, layout in cases():
        cluster = Cluster(gpus_per_node=gpus_per_node)
        nodes = placed(layout.ranks, gpus_per_node)
        assert [cluster.node_of(rank) for rank in range(layout.ranks)] == nodes
        for axis in Axis:
            for group in all_groups(layout, axis):
                homes = [nodes[rank] for rank in group.ranks]
                leaves = any(home != homes[0] for home in homes)
                most = 0
                for home in homes:
                    most = max(most, len([other for other in homes if other == home]))
                case = f"{layout} on nodes of {gpus_per_node}: {axis} {group.ranks}"
                assert group.leaves_node(cluster) is leaves, case
                assert group.busiest_node_members(cluster) == most, case
                if is_uneven(group):
                    uneven.add(axis)
                if leaves and len(set(homes)) * most != len(homes):
                    straddling.add(gpus_per_node)
    assert uneven == {Axis.EP, Axis.DCP}  # the hard cases were among them
    assert 6 in straddling


@pytest.mark.parametrize(
    "gpus_per_node, layout, axis, number, leaves, most",
    [
        (4, Layout(tp=2, pp=2, dp=2), Axis.EP, 0, True, 2),  # 0 1 4 5, not evenly spaced
        (8, Layout(tp=2, pp=2, dp=2), Axis.EP, 0, False, 4),
        (6, Layout(tp=4, dp=2), Axis.TP, 0, False, 4),
        (6, Layout(tp=4, dp=3), Axis.TP, 4, True, 2),  # 4 5 | 6 7
        (6, Layout(tp=4, dp=3), Axis.TP, 8, False, 4),
        (6, Layout(tp=4, dp=2), Axis.EP, 0, True, 6),  # 0 to 5 | 6 7
        (8, Layout(tp=8, pp=2), Axis.PP, 3, True, 1),
        (4, Layout(tp=4, pcp=2, dcp=8), Axis.DCP, 0, True, 4),  # 0 4 1 5 2 6 3 7
        (8, Layout(), Axis.TP, 0, False, 1),
    ],
)
def test_by_hand(
    gpus_per_node: int, layout: Layout, axis: Axis, number: int, leaves: bool, most: int
) -> None:
    cluster = Cluster(gpus_per_node=gpus_per_node)
    group = Group.of(layout, axis, number)
    assert (group.leaves_node(cluster), group.busiest_node_members(cluster)) == (leaves, most)


def test_unknown_nodes() -> None:
    """Without the GPUs of a node nothing is claimed."""
    group, cluster = Group.of(Layout(tp=8), Axis.TP, 0), Cluster()
    assert cluster.node_of(7) is None
    assert group.leaves_node(cluster) is None
    assert group.busiest_node_members(cluster) is None
