"""Ranks and groups against vLLM's own recipe: number an array, transpose it, cut it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest

from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ranks import Group, Rank, all_groups, rank_lists

Runs = list[tuple[int, ...]]


def dcp_of(tp: int, pcp: int) -> list[int]:
    """Every dcp that vLLM admits beside this tp and pcp, by trying each."""
    admitted = []
    for dcp in range(1, tp * pcp + 1):
        if pcp == 1 and tp % dcp == 0:
            admitted.append(dcp)
        if pcp > 1 and dcp in (1, pcp, tp * pcp):
            admitted.append(dcp)
    return admitted


def layouts() -> Iterator[Layout]:
    for tp, pcp, pp, dp in product((1, 2, 3, 4, 8), (1, 2, 4), (1, 2, 3), (1, 2, 3)):
        for dcp in dcp_of(tp, pcp):
            yield Layout(tp=tp, pcp=pcp, pp=pp, dp=dp, dcp=dcp)


@dataclass(frozen=True, slots=True)
class Numbered:
    """`arange(W).reshape(dp, pp, pcp, tp)`, counted out place by place."""

    layout: Layout
    numbers: dict[tuple[int, int, int, int], int]

    @classmethod
    def of(cls, layout: Layout) -> Numbered:
        numbers: dict[tuple[int, int, int, int], int] = {}
        for dp in range(layout.dp):
            for pp in range(layout.pp):
                for pcp in range(layout.pcp):
                    for tp in range(layout.tp):
                        numbers[dp, pp, pcp, tp] = len(numbers)
        return cls(layout, numbers)

    def flat(self, order: tuple[int, int, int, int]) -> list[int]:
        """The array with its axes in this order, as one row."""
        widths = (self.layout.dp, self.layout.pp, self.layout.pcp, self.layout.tp)
        row = []
        for moved in product(*(range(widths[axis]) for axis in order)):
            place = dict(zip(order, moved, strict=True))
            row.append(self.numbers[place[0], place[1], place[2], place[3]])
        return row

    def groups(self, axis: Axis) -> Runs:
        """Each axis: the order that puts it last, and how long the runs are."""
        dp, pp, pcp, tp = range(4)
        layout = self.layout
        match axis:
            case Axis.TP:
                return cut(self.flat((dp, pp, pcp, tp)), layout.tp)
            case Axis.PCP:
                return cut(self.flat((dp, pp, tp, pcp)), layout.pcp)
            case Axis.PP:
                return cut(self.flat((dp, tp, pcp, pp)), layout.pp)
            case Axis.DP:
                return cut(self.flat((tp, pp, pcp, dp)), layout.dp)
            case Axis.EP:
                return cut(self.flat((pp, dp, pcp, tp)), layout.dp * layout.pcp * layout.tp)
            case Axis.DCP if layout.dcp == 1:
                return cut(self.flat((dp, pp, pcp, tp)), 1)
            case Axis.DCP:
                return cut(self.flat((dp, pp, tp, pcp)), layout.dcp)


def cut(row: list[int], width: int) -> Runs:
    return [tuple(row[start : start + width]) for start in range(0, len(row), width)]


def test_every_layout() -> None:
    """Groups of all axes, all together and rank by rank; each rank is in one group of an axis."""
    seen = 0
    for layout in layouts():
        array = Numbered.of(layout)
        for axis in Axis:
            expected = array.groups(axis)
            found = rank_lists(layout, axis)
            assert sorted(found) == sorted(expected), f"{layout}: {axis}"
            assert sorted(rank for group in found for rank in group) == list(range(layout.ranks))
            for ranks in expected:
                for rank in ranks:
                    assert Group.of(layout, axis, rank).ranks == ranks, f"{layout}: {axis} {rank}"
        seen += 1
    assert seen == 9 * sum(len(dcp_of(tp, pcp)) for tp in (1, 2, 3, 4, 8) for pcp in (1, 2, 4))


def test_coordinates() -> None:
    """A rank's number gives its place in the array, and its place in the EP group."""
    for layout in layouts():
        array = Numbered.of(layout)
        groups = array.groups(Axis.EP)
        places = {rank: place for group in groups for place, rank in enumerate(group)}
        for (dp, pp, pcp, tp), number in array.numbers.items():
            rank = Rank.of(layout, number)
            assert rank == Rank(number=number, dp=dp, pp=pp, pcp=pcp, tp=tp), f"{layout}: {number}"
            assert rank.expert_rank(layout) == places[number], f"{layout}: {number}"


def test_listed_groups() -> None:
    """`all_groups` names its axis and goes by first rank."""
    for layout in (Layout(tp=2, pp=2, dp=2, pcp=2, dcp=4), Layout(tp=8, dcp=2, dp=3)):
        for axis in Axis:
            groups = all_groups(layout, axis)
            firsts = [group.ranks[0] for group in groups]
            assert firsts == sorted(firsts)
            assert {group.axis for group in groups} == {axis}
            runs = rank_lists(layout, axis)
            assert [group.width for group in groups] == [len(run) for run in runs]


def spelled(words: str) -> set[tuple[int, ...]]:
    """`0-3 4,6` is the group 0, 1, 2, 3 and the group 4, 6."""
    groups = set()
    for word in words.split():
        ranks: list[int] = []
        for piece in word.split(","):
            first, _, last = piece.partition("-")
            ranks += range(int(first), int(last or first) + 1)
        groups.add(tuple(ranks))
    return groups


