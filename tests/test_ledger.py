"""Where memory goes and what is left for KV, by hand; blocks handed out one at a time."""

from __future__ import annotations

from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Gpu
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Budget, Capacity, Ledger, Pool, available_on, stage_shards
from vllm_parallel.provenance import Provenance
from vllm_parallel.settings import ExpertSettings, Settings
from vllm_parallel.shard import Shard
from vllm_parallel.units import GIB

LLAMA_8B: Final = load_model("llama-3.1-8b")  # 32 layers of 8 KV heads of 128
ONE: Final = Layout()
THREE_STAGES: Final = Layout(pp=3)
TOKEN: Final = 2 * 8 * 128 * 2  # bytes in one of its layers at tp 1


def gpu_of(runtime_memory_bytes: int) -> Gpu:
    return Gpu(
        name="made-up",
        label="made up",
        runtime_memory_bytes=runtime_memory_bytes,
        smi_memory_bytes=None,
        architecture="90",
        provenance=Provenance.ASSUMED,
        source="this test",
    )


def llama(settings: Settings, layout: Layout = ONE) -> Deployment:
    return Deployment(model=LLAMA_8B, layout=layout, settings=settings)


TP4_EP: Final = Layout(tp=4, expert_parallel=True)


@pytest.mark.parametrize(
    "name, layout, weights, buffers, copies",
    [
        ("llama-3.1-8b", Layout(tp=2), 8_030_527_488, 33_554_944, 0),
        ("deepseek-r1", Layout(tp=8, dp=2), 87_822_147_584, 20_972_496, 255_852_544),
        ("deepseek-v2-lite", TP4_EP, 7_906_319_360, 20_978_608, 28_311_552),
    ],
)
def test_terms(name: str, layout: Layout, weights: int, buffers: int, copies: int) -> None:
    """Recorded from vLLM; the overhead comes after them, by parts."""
    deployment = Deployment(model=load_model(name, as_bf16=True), layout=layout)
    ledger = Ledger.of(Shard.of(deployment, 0))
    assert [(term.name, term.bytes, term.provenance) for term in ledger.terms[:3]] == [
        ("weights", weights, Provenance.COMPUTED),
        ("buffers", buffers, Provenance.COMPUTED),
        ("copies after loading", copies, Provenance.COMPUTED),
    ]
    assert all(term.source and term.release == "0.32.0" for term in ledger.terms)
    repacked, rounding, *overhead = ledger.terms[3:]
    assert (repacked.bytes, rounding.name) == (0, "allocator rounding")
    assert ledger.overhead.likely == sum(term.bytes for term in overhead)
    held = weights + buffers + copies
    assert ledger.used_bytes == held + rounding.bytes + ledger.overhead.likely
    assert held <= ledger.loaded_bytes <= held + rounding.bytes


def test_loaded_bytes() -> None:
    """DeepSeek-V2-Lite: 26 layers of shared experts and one dense layer leave 0.5 or 1 MiB."""
    model = load_model("deepseek-v2-lite")
    ledger = Ledger.of(Shard.of(Deployment(model=model, layout=ONE), 0))
    shard = ledger.shard
    held = shard.weight_bytes + shard.buffer_bytes + shard.copy_bytes
    assert ledger.loaded_bytes == held + 26 * 2**20 + 2**19


@pytest.mark.parametrize(
    "total, utilization, requested",
    [
        (100 * 10**9, 0.9, 90 * 10**9),
        (10_000_000_001, 0.9, 9_000_000_001),  # 9,000,000,000.9 rounded up
        (10_000_000_001, 0.5, 5_000_000_001),
        (10_000_000_003, 0.92, 9_200_000_003),  # 9,200,000,002.76
        (10_000_000_003, 1.0, 10_000_000_003),
        (7, 0.5, 4),
    ],
)
def test_budget_is_rounded_up(total: int, utilization: float, requested: int) -> None:
    ledger = Ledger.of(Shard.of(llama(Settings(gpu_memory_utilization=utilization)), 0))
    assert Budget.of(ledger, gpu_of(total)).requested_bytes == requested


