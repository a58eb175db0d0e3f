"""The price of a step: by hand, at its limits, and as work grows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates, pinned_factors, rate_table, rated_gpus
from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import Batch, Collective, EngineBatch, Kind, collectives
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.price import Curve, Engine, Pricer, Rate, Rates
from vllm_parallel.price.links import Members, call_seconds
from vllm_parallel.price.reading import CacheRead, cache_reads, longest_share, prompt_pairs
from vllm_parallel.price.step import PARTS
from vllm_parallel.price.work import StageWork
from vllm_parallel.provenance import Provenance
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard

H100: Final = load_rates("h100-80gb")
ONE: Final = Rate(1.0, Provenance.ASSUMED, "as it is")
TWO: Final = Rate(2.0, Provenance.ASSUMED, "twice")
FREE: Final = Rate(float("inf"), Provenance.ASSUMED, "a link that costs nothing")
GPU_OF_A_NODE: Final = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8, nodes=4)
CASES: Final = {
    "one": ("llama-3.1-8b", Layout()),
    "tp8": ("llama-3.1-70b", Layout(tp=8)),
    "stages": ("llama-3.1-70b", Layout(tp=4, pp=2)),
    "experts": ("qwen3-30b-a3b", Layout(tp=4)),
    "experts of engines": ("qwen3-235b-a22b", Layout(tp=4, dp=2, expert_parallel=True)),
    "fp8 experts": ("deepseek-v3", Layout(tp=8)),
    "contexts": ("deepseek-r1", Layout(tp=8, dcp=8)),
    "prompts over ranks": ("deepseek-v2-lite", Layout(pcp=2)),
    "windows": ("gpt-oss-20b", Layout(tp=2)),
    "states": ("nemotron-nano-9b-v2", Layout(tp=4)),
}


def deployment(name: str, cluster: Cluster = GPU_OF_A_NODE) -> Deployment:
    model, layout = CASES[name]
    return Deployment(model=load_model(model), layout=layout, cluster=cluster)


def without_links(rates: Rates) -> Rates:
    """The same with links that cost nothing."""
    free = Curve(points=((1, 0.0), (2, 0.0)), source="free")
    nothing = Rate(0.0, Provenance.ASSUMED, "free")
    curves = tuple((width, free) for width, _ in rates.all_reduce)
    return replace(rates, all_reduce=curves, link=FREE, network=FREE, network_floor_seconds=nothing)


def parts(name: str, step: EngineBatch, rates: Rates = H100) -> dict[str, float]:
    price = Pricer.of(deployment(name), rates).price(step).slowest
    return {part: getattr(price, part) for part in PARTS}


def test_a_decode_by_hand() -> None:
    """8B on one H100, one request of 1,000 tokens: each part from the model's sizes."""
    layer = 4096 * (48 * 128 + 32 * 128 + 3 * 14336)
    bandwidth = 3.35e12
    weights = 2 * (32 * (layer + 2 * 4096) + 128_256 * 4096) / (bandwidth * 0.8)
    kv = 32 * (5e-6 + 1000 * 2 * 8 * 128 * 2 / (bandwidth * 0.72))
    activations = 32 * (8 * 4096 + 3 * 14336) * 2 / (bandwidth * 0.8)
    found = parts("one", EngineBatch(decode=(1000,)))
    assert found["weights"] == pytest.approx(weights)
    assert found["kv"] == pytest.approx(kv)
    assert found["compute"] == pytest.approx(activations)
    assert found["collectives"] == 0
    assert found["overhead"] == pytest.approx(0.3e-3 + 320 * 1.3e-6)


def test_a_prompt_by_hand() -> None:
    """The same model, 2,000 tokens after 500 cached ones: arithmetic binds."""
    layer = 4096 * (48 * 128 + 32 * 128 + 3 * 14336)
    rate = 989.5e12 * 0.8 * 0.9
    bandwidth = 3.35e12 * 0.8
    head = max(0.0, 2 * 128_256 * 4096 / rate - 2 * 128_256 * 4096 / bandwidth)
    beyond = 32 * (2 * layer * 2000 / rate - 2 * (layer + 2 * 4096) / bandwidth) + head
    pairs = 2000 * 500 + 2000 * 2001 // 2
    prompts = 32 * 4 * pairs * 32 * 128 / (989.5e12 * 0.46)
    activations = 2000 * 32 * (8 * 4096 + 3 * 14336) * 2 / bandwidth
    found = parts("one", EngineBatch(prefill=((2000, 500),)))
    assert found["compute"] == pytest.approx(beyond + prompts + activations)
    assert found["kv"] == 0


@pytest.mark.parametrize("name", CASES)
def test_free_links_leave_the_rest(name: str) -> None:
    step = EngineBatch(prefill=((512, 100),), decode=(1000, 2000, 3000))
    priced, free = parts(name, step), parts(name, step, without_links(H100))
    assert free.pop("collectives") == 0
    assert free == {part: priced[part] for part in free}


