"""Which layouts of some GPUs vLLM starts, held against asking for each, and how they are ranked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import Batch, EngineBatch, collectives
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Layout
from vllm_parallel.outcome import Figures, Found, Goal, Outcome
from vllm_parallel.price import Pricer
from vllm_parallel.search import CONTEXT, NOT_PRICED, Search, SteadyDecode
from vllm_parallel.settings import ExpertSettings, Settings
from vllm_parallel.verdict import Verdict

H100: Final = load_gpu("h100-80gb")
H200: Final = load_gpu("h200")
RATES: Final = load_rates("h100-80gb")


def search(
    name: str, gpus: int, settings: Settings | None = None, *, fewer: bool = False
) -> Search:
    cluster = Cluster(gpu=H100, gpus_per_node=8, nodes=-(-gpus // 8))
    asked = settings or Settings(max_model_len=8192)
    model = load_model(name)
    return Search(model=model, gpus=gpus, cluster=cluster, settings=asked, fewer=fewer)


def every_layout(gpus: int, *, moe: bool, fewer: bool = False) -> list[Layout]:
    """Layouts by trying every width from 1 on, whatever divides what."""
    counts = range(1, gpus + 1)
    return [
        Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp, expert_parallel=ep)
        for tp in counts
        for pp in counts
        for pcp in counts
        for dp in counts
        if (tp * pp * pcp * dp <= gpus if fewer else tp * pp * pcp * dp == gpus)
        for dcp in counts
        if tp * pcp % dcp == 0
        for ep in ((False, True) if moe and tp * pcp * dp > 1 else (False,))
    ]


@pytest.mark.parametrize("gpus", [1, 2, 4, 6, 8])
@pytest.mark.parametrize(
    "name",
    [
        "llama-3.1-70b",  # dense, grouped-query attention
        "qwen3-30b-a3b",  # experts
        "deepseek-r1",  # latent attention, quantised in blocks
        "gpt-oss-120b",  # windows, experts in mxfp4
        "qwen3-next-80b-a3b",  # mixers beside attention
        "gemma-3-27b",  # windows
    ],
)
def test_agrees_with_asking_for_each(name: str, gpus: int) -> None:
    """Every layout is tried once; what starts and which rule refuses the others are the same."""
    one = search(name, gpus)
    layouts = every_layout(gpus, moe=one.model.is_moe)
    assert Counter(one.layouts()) == Counter(layouts)
    outcome = one.run(Goal.CAPACITY)
    found, refused = {}, Counter[str]()
    for layout in layouts:
        verdict = Verdict.of(
            Deployment(model=one.model, layout=layout, settings=one.settings, cluster=one.cluster)
        )
        if verdict.refusal is not None:
            refused[verdict.refusal.name] += 1
        elif verdict.capacity is not None:
            found[layout] = verdict.capacity.tokens
    assert {each.layout: each.capacity.tokens for each in outcome.found} == found
    assert {row.rule: row.count for row in outcome.refused} == refused
    assert outcome.searched == len(layouts)


def test_fewer_gpus_too() -> None:
    for name in ("llama-3.1-8b", "qwen3-30b-a3b"):
        one = search(name, 6, fewer=True)
        assert Counter(one.layouts()) == Counter(every_layout(6, moe=one.model.is_moe, fewer=True))
        ranks = {found.layout.ranks for found in one.run(Goal.CAPACITY).found}
        assert ranks == set(range(1, 7))


def steady(concurrency: int = 64, context: int = 4096) -> SteadyDecode:
    return SteadyDecode(concurrency=concurrency, context=context, rates=RATES)


def figures(outcome: Outcome) -> list[Figures]:
    return [found.figures for found in outcome.found if found.figures is not None]


def test_ranked_by_each_goal() -> None:
    one, load = search("qwen3-235b-a22b", 16), steady(256, 8192)
    by_tpot = figures(one.run(Goal.TPOT, load.figures))
    waits = [each.running < each.asked for each in by_tpot]
    assert set(waits) == {False, True}
    assert [(w, each.tpot_seconds) for w, each in zip(waits, by_tpot, strict=True)] == sorted(
        (w, each.tpot_seconds) for w, each in zip(waits, by_tpot, strict=True)
    )
    rates = [
        found.tokens_per_second_per_gpu for found in one.run(Goal.THROUGHPUT, load.figures).found
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == max(each.running / each.tpot_seconds / 16 for each in by_tpot)
    tokens = [found.capacity.tokens for found in one.run(Goal.CAPACITY).found]
    assert tokens == sorted(tokens, reverse=True)


def test_the_longest_request_is_not_the_largest_service() -> None:
    """Many engines hold more tokens together, one alone the longer request."""
    one = search("llama-3.1-70b", 16, Settings(max_model_len=8192))
    best = one.run(Goal.LONGEST_REQUEST).found
    lengths = [found.longest_request for found in best]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]
    for found in best:
        pool = found.capacity.pool
        assert found.longest_request == pool.longest_request


def test_ties_go_to_fewer_exchanges() -> None:
    """With one KV head's latent and equal memory, expert parallelism exchanges more or less."""
    found = search("deepseek-r1", 64).run(Goal.CAPACITY).found
    merits = [(-each.capacity.tokens, -each.longest_request) for each in found]
    tied = [n for n in range(1, len(found)) if merits[n] == merits[n - 1]]
    assert len(tied) > 5
    for n in tied:
        assert calls(found[n - 1]) <= calls(found[n])