def test_what_is_left_for_kv() -> None:
    """80 GB at vLLM's own 0.92, less 16,060,522,496 of weights, a table, scalars, the overhead."""
    ledger = Ledger.of(Shard.of(llama(Settings()), 0))
    rounding = -(65 * 4096 * 2) % (2 * 2**20)  # norms in segments of 2 MiB
    used = 16_060_522_496 + 131072 * 128 * 2 + 32 * 4 * 4 + rounding + ledger.overhead.likely
    assert ledger.used_bytes == used
    assert Budget.of(ledger, gpu_of(80 * 10**9)).available_kv_bytes == 73_600_000_000 - used
    assert Budget.of(ledger, gpu_of(10 * 10**9)).available_kv_bytes == 9_200_000_000 - used < 0


def test_budget_of_each_stage() -> None:
    """Stages of 11, 11 and 10 layers, the first with the embedding, the last with the head."""
    layer = (32 + 2 * 8) * 128 * 4096 + 4096 * 4096 + 3 * 14336 * 4096 + 2 * 4096
    table, rotary = 128256 * 4096, 131072 * 128 * 2
    weights = (11 * layer + table, 11 * layer, 10 * layer + 4096 + table)
    asked = llama(Settings(gpu_memory_utilization=0.5), THREE_STAGES)
    rest = [sum(term.bytes for term in Ledger.of(shard).terms[3:]) for shard in stage_shards(asked)]
    used = [
        2 * parameters + rotary + layers * 16 + overhead
        for parameters, layers, overhead in zip(weights, (11, 11, 10), rest, strict=True)
    ]
    found = available_on(asked, gpu_of(100 * 10**9))
    assert found == tuple(50 * 10**9 - amount for amount in used)


def blocks_handed_out(budgets: tuple[int, ...], block_bytes: tuple[int, ...]) -> int:
    """Take one block on every stage, until a stage cannot give."""
    left, blocks = list(budgets), 0
    while all(room >= size for room, size in zip(left, block_bytes, strict=True)):
        left = [room - size for room, size in zip(left, block_bytes, strict=True)]
        blocks += 1
    return blocks


@pytest.mark.parametrize(
    "budgets, blocks",
    [
        ((720_896 * 900, 720_896 * 900, 655_360 * 900), 900),
        ((720_896 * 900, 720_896 * 700 + 720_895, 655_360 * 900), 700),
        ((720_896 * 900, 720_896 * 900, 655_360 * 600 - 1), 599),
        ((720_896 * 601 - 1, 720_896 * 900, 655_360 * 600 + 5), 600),
        ((650_000_000, 650_000_000, 650_000_000), 901),  # equal budgets: most layers bind
    ],
)
def test_tightest_stage_sets_the_pool(budgets: tuple[int, ...], blocks: int) -> None:
    """Blocks of 11, 11 and 10 layers of 16 tokens: 720,896 and 655,360 bytes."""
    sizes = (11 * 16 * TOKEN, 11 * 16 * TOKEN, 10 * 16 * TOKEN)
    assert sizes == (720_896, 720_896, 655_360)
    assert blocks_handed_out(budgets, sizes) == blocks
    pool = Pool.of(llama(Settings(max_model_len=8192), THREE_STAGES), budgets)
    assert pool.num_blocks == blocks
    assert pool.blocks_per_request == 512
    assert pool.max_concurrency == blocks / 512  # the null block counts in
    assert pool.tokens == blocks * 16


@pytest.mark.parametrize(
    "name, layout, settings, budget, blocks, concurrency, tokens",
    [
        (
            "mixtral-8x7b", Layout(), Settings(max_model_len=3001, block_size=32),
            398_458_880, 95, 1.0106382978723405, 3032,
        ),
        (
            "mixtral-8x7b", Layout(), Settings(max_model_len=3001, block_size=32),
            40_603_596_941, 9680, 102.97872340425532, 309_039,
        ),
        (
            "deepseek-v2-lite", Layout(), Settings(max_model_len=32768),
            38_914_169_844, 78_193, 38.18017578125, 1_251_088,
        ),
        (
            "qwen3-30b-a3b", Layout(tp=4, pp=2), Settings(max_model_len=10007, block_size=128),
            22_559_903_868, 14_343, 181.55696202531647, 1_816_840,
        ),
    ],
)  # fmt: skip
def test_pools_that_were_recorded(
    name: str, layout: Layout, settings: Settings, budget: int, blocks: int, concurrency: float,
    tokens: int,
) -> None:  # fmt: skip
    """Tokens come from the float of the concurrency, not from the blocks."""
    deployment = Deployment(model=load_model(name, as_bf16=True), layout=layout, settings=settings)
    pool = Pool.of(deployment, (budget,) * layout.pp)
    assert (pool.num_blocks, pool.max_concurrency, pool.tokens) == (blocks, concurrency, tokens)


