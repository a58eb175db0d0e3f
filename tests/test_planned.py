"""What the planner shows: strings of a search, and commands that start what was found."""

from __future__ import annotations

from typing import Final

import pytest

from vllm_parallel import Cluster, Deployment, Layout, Settings, Verdict, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.constraints import Violation
from vllm_parallel.engine.commands import find
from vllm_parallel.ledger import budgets_on
from vllm_parallel.outcome import Goal, Outcome
from vllm_parallel.planned import Shelf, cell
from vllm_parallel.render.numbers import whole
from vllm_parallel.render.ranking import launch
from vllm_parallel.review import Review
from vllm_parallel.search import Search, SteadyDecode
from vllm_parallel.starting import node_settings
from vllm_parallel.units import GIB

GPU: Final = load_gpu("h200")
TWO_NODES: Final = Cluster(gpu=GPU, gpus_per_node=8, nodes=2)
LOAD: Final = SteadyDecode(concurrency=64, context=4096, rates=load_rates("h200"))


def outcome(goal: Goal, model: str = "deepseek-r1") -> Outcome:
    settings = Settings(max_model_len=8192)
    search = Search(model=load_model(model), gpus=16, cluster=TWO_NODES, settings=settings)
    return search.run(goal, LOAD.figures if goal.needs_rates else None)


def test_a_cell_says_what_the_search_found() -> None:
    outcomes = {goal: outcome(goal) for goal in (Goal.TPOT, Goal.CAPACITY)}
    shelf = Shelf('"$MODEL"')
    shown = cell(outcomes, shelf, 4)
    rows = shown["rows"]
    assert isinstance(rows, list)
    assert len(rows) == len({row.layout for row in rows})
    for goal, found in outcomes.items():
        ranked = shown["ranked"]
        assert isinstance(ranked, dict)
        named = [shelf.layouts[rows[n].layout]["name"] for n in ranked[goal.value]]
        assert named == [str(one.layout) for one in found.found[:4]]
    best = outcomes[Goal.TPOT].found[0]
    assert best.figures is not None
    assert best.figures.step is not None
    first = rows[0]
    assert first.tokens == whole(best.capacity.pool.tokens)
    assert first.tpot == f"{best.figures.tpot_seconds * 1000:.1f} ms"
    assert first.step is not None
    assert first.step[-1] == f"{best.figures.step.total * 1000:.2f} ms"


def test_a_bar_is_the_memory_of_the_tightest_rank() -> None:
    found = outcome(Goal.CAPACITY).found[0]
    shown = cell({Goal.CAPACITY: outcome(Goal.CAPACITY)}, Shelf("m"), 1)
    rows = shown["rows"]
    assert isinstance(rows, list)
    left = min(budget.available_kv_bytes for budget in budgets_on(found.deployment, GPU))
    loaded, overhead, cache, beyond = map(float, rows[0].memory)
    assert cache == round(left / GIB, 1)
    total = GPU.runtime_memory_bytes / GIB
    assert loaded + overhead + cache + beyond == pytest.approx(total, abs=0.2)
    assert 996 <= sum(rows[0].bar) <= 1000


@pytest.mark.parametrize("model", ["deepseek-r1", "llama-3.1-70b"])
def test_every_command_starts_what_was_found(model: str) -> None:
    """Read back as a shell would, each asks for the layout, and vLLM takes it."""
    searched = outcome(Goal.CAPACITY, model)
    shelf = Shelf('"$MODEL"')
    cell({Goal.CAPACITY: searched}, shelf, len(searched.found))
    terms = {"model": model, "gpu": "h200", "gpus_per_node": 8, "nodes": 2}
    for found, entry in zip(searched.found, shelf.layouts, strict=True):
        commands = entry["commands"]
        assert isinstance(commands, list)
        assert len(commands) == 2, entry
        for text in commands:
            (command,) = find(text)
            review = Review.of(command, terms)
            assert review.passes, (text, review.answer())
            assert review.question is not None
            assert review.question.deployment.layout == found.layout


@pytest.mark.parametrize(
    "model, layout, nodes, per_node, words",
    [
        ("llama-3.1-8b", Layout(tp=8), 2, 8, ()),
        ("llama-3.1-8b", Layout(tp=4, dp=4), 2, 8, ("--nnodes 2", "--headless")),
        ("llama-3.1-8b", Layout(tp=4, dp=3), 2, 8, ("--data-parallel-size-local 2", "-rank 2")),
        ("qwen3-30b-a3b", Layout(tp=4, dp=3), 2, 8, ("--data-parallel-size-local 1", "-rank 2")),
        ("qwen3-30b-a3b", Layout(tp=4, dp=2), 2, 4, ("--nnodes 2", "--master-addr")),
        ("qwen3-30b-a3b", Layout(tp=4, dp=2), 4, 2, ("--nnodes 4", "--master-addr")),
    ],
)
def test_how_nodes_start(
    model: str, layout: Layout, nodes: int, per_node: int, words: tuple[str, ...]
) -> None:
    cluster = Cluster(gpu=GPU, gpus_per_node=per_node, nodes=nodes)
    deployment = Deployment(model=load_model(model), layout=layout, cluster=cluster)
    shelf = Shelf("m")
    entry = shelf.layouts[shelf.layout(deployment)]
    commands = entry["commands"]
    assert isinstance(commands, list)
    assert entry["refused"] is None
    assert len(commands) == (nodes if words else 1)
    assert all(word in "".join(commands) for word in words)
    terms = {"model": model, "gpu": "h200", "gpus_per_node": per_node, "nodes": nodes}
    for text in commands:
        (command,) = find(text)
        review = Review.of(command, terms)
        assert review.passes, review.answer()


@pytest.mark.parametrize(
    "model, layout, nodes, per_node, rule",
    [
        ("llama-3.1-8b", Layout(tp=4, dp=2), 4, 2, "dense-replica-spans-nodes"),
        ("llama-3.1-8b", Layout(pp=4, dp=2), 4, 2, "dense-replica-spans-nodes"),
        ("qwen3-30b-a3b", Layout(pp=6, dp=2), 3, 4, "nodes-divide-by-engines"),
        ("llama-3.1-8b", Layout(pp=5, dp=3), 2, 8, "nnodes-divide-world"),
        ("llama-3.1-8b", Layout(pp=9), 2, 8, "nnodes-divide-world"),
    ],
)
def test_what_no_command_of_nodes_starts(
    model: str, layout: Layout, nodes: int, per_node: int, rule: str
) -> None:
    cluster = Cluster(gpu=GPU, gpus_per_node=per_node, nodes=nodes)
    deployment = Deployment(model=load_model(model), layout=layout, cluster=cluster)
    assert Verdict.of(deployment).accepted
    refusal = node_settings(deployment)
    assert isinstance(refusal, Violation)
    assert refusal.name == rule
    shelf = Shelf("m")
    entry = shelf.layouts[shelf.layout(deployment)]
    assert (entry["commands"], entry["refused"] is None) == ([], False)
    printed = launch(deployment, "m")
    assert printed.startswith(f"Launch {layout}\n  vllm serve m")
    assert f"\n  Over nodes of {per_node} it does not start: {refusal.message}" in printed
