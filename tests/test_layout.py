"""Widths, and how layers and experts are dealt over them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import pytest

from vllm_parallel.layout import (
    Axis,
    Layout,
    expert_ids,
    experts_on,
    head_ids,
    pipeline_bounds,
    pipeline_split,
)

SPLITS = (
    (61, 2, [31, 30]),
    (61, 4, [15, 15, 16, 15]),
    (61, 8, [7, 7, 8, 8, 8, 8, 8, 7]),
    (126, 4, [31, 32, 32, 31]),
    (92, 8, [11, 11, 11, 12, 12, 12, 12, 11]),
    (94, 4, [23, 24, 24, 23]),
    (94, 2, [47, 47]),
    (62, 4, [15, 16, 16, 15]),
    (80, 2, [40, 40]),
    (36, 8, [4, 4, 4, 5, 5, 5, 5, 4]),
    (80, 1, [80]),
    (3, 3, [1, 1, 1]),
    (32, 40, [0] * 7 + [1] * 32 + [0]),  # tried: the first 7 stages and the last are empty
)


@pytest.mark.parametrize("layers, stages, split", SPLITS)
def test_pipeline_split(layers: int, stages: int, split: list[int]) -> None:
    assert pipeline_split(layers, stages) == split
    assert sum(split) == layers


def dealt_layers(layers: int, stages: int) -> list[int]:
    """Whole rounds first; then one layer at a time, walking back from the second-last stage."""
    split, left = [0] * stages, layers
    while left >= stages:
        for stage in range(stages):
            split[stage] += 1
            left -= 1
    stage = stages - 2
    while left:
        split[stage] += 1
        stage, left = stage - 1, left - 1
    return split


def test_layers_dealt_one_at_a_time() -> None:
    for layers, stages in product(range(1, 131), range(1, 41)):
        split, bounds = dealt_layers(layers, stages), pipeline_bounds(layers, stages)
        assert pipeline_split(layers, stages) == split, (layers, stages)
        assert len(bounds) == stages + 1
        held = [list(range(bounds[s], bounds[s + 1])) for s in range(stages)]
        assert [len(stage) for stage in held] == split, (layers, stages)
        assert [layer for stage in held for layer in stage] == list(range(layers))


def test_experts_dealt_one_at_a_time() -> None:
    """Round after round, so the first ranks take the spare ones."""
    for count, width in product(range(65), range(1, 71)):
        held = [0] * width
        for expert in range(count):
            held[expert % width] += 1
        assert [experts_on(count, width, rank) for rank in range(width)] == held, (count, width)


def test_experts_of_the_facts() -> None:
    """128 experts on 12 ranks: eight hold 11, four hold 10; on 256 the last half hold none."""
    assert [experts_on(128, 12, rank) for rank in range(12)] == [11] * 8 + [10] * 4
    assert [experts_on(128, 256, rank) for rank in range(256)] == [1] * 128 + [0] * 128


def test_experts_are_dealt_whole() -> None:
    for count in (1, 8, 10, 128, 160):
        for width in (1, 3, 4, 12, 24):
            runs = [list(expert_ids(count, width, rank)) for rank in range(width)]
            assert [expert for run in runs for expert in run] == list(range(count))
            robin = [list(expert_ids(count, width, n, round_robin=True)) for n in range(width)]
            assert sorted(expert for run in robin for expert in run) == list(range(count))
            for rank in range(width):
                assert len(runs[rank]) == len(robin[rank]) == experts_on(count, width, rank)
                assert all(b - a == width for a, b in pairwise(robin[rank]))


def test_heads_are_cut_or_copied() -> None:
    for heads in (1, 4, 8):
        for tp in (1, 2, 4, 8, 16):
            held = [list(head_ids(heads, tp, rank)) for rank in range(tp)]
            copies = Counter(head for own in held for head in own)
            assert copies == dict.fromkeys(range(heads), max(1, tp // heads))
            assert held == sorted(held)


@pytest.mark.parametrize(
    "layout, world, ranks, experts, text",
    [
        (Layout(), 1, 1, 1, "tp1"),
        (Layout(tp=4, pp=2), 8, 8, 4, "tp4 pp2"),
        (Layout(tp=4, dp=2, expert_parallel=True), 4, 8, 8, "tp4 dp2 ep"),
        (Layout(tp=4, pcp=2, dcp=8), 8, 8, 8, "tp4 pcp2 dcp8"),
        (Layout(tp=2, pp=3, dp=5, pcp=7, dcp=2), 42, 210, 70, "tp2 pp3 dp5 pcp7 dcp2"),
        (Layout(tp=1, dp=3), 1, 3, 3, "tp1 dp3"),
    ],
)
def test_widths(layout: Layout, world: int, ranks: int, experts: int, text: str) -> None:
    """DCP adds no ranks; stages do not share experts, replicas do."""
    assert (layout.world_size, layout.ranks, layout.expert_width) == (world, ranks, experts)
    assert str(layout) == text


def test_dcp_choices() -> None:
    """A divisor of tp without PCP; else off, the PCP axis, or all of TP x PCP."""
    for tp, pcp in product(range(1, 17), range(1, 9)):
        tried = range(1, tp * pcp + 1)
        choices = [d for d in tried if (tp % d == 0 if pcp == 1 else d in (1, pcp, tp * pcp))]
        assert Layout(tp=tp, pcp=pcp).dcp_choices == choices


def test_axes_are_vllms_names() -> None:
    assert [axis.value for axis in Axis] == ["tp", "pp", "dp", "pcp", "dcp", "ep"]
