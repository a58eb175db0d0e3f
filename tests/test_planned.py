"""What the planner shows: strings of a search, and commands that start what was found."""

from __future__ import annotations

from typing import Final

import pytest

from vllm_parallel import Cluster, Deployment, Layout, Settings, Verdict, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.engine.commands import find
from vllm_parallel.ledger import budgets_on
from vllm_parallel.outcome import Goal, Outcome
from vllm_parallel.planned import Shelf, cell
from vllm_parallel.planned.starting import refused_start
from vllm_parallel.render.numbers import whole
from vllm_parallel.review import Review
from vllm_parallel.search import Search, SteadyDecode
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
    "layout, per_node, rule",
    [
        (Layout(tp=4, dp=3), 8, "nodes-divide-by-engines"),
        (Layout(tp=4, dp=4), 8, None),
        (Layout(tp=8), 8, None),
    ],
)
def test_what_nnodes_does_not_start(layout: Layout, per_node: int, rule: str | None) -> None:
    cluster = Cluster(gpu=GPU, gpus_per_node=per_node, nodes=2)
    deployment = Deployment(model=load_model("llama-3.1-8b"), layout=layout, cluster=cluster)
    assert Verdict.of(deployment).accepted
    refusal = refused_start(deployment)
    assert (refusal and refusal.name) == rule
    shelf = Shelf("m")
    entry = shelf.layouts[shelf.layout(deployment)]
    assert bool(entry["commands"]) == (rule is None)
    assert (entry["refused"] is None) == (rule is None)