@pytest.mark.parametrize("name", CASES)
def test_an_empty_batch_costs_overhead_alone(name: str) -> None:
    found = parts(name, EngineBatch())
    assert found.pop("overhead") == H100.host_seconds.value
    assert set(found.values()) == {0}


@pytest.mark.parametrize("name", CASES)
def test_more_work_never_takes_less(name: str) -> None:
    """More decodes, longer contexts, longer prompts."""
    pricer = Pricer.of(deployment(name), H100)
    growing = [
        [EngineBatch(decode=(500,) * n) for n in (1, 2, 3, 7, 64, 65, 300)],
        [EngineBatch(decode=(n,) * 8) for n in (1, 31, 32, 33, 127, 128, 129, 5000, 100_000)],
        [EngineBatch(prefill=((n, 0),)) for n in (1, 7, 8, 9, 100, 2048, 8192)],
        [EngineBatch(prefill=((256, n),)) for n in (0, 1, 100, 4096)],
    ]
    for steps in growing:
        totals = [pricer.price(step).latency for step in steps]
        assert all(a <= b * (1 + 1e-12) for a, b in pairwise(totals)), (steps, totals)


def test_one_rank_exchanges_nothing() -> None:
    assert parts("one", EngineBatch(decode=(9,) * 9))["collectives"] == 0


@pytest.mark.parametrize("name", CASES)
def test_slices_add_up(name: str) -> None:
    """The bytes that a rank reads are those it holds, but for the table that it looks up."""
    d = deployment(name)
    for stage in range(d.layout.pp):
        work = StageWork.of(d, stage)
        shard = Shard.of(d, stage * d.layout.tp * d.layout.pcp)
        read = sum(one.bytes * count for one, count in work.dense)
        read += sum(one.each.bytes * one.held * count for one, count in work.routed)
        read += work.head.bytes if work.head else 0
        ends = ("embedding", "final norm", "head", "every stage")
        blocks = sum(
            weight.bytes(shard.cut) * count
            for layer, count in shard.layers.items()
            if layer.name.startswith("block")
            for weight in layer.weights
        )
        assert {layer.name for layer in shard.layers if not layer.name.startswith("block")} <= {
            *ends
        }
        assert read - (work.head.bytes if work.head else 0) == blocks


