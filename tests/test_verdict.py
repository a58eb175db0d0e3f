"""Refused for want of memory, in vLLM's words; accepted with a pool."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster, Gpu
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Pool, available_on
from vllm_parallel.provenance import Provenance
from vllm_parallel.settings import Settings
from vllm_parallel.verdict import Verdict, refusal_of_memory, smallest_utilization

LLAMA_8B: Final = load_model("llama-3.1-8b")
ONE: Final = Layout()
BLOCK: Final = 32 * 16 * 4096  # bytes: layers, tokens, K and V of 8 heads of 128
H100: Final = load_gpu("h100-80gb")

NO_ROOM: Final = (
    "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
    "initializing the engine (this flag also controls CPU memory reservation on the CPU backend, "
    "despite its name). See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
)
NO_TOKEN: Final = (
    "Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single "
    "token. Try increasing `gpu_memory_utilization`."
)


def too_long(length: int, needed: str, room: str, longest: int | None) -> str:
    """vLLM's sentence, its bracket unbalanced as there."""
    estimate = (
        ""
        if longest is None
        else f"Based on the available memory, the estimated maximum model length is {longest}. "
    )
    return (
        f"To serve at least one request with the model's max seq len ({length}), ({needed} GiB KV "
        "cache is needed, which is larger than the available KV cache memory "
        f"({room} GiB). {estimate}Try increasing `gpu_memory_utilization` (which also controls "
        "CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the "
        "engine. See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more "
        "details."
    )


def llama(settings: Settings, layout: Layout = ONE, gpu: Gpu | None = None) -> Deployment:
    cluster = Cluster(gpu=gpu)
    return Deployment(model=LLAMA_8B, layout=layout, settings=settings, cluster=cluster)


def message(verdict: Verdict) -> str | None:
    assert verdict.accepted is (verdict.refusal is None)
    if verdict.refusal is None:
        return None
    assert verdict.capacity is None
    assert verdict.refusal.stage == "memory"
    return verdict.refusal.message


def test_null_block() -> None:
    """A request of 512 blocks needs 513, to the byte."""
    asked = llama(Settings(max_model_len=8192))
    assert message(Verdict.of(asked, 513 * BLOCK)) is None
    for budget in (512 * BLOCK, 513 * BLOCK - 1):
        assert message(Verdict.of(asked, budget)) == too_long(8192, "1.0", "1.0", 8176)
    accepted = Verdict.of(asked, 513 * BLOCK).capacity
    assert accepted is not None
    assert (accepted.pool.num_blocks, accepted.pool.tokens) == (513, 8208)


LITE: Final = ("deepseek-v2-lite", ONE, Settings(max_model_len=32768))
MIXTRAL: Final = ("mixtral-8x7b", ONE, Settings(max_model_len=3001, block_size=32))
QWEN: Final = (
    "qwen3-30b-a3b",
    Layout(tp=4, pp=2),
    Settings(max_model_len=10007, block_size=128),
)
RECORDED: Final = (
    (LITE, 1_019_713_536, None),
    (LITE, 1_019_713_535, too_long(32768, "0.95", "0.95", 32752)),
    (LITE, 1_019_215_872, too_long(32768, "0.95", "0.95", 32752)),
    (LITE, 509_607_941, too_long(32768, "0.95", "0.47", 16368)),
    (LITE, 995_328, too_long(32768, "0.95", "0.0", 16)),
    (LITE, 497_665, too_long(32768, "0.95", "0.0", None)),  # not even one token
    (LITE, 497_664, NO_ROOM),
    (LITE, 497_663, NO_ROOM),
    (LITE, 0, NO_ROOM),
    (LITE, -1, NO_ROOM),
    (LITE, -3_483_661, NO_ROOM),
    (MIXTRAL, 398_458_880, None),
    (MIXTRAL, 398_458_879, too_long(3001, "0.37", "0.37", 2976)),
    (MIXTRAL, 394_264_576, too_long(3001, "0.37", "0.36", 2976)),
    (MIXTRAL, 8_388_608, too_long(3001, "0.37", "0.0", 32)),
    (MIXTRAL, 4_194_305, too_long(3001, "0.37", "0.0", None)),
    (MIXTRAL, 4_194_304, NO_ROOM),
    (QWEN, 125_829_120, None),
    (QWEN, 125_829_119, too_long(10007, "0.12", "0.12", 9984)),
    (QWEN, 124_256_256, too_long(10007, "0.12", "0.11", 9984)),
    (QWEN, 61_341_701, too_long(10007, "0.12", "0.06", 4864)),
    (QWEN, 3_145_728, too_long(10007, "0.12", "0.0", 128)),
    (QWEN, 1_572_865, too_long(10007, "0.12", "0.0", None)),
    (QWEN, 1_572_864, NO_ROOM),
)