def calls(found: Found) -> int:
    """Calls of a step, stage by stage."""
    total = 0
    for exchange in collectives(found.deployment, Batch.decode(1)):
        for call in exchange.calls:
            total += call.count
    return total


@pytest.mark.parametrize(
    "layout, running, a_step, batches",
    [
        (Layout(tp=8), 64, 64, 1),
        (Layout(tp=4, dp=2), 64, 32, 1),
        (Layout(tp=4, pp=2), 64, 32, 2),
        (Layout(tp=2, pp=4), 64, 16, 4),
    ],
)
def test_a_steady_step(layout: Layout, running: int, a_step: int, batches: int) -> None:
    """Requests are dealt to engines, then to the batches of a pipeline, which all pass."""
    cluster = Cluster(gpu=H100, gpus_per_node=8)
    asked = Settings(max_model_len=8192)
    deployment = Deployment(
        model=load_model("llama-3.1-70b"), layout=layout, settings=asked, cluster=cluster
    )
    capacity = Verdict.of(deployment).capacity
    assert capacity is not None
    found = steady().figures(deployment, capacity)
    assert found is not None
    price = Pricer.of(deployment, RATES).price(EngineBatch(decode=(4096,) * a_step))
    assert found.running == running
    assert found.tpot_seconds == max(price.latency, batches * price.slowest.total)
    assert found.tokens_per_second == pytest.approx(running / found.tpot_seconds)


def figures_of(layout: Layout, settings: Settings, load: SteadyDecode) -> Figures | None:
    deployment = Deployment(
        model=load_model("llama-3.1-70b"),
        layout=layout,
        settings=settings,
        cluster=Cluster(gpu=H100, gpus_per_node=8),
    )
    capacity = Verdict.of(deployment).capacity
    assert capacity is not None
    return load.figures(deployment, capacity)


def test_what_bounds_the_requests_at_once() -> None:
    """The schedule's cap, the cache, and fewer requests than engines."""
    tp4dp2, short = Layout(tp=4, dp=2), Settings(max_model_len=8192)
    capped = figures_of(tp4dp2, replace(short, max_num_seqs=8), steady())
    assert capped is not None
    assert (capped.asked, capped.running) == (64, 16)
    few = figures_of(tp4dp2, short, steady(1))
    assert few is not None
    assert few.running == 1
    blocks = Settings(max_model_len=8192, num_gpu_blocks_override=3 * 4096 // 16)
    held = figures_of(tp4dp2, blocks, steady())
    assert held is not None
    assert held.running == 4  # in each pool two of 4,096 tokens, the null block beside them
    assert figures_of(tp4dp2, short, steady(4, 8193)) is None


def test_what_cannot_be_priced_is_counted_apart() -> None:
    """Layouts that start, but whose exchanges are not modelled, are neither found nor refused."""
    deepep = Settings(
        max_model_len=8192, experts=ExpertSettings(all2all_backend="deepep_low_latency")
    )
    one = search("qwen3-30b-a3b", 4, deepep)
    outcome = one.run(Goal.TPOT, steady().figures)
    apart = next(row for row in outcome.refused if row.rule == NOT_PRICED)
    assert apart.stage is None
    assert apart.example.expert_parallel
    assert "not modelled" in apart.message
    assert len(one.run(Goal.CAPACITY).found) == len(outcome.found) + apart.count


def test_a_context_that_no_layout_holds() -> None:
    fitted = Settings(max_model_len=-1, num_gpu_blocks_override=101)
    outcome = search("llama-3.1-8b", 2, fitted).run(Goal.TPOT, steady(1, 4096).figures)
    assert outcome.found == ()
    assert CONTEXT in {row.rule for row in outcome.refused}


def test_what_no_layout_can_be_sized_for_is_raised() -> None:
    amd = replace(search("deepseek-r1", 2), cluster=Cluster(gpu=load_gpu("mi300x")))
    with pytest.raises(CatalogError, match="is quantised, which is not modelled on a MI300X"):
        amd.run(Goal.CAPACITY)


def test_a_goal_of_time_needs_an_appraisal() -> None:
    with pytest.raises(ValueError, match="tpot"):
        search("llama-3.1-8b", 2).run(Goal.TPOT)


def test_the_example_is_the_simplest() -> None:
    """Of the layouts that a rule refuses, the first with fewest axes above 1."""
    refused = search("llama-3.1-70b", 8).run(Goal.CAPACITY).refused
    examples = {row.rule: str(row.example) for row in refused}
    assert examples["pcp-attention-backend"] == "tp1 pcp8"
    assert examples["dcp-needs-tp-above-kv-heads"] == "tp1 pcp8 dcp8"
    assert examples["room-for-a-block"] == "tp1 dp8"
    counts = [row.count for row in refused]
    assert counts == sorted(counts, reverse=True)