@pytest.mark.parametrize(
    "blocks, length",
    [(2, 16), (3, 32), (96, 1520), (8192, 131_056), (8193, 131_072), (20_000, 131_072), (1, 0)],
)
def test_fitted_length(blocks: int, length: int) -> None:
    """With -1 a request takes what is left beside the null block, up to the config's length."""
    pool = Pool.of(llama(Settings(max_model_len=-1)), (blocks * 32 * 16 * TOKEN,))
    assert (pool.num_blocks, pool.max_model_len) == (blocks, length)


def test_override_of_the_blocks() -> None:
    """`num_gpu_blocks_override` replaces the budget, up or down, on every stage."""
    for budget in (1, 10**12):
        pool = Pool.of(llama(Settings(num_gpu_blocks_override=77), THREE_STAGES), (budget,) * 3)
        assert pool.num_blocks == 77
        assert pool.available_kv_bytes == (77 * 720_896, 77 * 720_896, 77 * 655_360)


def test_longest_request_of_a_pool() -> None:
    """Whatever `max_model_len` is; never beyond the config's length."""
    pool = Pool.of(llama(Settings(max_model_len=1024)), (513 * 32 * 16 * TOKEN,))
    assert (pool.max_model_len, pool.longest_request) == (1024, 8192)
    pool = Pool.of(llama(Settings(max_model_len=1024)), (9000 * 32 * 16 * TOKEN,))
    assert pool.longest_request == 131_072


def test_capacity_of_the_service() -> None:
    pool = Pool.of(llama(Settings(max_model_len=8192), Layout(dp=3)), (1000 * 32 * 16 * TOKEN,))
    assert pool.tokens == 16_000
    assert Capacity(pool=pool, engines=3).tokens == 48_000


UNEVEN: Final = (
    Layout(tp=4, dp=3, expert_parallel=True),  # 128 experts on 12 ranks, 11 or 10
    Layout(tp=4, pp=2, dp=3, expert_parallel=True),
    Layout(tp=2, pp=3, dp=9, expert_parallel=True),
    Layout(tp=4, pp=2, pcp=3, dp=3, expert_parallel=True),
    Layout(tp=4, pp=2, dp=2),
)
SETTINGS: Final = (
    Settings(),
    Settings(experts=ExpertSettings(eplb=True, redundant_experts=5)),
)


@pytest.mark.parametrize("name", ["qwen3-30b-a3b", "glm-4.5", "deepseek-v3"])
@pytest.mark.parametrize("layout", UNEVEN, ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=["", "redundant"])
def test_fullest_rank_of_a_stage_is_its_first(
    name: str, layout: Layout, settings: Settings
) -> None:
    """Every rank's ledger is added up; none of a stage holds more than the first."""
    model = load_model(name, as_bf16=True)
    deployment = Deployment(model=model, layout=layout, settings=settings)
    fullest = [0] * layout.pp
    for number in range(layout.ranks):
        shard = Shard.of(deployment, number)
        stage = number // (layout.tp * layout.pcp) % layout.pp
        fullest[stage] = max(fullest[stage], Ledger.of(shard).used_bytes)
    shards = stage_shards(deployment)
    assert [Ledger.of(shard).used_bytes for shard in shards] == fullest
    assert [shard.rank.pp for shard in shards] == list(range(layout.pp))


def test_h100_budget() -> None:
    """The catalog's 79.19 GiB at 0.9, one decimal place at a time."""
    ledger = Ledger.of(Shard.of(llama(Settings(gpu_memory_utilization=0.9), Layout(tp=8)), 0))
    requested = Budget.of(ledger, load_gpu("h100-80gb")).requested_bytes
    assert requested == -(-round(79.19 * GIB) * 9 // 10)