@pytest.mark.parametrize("asked, budget, says", RECORDED)
def test_sentences_that_were_recorded(
    asked: tuple[str, Layout, Settings], budget: int, says: str | None
) -> None:
    """Rows of the engine's own answers under CUDA's choices, from ample to below nothing."""
    name, layout, settings = asked
    deployment = Deployment(model=load_model(name), layout=layout, settings=settings)
    assert message(Verdict.of(deployment, budget)) == says


@pytest.mark.parametrize(
    "name, budget, blocks, length",
    [
        ("qwen3-32b", 405_505_536, 96, 1520),
        ("qwen3-32b", 3_145_728, None, NO_TOKEN),
        ("qwen3-32b", 0, None, NO_TOKEN),
        ("qwen3-32b", -5, None, NO_TOKEN),
        ("llama-3.1-8b", 2 * BLOCK, 2, 16),
        ("llama-3.1-8b", 2 * BLOCK - 1, None, NO_TOKEN),
        ("llama-3.1-8b", 8193 * BLOCK, 8193, 131_072),
        ("llama-3.1-8b", 10_000 * BLOCK, 10_000, 131_072),
    ],
)
def test_auto_fit(name: str, budget: int, blocks: int | None, length: int | str) -> None:
    """With -1 the length is what fits; another sentence where not one token does."""
    deployment = Deployment(model=load_model(name), layout=ONE, settings=Settings(max_model_len=-1))
    verdict = Verdict.of(deployment, budget)
    if blocks is None:
        assert message(verdict) == length
        return
    assert message(verdict) is None
    assert verdict.capacity is not None
    pool = verdict.capacity.pool
    assert (pool.num_blocks, pool.max_model_len) == (blocks, length)
    assert pool.tokens == int(blocks / (pool.max_model_len // 16) * pool.max_model_len)


def test_first_failing_stage_speaks() -> None:
    """Stages are asked in order, each about the null block, then about one request."""
    asked = llama(Settings(max_model_len=8192), Layout(pp=2))
    half, enough = BLOCK // 2, 513 * (BLOCK // 2)

    def says(*budgets: int) -> str | None:
        refusal = refusal_of_memory(Pool.of(asked, budgets))
        return None if refusal is None else refusal.message

    assert says(enough, enough) is None
    assert says(enough, half) == NO_ROOM
    assert says(half, enough) == NO_ROOM
    assert says(101 * half, half) == too_long(8192, "0.5", "0.1", 1600)
    assert says(half, 101 * half) == NO_ROOM
    assert says(enough, 201 * half) == too_long(8192, "0.5", "0.2", 3200)
    assert says(301 * half, 201 * half) == too_long(8192, "0.5", "0.29", 4800)


def test_uneven_stages_need_their_own_bytes() -> None:
    """11, 11 and 10 layers: the last stage needs less for the same 512 blocks."""
    asked = llama(Settings(max_model_len=8192), Layout(pp=3))
    eleven, ten = 11 * 16 * 4096, 10 * 16 * 4096
    fits = (513 * eleven, 513 * eleven, 513 * ten)
    assert refusal_of_memory(Pool.of(asked, fits)) is None
    for stage in range(3):
        budgets = list(fits)
        budgets[stage] -= 1
        refusal = refusal_of_memory(Pool.of(asked, tuple(budgets)))
        assert refusal is not None
        gib = "0.34" if stage < 2 else "0.31"
        assert refusal.message == too_long(8192, gib, gib, 8176)


def test_given_bytes_win() -> None:
    """`--kv-cache-memory-bytes` stands before a given budget, and both before the GPU."""
    small, large = 100 * BLOCK, 1000 * BLOCK
    for layout in (ONE, Layout(pp=2)):
        blocks = large // (BLOCK // layout.pp)
        asked = llama(Settings(max_model_len=1024, kv_cache_memory_bytes=large), layout, H100)
        for budget in (None, 0, small):
            verdict = Verdict.of(asked, budget)
            assert verdict.capacity is not None
            assert verdict.capacity.pool.num_blocks == blocks
    plain = llama(Settings(max_model_len=1024), gpu=H100)
    verdict = Verdict.of(plain, small)
    assert verdict.capacity is not None
    assert verdict.capacity.pool.num_blocks == 100
    verdict = Verdict.of(plain)
    assert verdict.capacity is not None
    assert verdict.capacity.pool.num_blocks == available_on(plain, H100)[0] // BLOCK


def test_override_of_the_blocks() -> None:
    """The blocks that were asked for are judged like any others."""
    for budget in (0, 10**12):
        for blocks, says in ((513, None), (512, too_long(8192, "1.0", "1.0", 8176)), (1, NO_ROOM)):
            asked = llama(Settings(max_model_len=8192, num_gpu_blocks_override=blocks))
            verdict = Verdict.of(asked, budget)
            assert message(verdict) == says
            if verdict.capacity is not None:
                assert verdict.capacity.pool.num_blocks == blocks


def test_without_a_budget() -> None:
    """Neither budget nor GPU: nothing is refused for memory, and nothing is claimed."""
    verdict = Verdict.of(llama(Settings()))
    assert (verdict.accepted, verdict.capacity) == (True, None)


def test_rules_come_before_memory() -> None:
    verdict = Verdict.of(llama(Settings(), Layout(tp=3)), 0)
    assert verdict.refusal is not None
    assert verdict.refusal.message == (
        "Total number of attention heads (32) must be divisible by tensor parallel size (3)."
    )
    assert (verdict.accepted, verdict.capacity) == (False, None)


def test_weights_that_do_not_fit() -> None:
    """141 GB of weights on one H100: the budget is negative."""
    model = load_model("llama-3.1-70b")
    deployment = Deployment(model=model, layout=ONE, cluster=Cluster(gpu=H100))
    assert available_on(deployment, H100)[0] < -60 * 10**9
    assert message(Verdict.of(deployment)) == NO_ROOM


def test_every_replica_has_a_pool() -> None:
    verdict = Verdict.of(llama(Settings(max_model_len=8192), Layout(dp=4)), 1000 * BLOCK)
    assert verdict.capacity is not None
    assert (verdict.capacity.engines, verdict.capacity.tokens) == (4, 64_000)


TINY: Final = Gpu(
    name="made-up",
    label="made up",
    runtime_memory_bytes=30_000_000_001,
    smi_memory_bytes=None,
    architecture="90",
    provenance=Provenance.ASSUMED,
    source="this test",
)


@pytest.mark.parametrize("requests, length", [(1, 1), (1, 8192), (8, 8192), (37, 3001), (2, 40960)])
@pytest.mark.parametrize("gpu", [H100, TINY], ids=lambda gpu: gpu.name)
@pytest.mark.parametrize(
    "name, layout",
    [
        ("llama-3.1-8b", ONE),
        ("llama-3.1-8b", Layout(pp=3)),
        ("llama-3.1-70b", Layout(tp=8)),
        ("qwen3-30b-a3b", Layout(tp=4, pp=2, dp=3, expert_parallel=True)),
        ("gpt-oss-120b", Layout(tp=8)),
        ("deepseek-v2-lite", Layout(tp=2)),
    ],
)
def test_smallest_utilization(
    name: str, layout: Layout, gpu: Gpu, requests: int, length: int
) -> None:
    """The load fits at that utilization, and at 0.0001 less it does not."""
    model = load_model(name, as_bf16=True)

    def at(utilization: float) -> Deployment:
        settings = Settings(gpu_memory_utilization=utilization, max_model_len=length)
        return Deployment(model=model, layout=layout, settings=settings, cluster=Cluster(gpu=gpu))

    def holds(utilization: float) -> bool:
        deployment = at(utilization)
        pool = Pool.of(deployment, available_on(deployment, gpu))
        return (pool.num_blocks - 1) // pool.blocks_per_request >= requests

    least = smallest_utilization(at(0.5), gpu, requests=requests, length=length)
    assert least == round(least, 4)
    assert holds(least)
    assert not holds(round(least - 0.0001, 4))
    if requests == 1 and least <= 1:
        assert Verdict.of(at(least)).accepted
        assert not Verdict.of(at(round(least - 0.0001, 4))).accepted


def test_smallest_utilization_of_a_load_that_fits_exactly() -> None:
    """On a GPU of twice the bytes that are needed, it is a half to the last step."""
    deployment = Deployment(model=LLAMA_8B, layout=ONE, cluster=Cluster(gpu=H100))
    whole = replace(deployment, settings=Settings(gpu_memory_utilization=1.0))
    used = H100.runtime_memory_bytes - min(available_on(whole, H100))
    needed = used + (8 * 512 + 1) * BLOCK  # 512 blocks hold 8192 tokens
    gpu = replace(H100, runtime_memory_bytes=2 * needed)
    assert smallest_utilization(deployment, gpu, requests=8, length=8192) == 0.5