TP2_PP2_DCP4: Final = Layout(tp=2, pp=2, pcp=2, dp=2, dcp=4)
WORKED: Final = (
    (Layout(tp=4, pp=2), Axis.TP, "0-3 4-7"),
    (Layout(tp=4, pp=2), Axis.PP, "0,4 1,5 2,6 3,7"),
    (Layout(tp=4, pp=2), Axis.EP, "0-3 4-7"),
    (Layout(tp=4, pp=2), Axis.DP, "0 1 2 3 4 5 6 7"),
    (Layout(tp=8, pp=2), Axis.TP, "0-7 8-15"),
    (Layout(tp=8, pp=2), Axis.PP, "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15"),
    (Layout(tp=8, pp=2), Axis.EP, "0-7 8-15"),
    (Layout(tp=4, dp=2), Axis.TP, "0-3 4-7"),
    (Layout(tp=4, dp=2), Axis.DP, "0,4 1,5 2,6 3,7"),
    (Layout(tp=4, dp=2), Axis.EP, "0-7"),
    (Layout(tp=2, pcp=2, dp=2), Axis.TP, "0,1 2,3 4,5 6,7"),
    (Layout(tp=2, pcp=2, dp=2), Axis.PCP, "0,2 1,3 4,6 5,7"),
    (Layout(tp=2, pcp=2, dp=2), Axis.DP, "0,4 2,6 1,5 3,7"),
    (Layout(tp=2, pcp=2, dp=2), Axis.EP, "0-7"),
    (Layout(tp=2, pp=2, dp=2), Axis.PP, "0,2 1,3 4,6 5,7"),
    (Layout(tp=2, pp=2, dp=2), Axis.DP, "0,4 2,6 1,5 3,7"),
    (Layout(tp=2, pp=2, dp=2), Axis.EP, "0,1,4,5 2,3,6,7"),
    (Layout(tp=2, pp=2, pcp=2), Axis.PCP, "0,2 1,3 4,6 5,7"),
    (Layout(tp=2, pp=2, pcp=2), Axis.PP, "0,4 2,6 1,5 3,7"),
    (Layout(tp=2, pp=2, pcp=2), Axis.EP, "0-3 4-7"),
    (Layout(tp=8, dcp=2), Axis.DCP, "0,1 2,3 4,5 6,7"),
    (Layout(tp=8, dcp=8), Axis.DCP, "0-7"),
    (Layout(tp=4, pcp=2, dcp=2), Axis.TP, "0-3 4-7"),
    (Layout(tp=4, pcp=2, dcp=2), Axis.PCP, "0,4 1,5 2,6 3,7"),
    (Layout(tp=4, pcp=2, dcp=2), Axis.DCP, "0,4 1,5 2,6 3,7"),
    (Layout(tp=4, pcp=2, dcp=2), Axis.EP, "0-7"),
    (Layout(tp=4, pcp=2, dcp=8), Axis.DCP, "0,4,1,5,2,6,3,7"),
    (TP2_PP2_DCP4, Axis.DCP, "0,2,1,3 4,6,5,7 8,10,9,11 12,14,13,15"),
    (TP2_PP2_DCP4, Axis.PCP, "0,2 1,3 4,6 5,7 8,10 9,11 12,14 13,15"),
    (TP2_PP2_DCP4, Axis.PP, "0,4 2,6 1,5 3,7 8,12 10,14 9,13 11,15"),
    (TP2_PP2_DCP4, Axis.DP, "0,8 2,10 4,12 6,14 1,9 3,11 5,13 7,15"),
    (TP2_PP2_DCP4, Axis.EP, "0-3,8-11 4-7,12-15"),
)


@pytest.mark.parametrize("layout, axis, words", WORKED, ids=str)
def test_worked_examples(layout: Layout, axis: Axis, words: str) -> None:
    assert set(rank_lists(layout, axis)) == spelled(words)


def test_a_million_ranks() -> None:
    """One rank's groups where the ranks are too many to list: 4096 replicas of 8 x 4 x 8."""
    layout = Layout(tp=8, pp=8, pcp=4, dp=4096, dcp=32)
    assert layout.ranks == 1_048_576
    # 777,777 = 3038 replicas of 256, then 49: stage 1, pcp 2, tp 1
    number, replica, stage, row = 777_777, 777_728, 777_760, 777_776
    assert replica == 3038 * 256
    assert Rank.of(layout, number) == Rank(number=number, dp=3038, pp=1, pcp=2, tp=1)

    def ranks(axis: Axis, of: Layout = layout) -> tuple[int, ...]:
        return Group.of(of, axis, number).ranks

    assert ranks(Axis.TP) == tuple(row + tp for tp in range(8))
    assert ranks(Axis.PCP) == tuple(stage + 1 + 8 * pcp for pcp in range(4))
    assert ranks(Axis.PP) == tuple(replica + 17 + 32 * pp for pp in range(8))
    assert ranks(Axis.DP) == tuple(49 + 256 * dp for dp in range(4096))
    tp_slowest = tuple(stage + tp + 8 * pcp for tp in range(8) for pcp in range(4))
    assert ranks(Axis.DCP) == tp_slowest
    stages_alike = tuple(256 * dp + 32 + local for dp in range(4096) for local in range(32))
    assert ranks(Axis.EP) == stages_alike
    spanning_pcp = Layout(tp=8, pp=8, pcp=4, dp=4096, dcp=4)
    assert ranks(Axis.DCP, spanning_pcp) == ranks(Axis.PCP)
    # the same million without PCP: rank 777,777 has tp 17 of 32, in the run of 8 from 16
    inside_tp = Layout(tp=32, pp=8, dp=4096, dcp=8)
    assert ranks(Axis.DCP, inside_tp) == tuple(stage + 16 + tp for tp in range(8))