@pytest.mark.parametrize("dcp", [1, 2, 4, 8])
@pytest.mark.parametrize("interleave", [1, 4, 32])
def test_the_longest_share(dcp: int, interleave: int) -> None:
    """Tokens dealt one by one, `interleave` to each rank in turn."""
    for tokens in (0, 1, 31, 32, 33, 100, 1000):
        dealt = [0] * dcp
        for token in range(tokens):
            dealt[token // interleave % dcp] += 1
        assert longest_share(tokens, dcp, interleave) == max(dealt)


def test_windows_bound_pairs() -> None:
    """Pairs of a prompt counted one by one, with and without a window."""
    for reach in (0, 1, 5, 100):
        read = CacheRead(
            layers=1, token_bytes=1, fixed_bytes=0, reach=reach, sharded=False,
            multiply_adds=1, pair_multiply_adds=1,
        )  # fmt: skip
        for new, cached in ((1, 0), (7, 0), (7, 3), (20, 9), (3, 50)):
            seen = [place + 1 for place in range(cached, cached + new)]
            wanted = sum(min(n, reach) if reach else n for n in seen)
            assert read.pairs(new, cached) == wanted
        step = EngineBatch(prefill=((23, 4),))
        shares = prompt_pairs(step, read, Layout(pcp=2))
        whole = prompt_pairs(step, read, Layout())
        assert whole / 2 <= shares <= whole


def test_stages_are_priced_apart() -> None:
    price = Pricer.of(deployment("stages"), H100).price(EngineBatch(decode=(1000,) * 16))
    assert len(price.stages) == 2
    assert price.latency == price.stages[0].total + price.stages[1].total
    assert price.slowest.total == max(stage.total for stage in price.stages)


def test_sparse_attention_reads_what_is_selected() -> None:
    """All of the indexer's keys on every rank, and 2048 latent vectors with 64 heads."""
    d = Deployment(model=load_model("deepseek-v3.2"), layout=Layout(tp=8))
    reads = cache_reads(d, 0)
    assert {(read.reach, read.multiply_adds, read.pair_multiply_adds) for read in reads} == {
        (0, 64 * 128 // 2, 64 * 128 // 2),
        (2048, 64 * (576 + 512), 64 * (576 + 512)),
    }


def call(kind: Kind, size: int) -> Collective:
    return Collective(
        group=Axis.TP, kind=kind, shape=(size // 2,), dtype=Dtype.BFLOAT16, where="here"
    )


def test_links() -> None:
    """Halves of an all-reduce, the busiest node's share, and one way between neighbours."""
    inside, mib = Members(width=8, on_a_node=8), 2**20
    assert call_seconds(call(Kind.ALL_REDUCE, mib), inside, H100) == pytest.approx(14e-6)
    assert call_seconds(call(Kind.ALL_GATHER, mib), inside, H100) == pytest.approx(23e-6)
    assert call_seconds(call(Kind.REDUCE_SCATTER, 8 * mib), inside, H100) == pytest.approx(23e-6)
    assert call_seconds(call(Kind.ALL_GATHER, 512), inside, H100) == pytest.approx(5.7e-6)
    across = Members(width=16, on_a_node=8)
    crossing = 2 * 10e-6 + 2 * mib / 2 / (50e9 * 8)
    assert call_seconds(call(Kind.ALL_REDUCE, mib), across, H100) == pytest.approx(14e-6 + crossing)
    alone = Members(width=2, on_a_node=1)
    assert call_seconds(call(Kind.SEND, mib), alone, H100) == pytest.approx(10e-6 + mib / 50e9)
    near = Members(width=2, on_a_node=2)
    assert call_seconds(call(Kind.SEND, mib), near, H100) == pytest.approx(3.9e-6 + mib / 360e9)
    assert call_seconds(call(Kind.ALL_REDUCE, mib), Members(width=1, on_a_node=1), H100) == 0


def test_groups_that_leave_a_node_cost_more() -> None:
    model, step = load_model("llama-3.1-405b"), EngineBatch(decode=(100,) * 64)
    priced = [
        Pricer.of(
            Deployment(
                model=model,
                layout=Layout(tp=16),
                cluster=Cluster(gpu=load_gpu("h200"), gpus_per_node=size, nodes=4),
            ),
            load_rates("h200"),
        ).price(step)
        for size in (16, 8)
    ]
    assert priced[0].slowest.collectives < priced[1].slowest.collectives


def test_a_curve_has_to_rise() -> None:
    with pytest.raises(ValueError, match="rises"):
        Curve(points=((1, 2.0), (2, 1.0)), source="a sweep")


@pytest.mark.parametrize("gpu", rated_gpus())
def test_every_rate_has_a_source(gpu: str) -> None:
    table = rate_table(gpu)
    assert len(table) == 20
    assert all(rate.source and rate.value >= 0 for rate in table.values())


def test_factors_stretch_the_gpu_and_not_the_host() -> None:
    """Experts take twice as long; then everything but the host does."""
    step = EngineBatch(prefill=((64, 0),), decode=(900,) * 4)
    plain = replace(H100, expert_factor=ONE, gpu_factor=ONE)
    for name in ("one", "experts"):
        base = parts(name, step, plain)
        slow = parts(name, step, replace(plain, gpu_factor=TWO))
        host = plain.host_seconds.value
        assert slow.pop("overhead") - host == pytest.approx(2 * (base["overhead"] - host))
        assert slow == {part: pytest.approx(2 * base[part]) for part in slow}
        experts = parts(name, step, replace(plain, expert_factor=TWO))
        work = StageWork.of(deployment(name), 0)
        read = sum(one.touched(68) * one.each.bytes * count for one, count in work.routed)
        added = read / (H100.memory.value * H100.weight_read_share.value)
        assert experts["weights"] - base["weights"] == pytest.approx(added)


def test_hosts_and_pins() -> None:
    """Older engines wait for the host; without pins a rate is as it was before."""
    hosts = [load_rates("h100-80gb", engine).host_seconds.value for engine in Engine]
    assert hosts == sorted(hosts, reverse=True)
    assert load_rates("h200", Engine.V0).host_request_seconds.value > 0
    for pin in pinned_factors():
        gpu = pin.gpu or "h200"
        table, before = rate_table(gpu), load_rates(gpu, pinned=False)
        assert table[pin.rate].value == pin.value != getattr(before, pin.rate).value
        assert pin.point in table[pin.rate].source
    assert load_rates("h100-80gb").gpu_factor.value == 1


def test_a_gpu_without_rates_is_refused() -> None:
    with pytest.raises(CatalogError, match="no rates"):
        load_rates("l40s")


def test_what_is_not_modelled_is_refused() -> None:
    lora = replace(deployment("tp8"), settings=Settings(lora=True))
    with pytest.raises(CatalogError, match="lora"):
        Pricer.of(lora, H100)
    assert collectives(deployment("tp8"), Batch.decode(1))


def test_the_door() -> None:
    question = {
        "model": "llama-3.1-70b",
        "gpu": "h100-80gb",
        "args": {"tensor_parallel_size": 8, "max_model_len": 8192},
        "step": {"prefill": [[512, 0]], "decode": [1000, 2000]},
        "ask": ["seconds"],
    }
    seconds: Any = answer(question)["seconds"]
    assert seconds["total"] == pytest.approx(sum(seconds[part] for part in PARTS))
    assert seconds["bound_by"] == "compute"
    assert answer(question | {"step": {"tokens": 4}})["seconds"] is None
    assert answer(question | {"gpu": "l40s"})["seconds"] is None
    assert answer({**question, "gpu": None, "available_kv_bytes": 2**40})["seconds"] is None
