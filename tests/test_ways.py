"""What the chapter's tables show is what vLLM starts, and each pair of ways is asked whole."""

from __future__ import annotations

from itertools import combinations, product
from typing import Final

import pytest

import context_tables
import expert_tables
import pipeline_tables
import way_tables as tables
import ways
from messages import Message
from vllm_parallel import Deployment, Layout, Settings, Verdict, check, load_model
from vllm_parallel.settings import ContextSettings

SHOWN: Final = (
    *(tables.on("llama-3.1-70b", Layout(tp=tp)) for tp in (1, 4, 8, 16)),
    *(tables.on("qwen3-235b-a22b", Layout(tp=4, dp=dp)) for dp in (1, 2, 3, 4)),
    tables.on("qwen3-235b-a22b", Layout(tp=4, dp=3, expert_parallel=True)),
    pipeline_tables.pipelined(),
    *(tables.on("deepseek-r1", Layout(tp=8, pcp=pcp), "h200") for pcp in (1, 2, 4)),
    *(context_tables.dealt(dcp) for dcp in (1, 2, 4, 8)),
    context_tables.dealt(8, ContextSettings(dcp_comm_backend="a2a", q_replicate=True)),
)


@pytest.mark.parametrize("deployment", SHOWN, ids=lambda one: f"{one.model.name} {one.layout}")
def test_no_rule_refuses_what_is_shown(deployment: Deployment) -> None:
    assert check(deployment) is None


def test_each_way_is_alone_and_starts() -> None:
    model = load_model(ways.EXAMPLE)
    for layout in ways.EACH:
        settings = Settings(max_model_len=ways.LENGTH)
        deployment = Deployment(model=model, layout=layout, settings=settings, cluster=ways.NODE)
        assert Verdict.of(deployment).accepted, layout
        assert layout.ranks in (1, ways.WIDTH)
    assert {axis: max(getattr(one, axis) for one in ways.EACH) for axis in tables.AXES} == (
        dict.fromkeys(tables.AXES, ways.WIDTH)
    )


def test_pairs_are_the_smallest_that_start() -> None:
    """Every layout of up to 32 ranks with both ways, one at a time."""
    table = ways.pairs().splitlines()
    names = [cell.strip() for cell in table[0].strip("|").split("|")][1:]
    found: dict[tuple[str, str], str] = {}
    for line in table[2:]:
        head, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found |= {(head, name): cell for name, cell in zip(names, cells, strict=True)}
    assert len(found) == 15 * len(ways.PAIRED)
    for name in ways.PAIRED:
        model = load_model(name)
        settings = ways.SPARSE if model.traits.sparse_attention else Settings()
        least: dict[tuple[str, str], int] = {}
        for tp, pp, dp, pcp, ep in product((1, 2, 4, 8, 16), (1, 2), (1, 2), (1, 2), (False, True)):
            for dcp in Layout(tp=tp, pcp=pcp).dcp_choices:
                layout = Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp, expert_parallel=ep)
                used = [way for way in ways.FLAGS if _uses(layout, way)]
                if check(Deployment(model=model, layout=layout, settings=settings)) is None:
                    for two in combinations(used, 2):
                        least[two] = min(least.get(two, 999), layout.ranks)
        for two in combinations(ways.FLAGS, 2):
            cell = found[" + ".join(two), name]
            assert cell.startswith("no: ") is (two not in least), (name, two)


def _uses(layout: Layout, way: str) -> bool:
    return layout.expert_parallel if way == "ep" else getattr(layout, way) > 1


def test_expert_arithmetic_does_not_depend_on_engines() -> None:
    """dp times the tokens meet a dp-th of each expert."""
    one, two = (tables.on("qwen3-235b-a22b", Layout(tp=4, dp=dp)) for dp in (1, 2))
    assert expert_tables.expert_multiply_adds(one, 64) == expert_tables.expert_multiply_adds(
        two, 128
    )
    assert expert_tables.expert_bytes(one) == 2 * expert_tables.expert_bytes(two)


def test_copies_of_a_token() -> None:
    assert ways.token_copies(context_tables.dealt(1)) == 8
    assert ways.token_copies(context_tables.dealt(8)) == 1
    assert ways.token_copies(tables.on("deepseek-r1", Layout(tp=8, pcp=2), "h200")) == 16
    assert ways.token_copies(tables.on("llama-3.1-70b", Layout(tp=8))) == 1


def test_messages_are_those_of_the_step() -> None:
    """Of Qwen3-235B on tp4 dp2: 16 of 64 tokens on each rank, sums of both engines' tokens."""
    deployment = tables.on("qwen3-235b-a22b", Layout(tp=4, dp=2, expert_parallel=True))
    hidden = Message.of(deployment, tables.DECODE, "dispatch")
    assert (hidden.shape, hidden.width, hidden.bytes, hidden.count) == (
        "16 × 4,096",
        2,
        "128 KiB",
        94,
    )
    assert Message.of(deployment, tables.DECODE, "combine").bytes == "1 MiB"
    with pytest.raises(ValueError, match="0 calls are made at the moon, not one"):
        Message.of(deployment, tables.DECODE, "the moon")
