"""The rules of memory: what a budget leaves, the sentence, the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from tests.constraints.asked import Args, deployed
from vllm_parallel.catalog import load_gpu
from vllm_parallel.constraints import Stage
from vllm_parallel.ledger import stage_shards
from vllm_parallel.units import GIB
from vllm_parallel.verdict import MEMORY_RULES, Verdict

SEE: Final = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
BLOCK: Final = 32 * 16 * 4096  # bytes of 16 tokens: 32 layers, K and V of 8 heads of 128
HALF: Final = BLOCK // 2  # of a stage of 16 layers


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Budgets of every rank of a Llama 3.1 8B: too small, and enough by one byte."""

    rule: str
    args: Args
    fails: int
    passes: int
    says: str
    fix: str


def too_long(length: int, needed: str, room: str, longest: int) -> str:
    estimate = f"the estimated maximum model length is {longest}. " if longest else ""
    based = f"Based on the available memory, {estimate}" if longest else ""
    return (
        f"To serve at least one request with the model's max seq len ({length}), ({needed} GiB KV "
        "cache is needed, which is larger than the available KV cache memory "
        f"({room} GiB). {based}Try increasing `gpu_memory_utilization` (which also controls CPU "
        "memory on the CPU backend) or decreasing `max_model_len` when initializing the engine. "
        + SEE
    )


ROOMS: Final = (
    Room(
        rule="auto-fit-length",
        args={"max_model_len": -1},
        fails=2 * BLOCK - 1,
        passes=2 * BLOCK,
        says="Cannot auto-fit max_model_len: not enough GPU memory available to serve even a "
        "single token. Try increasing `gpu_memory_utilization`.",
        fix="raise --gpu-memory-utilization, or add GPUs",
    ),
    Room(
        rule="room-for-a-block",
        args={"max_model_len": 16},
        fails=BLOCK,
        passes=2 * BLOCK,
        says="No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
        "when initializing the engine (this flag also controls CPU memory reservation on the CPU "
        f"backend, despite its name). {SEE}",
        fix="stage 0 has no room for a block of 2097152 bytes: raise --gpu-memory-utilization, or "
        "add GPUs",
    ),
    Room(
        rule="room-for-a-block",
        args={"max_model_len": 16, "pp": 2},
        fails=HALF,
        passes=2 * HALF,
        says="No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
        "when initializing the engine (this flag also controls CPU memory reservation on the CPU "
        f"backend, despite its name). {SEE}",
        fix="stage 0 has no room for a block of 1048576 bytes: raise --gpu-memory-utilization, or "
        "add GPUs",
    ),
    Room(
        rule="room-for-a-request",
        args={"max_model_len": 8192},
        fails=513 * BLOCK - 1,
        passes=513 * BLOCK,
        says=too_long(8192, "1.0", "1.0", 8176),
        fix="use a --max-model-len of at most 8176, or add GPUs",
    ),
    Room(
        rule="room-for-a-request",
        args={"max_model_len": 17},
        fails=2 * BLOCK - 1,
        passes=3 * BLOCK,
        says=too_long(17, "0.0", "0.0", 0),
        fix="raise --gpu-memory-utilization, or add GPUs",
    ),
)


ASKED: Final = "asked-cache-fits-the-gpu"  # of a GPU: test_cache_that_is_asked_for


def test_every_rule_has_a_row() -> None:
    assert {ASKED, *(room.rule for room in ROOMS)} == {rule.name for rule in MEMORY_RULES}
    assert {rule.stage for rule in MEMORY_RULES} == {Stage.MEMORY}


@pytest.mark.parametrize("room", ROOMS, ids=[room.rule for room in ROOMS])
def test_room(room: Room) -> None:
    deployment = deployed("llama-3.1-8b", room.args)
    refused = Verdict.of(deployment, room.fails).refusal
    assert refused is not None
    assert (refused.name, refused.message, refused.fix) == (room.rule, room.says, room.fix)
    assert refused.stage is Stage.MEMORY
    assert Verdict.of(deployment, room.passes).accepted
    assert not Verdict.of(deployment, room.passes - 1).accepted


@pytest.mark.parametrize("pp", [1, 2])
@pytest.mark.parametrize("key", ["kv_cache_memory_bytes", "num_gpu_blocks_override"])
def test_cache_that_is_asked_for(key: str, pp: int) -> None:
    """What the GPU has beside the weights is the most that can be asked for, by either flag."""
    args: Args = {"max_model_len": 8192, "pp": pp, "gpu": "h100-80gb"}
    total = load_gpu("h100-80gb").runtime_memory_bytes
    shards = stage_shards(deployed("llama-3.1-8b", args))
    weights = max(shard.loaded_weight_bytes for shard in shards)
    each = BLOCK // pp
    most = (total - weights) // each
    of_one = each if key == "kv_cache_memory_bytes" else 1
    assert Verdict.of(deployed("llama-3.1-8b", args)).accepted
    assert Verdict.of(deployed("llama-3.1-8b", {**args, key: most * of_one})).accepted
    burst = {**args, key: (most + 1) * of_one}
    assert Verdict.of(deployed("llama-3.1-8b", {**burst, "gpu": None}), total).accepted
    refused = Verdict.of(deployed("llama-3.1-8b", burst)).refusal
    assert refused is not None
    size, held, gib = (round(n / GIB, 2) for n in ((most + 1) * each, weights, total))
    assert refused.name == ASKED
    beside = f"beside {held} GiB of weights, on a GPU of {gib} GiB."
    assert refused.message == (
        f"CUDA runs out of memory: {size} GiB of KV cache are asked for {beside}"
    )


LATE: Final = (
    ("stages-at-most-layers", "llama-3.1-8b", {"pp": 33, "max_model_len": 64}),
    (
        "interleave-divides-block",
        "llama-3.1-70b",
        {"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": 3, "max_model_len": 64},
    ),
)


@pytest.mark.parametrize("rule, model, args", LATE, ids=[rule for rule, _, _ in LATE])
def test_memory_speaks_before_the_late_rules(rule: str, model: str, args: Args) -> None:
    """Without a budget, or with one that is large enough, the late rule is the refusal."""
    deployment = deployed(model, args)
    for budget, told in ((None, rule), (0, "room-for-a-block"), (10**12, rule)):
        refused = Verdict.of(deployment, budget).refusal
        assert refused is not None
        assert refused.name == told


def test_load_speaks_before_memory() -> None:
    refused = Verdict.of(deployed("llama-3.1-8b", {"pcp": 2}), 0).refusal
    assert refused is not None
    assert refused.name == "pcp-attention-backend"
