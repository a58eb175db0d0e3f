"""Whether vLLM starts a deployment: the rules, then memory, as vLLM meets them."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

from vllm_parallel.cluster import Gpu
from vllm_parallel.constraints import (
    Constraint,
    Known,
    Stage,
    Violation,
    check_after_memory,
    check_before_memory,
)
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv import KvCache
from vllm_parallel.ledger import Capacity, Ledger, Pool, available_on, stage_shards
from vllm_parallel.units import GIB

UTILIZATION_STEPS: Final = 10_000
ADMISSION: Final = "vllm/v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory"
SEE: Final = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StageRoom:
    """What the fullest rank of a stage has for blocks, the null block set aside."""

    pool: Pool
    stage: int

    @property
    def names(self) -> Mapping[str, object]:
        """The noun by the name that the sentences of rules use."""
        return {"room": self}

    @property
    def block_bytes(self) -> int:
        """Bytes of one block on this stage."""
        return self.pool.cache.block_bytes(self.stage)

    @property
    def room_bytes(self) -> int:
        """Bytes left once the null block is taken."""
        return self.pool.available_kv_bytes[self.stage] - self.block_bytes

    @property
    def needed_bytes(self) -> int:
        """Bytes of one request of full length."""
        return self.pool.blocks_per_request * self.block_bytes

    @property
    def cache_bytes(self) -> int:
        """Bytes of all blocks."""
        return self.pool.num_blocks * self.block_bytes

    @property
    def weight_bytes(self) -> int:
        """Weights of the rank, which are loaded before."""
        return stage_shards(self.pool.cache.deployment)[self.stage].loaded_weight_bytes

    @property
    def bursts(self) -> bool:
        """Whether blocks that were asked for, and not counted from what is free, pass the GPU."""
        deployment = self.pool.cache.deployment
        settings, gpu = deployment.settings, deployment.cluster.gpu
        asked = settings.kv_cache_memory_bytes, settings.num_gpu_blocks_override
        if gpu is None or asked == (None, None):
            return False
        return self.cache_bytes + self.weight_bytes > gpu.runtime_memory_bytes

    @property
    def cache_gib(self) -> str:
        """The blocks as vLLM would print them."""
        return str(round(self.cache_bytes / GIB, 2))

    @property
    def weight_gib(self) -> str:
        """The weights as vLLM would print them."""
        return str(round(self.weight_bytes / GIB, 2))

    @property
    def gpu_gib(self) -> str:
        """What the GPU has in all."""
        gpu = self.pool.cache.deployment.cluster.gpu
        return "0" if gpu is None else str(round(gpu.runtime_memory_bytes / GIB, 2))

    @property
    def room_gib(self) -> str:
        """The room as vLLM prints it."""
        return str(round(self.room_bytes / GIB, 2))

    @property
    def needed_gib(self) -> str:
        """The need as vLLM prints it."""
        return str(round(self.needed_bytes / GIB, 2))

    @property
    def longest(self) -> int:
        """Tokens of the longest request that fits, 0 if none does."""
        blocks = self.room_bytes // self.block_bytes
        return self.pool.cache.longest_request(blocks, at_most=self.pool.max_model_len)

    @property
    def way_out(self) -> str:
        """What the user can change: the length, or the memory where no length fits."""
        shorter = f"use a --max-model-len of at most {self.longest}"
        return shorter if self.longest else "raise --gpu-memory-utilization"

    @property
    def estimate(self) -> str:
        """The sentence about the longest request, left out where none fits."""
        found = f"the estimated maximum model length is {self.longest}"
        return f"Based on the available memory, {found}. " if self.longest else ""


NOT_ONE_TOKEN: Final = (
    "Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single token. "
    "Try increasing `gpu_memory_utilization`."
)
MEMORY_RULES: Final[tuple[Constraint[StageRoom], ...]] = (
    Constraint(
        name="auto-fit-length",
        stage=Stage.MEMORY,
        broken=lambda room: room.pool.max_model_len == 0,
        says=NOT_ONE_TOKEN,
        fix="raise --gpu-memory-utilization, or add GPUs",
        source="vllm/v1/core/kv_cache_utils.py, _auto_fit_max_model_len",
        known=Known.RAISED,
    ),
    Constraint(
        name="room-for-a-block",
        stage=Stage.MEMORY,
        broken=lambda room: room.room_bytes <= 0,
        says="No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
        "when initializing the engine (this flag also controls CPU memory reservation on the CPU "
        f"backend, despite its name). {SEE}",
        fix="stage {room.stage} has no room for a block of {room.block_bytes} bytes: raise "
        "--gpu-memory-utilization, or add GPUs",
        source=ADMISSION,
        known=Known.RAISED,
    ),
    Constraint(
        name="room-for-a-request",
        stage=Stage.MEMORY,
        broken=lambda room: room.needed_bytes > room.room_bytes,
        says="To serve at least one request with the model's max seq len "
        "({room.pool.max_model_len}), ({room.needed_gib} GiB KV cache is needed, which is larger "
        "than the available KV cache memory ({room.room_gib} GiB). {room.estimate}Try increasing "
        "`gpu_memory_utilization` (which also controls CPU memory on the CPU backend) or "
        f"decreasing `max_model_len` when initializing the engine. {SEE}",
        fix="{room.way_out}, or add GPUs",
        source=ADMISSION,
        known=Known.RAISED,
    ),
    Constraint(
        name="asked-cache-fits-the-gpu",
        stage=Stage.MEMORY,
        broken=lambda room: room.bursts,
        says="CUDA runs out of memory: {room.cache_gib} GiB of KV cache are asked for beside "
        "{room.weight_gib} GiB of weights, on a GPU of {room.gpu_gib} GiB.",
        fix="lower --kv-cache-memory-bytes or --num-gpu-blocks-override, which vLLM takes as they "
        "are; or drop them",
        source="vllm/v1/worker/gpu_worker.py, Worker.determine_available_memory",
        known=Known.READ,
        bare=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdict:
    """Accepted with a capacity, or refused with the first sentence that vLLM says.

    `capacity` is None where it is refused, or where no budget is known.
    """

    refusal: Violation | None
    capacity: Capacity | None

    @classmethod
    def of(cls, deployment: Deployment, available_kv_bytes: int | None = None) -> Verdict:
        """The verdict, with this KV budget on every rank or else the cluster's GPU.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> deployment = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=5))
        >>> Verdict.of(deployment).refusal.message
        'Total number of attention heads (64) must be divisible by tensor parallel size (5).'
        """
        refusal = check_before_memory(deployment)
        if refusal is not None:
            return cls(refusal=refusal, capacity=None)
        available = budgets(deployment, available_kv_bytes)
        if available is None:
            return cls(refusal=check_after_memory(deployment), capacity=None)
        pool = Pool.of(deployment, available)
        refusal = refusal_of_memory(pool) or check_after_memory(deployment)
        engines = deployment.layout.dp
        capacity = None if refusal else Capacity(pool=pool, engines=engines)
        return cls(refusal=refusal, capacity=capacity)

    @property
    def held(self) -> Capacity:
        """What the service holds once it runs.

        Raises:
            ValueError: vLLM refuses it, or no budget is known.
        """
        if self.capacity is None:
            raise ValueError("no budget is known" if self.refusal is None else self.refusal.message)
        return self.capacity

    @property
    def accepted(self) -> bool:
        """Whether vLLM starts."""
        return self.refusal is None


def budgets(deployment: Deployment, available_kv_bytes: int | None) -> tuple[int, ...] | None:
    """KV bytes of each stage, None if neither a budget nor a GPU is given."""
    given = given_kv_bytes(deployment, available_kv_bytes)
    if given is not None:
        return (given,) * deployment.layout.pp
    gpu = deployment.cluster.gpu
    return None if gpu is None else available_on(deployment, gpu)


def given_kv_bytes(deployment: Deployment, available_kv_bytes: int | None) -> int | None:
    """The KV budget of every rank that is given: by `--kv-cache-memory-bytes`, or beside it."""
    asked = deployment.settings.kv_cache_memory_bytes
    return available_kv_bytes if asked is None else asked


def refusal_of_memory(pool: Pool) -> Violation | None:
    """The admission test: one request of full length beside the null block, stage by stage.

    Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs (v0.32.0)
    """
    for stage in pool.cache.filled_stages:
        room = StageRoom(pool=pool, stage=stage)
        for rule in MEMORY_RULES:
            if rule.broken(room):
                return rule.violation(room)
    return None


def smallest_utilization(deployment: Deployment, gpu: Gpu, *, requests: int, length: int) -> float:
    """The smallest `--gpu-memory-utilization` that holds so many requests of this length.

    Above 1 the GPU is too small for the load. The null block is counted.

    >>> from vllm_parallel.catalog import load_gpu, load_model
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout())
    >>> round(smallest_utilization(deployment, load_gpu("h100-80gb"), requests=8, length=8192), 3)
    0.309
    """
    cache = KvCache.of(deployment)
    blocks = requests * cache.blocks_per_request(length) + 1
    needed = max(
        Ledger.of(shard).used_bytes + blocks * cache.block_bytes(stage)
        for stage, shard in enumerate(stage_shards(deployment))
    )
    total = gpu.runtime_memory_bytes
    steps = needed * UTILIZATION_STEPS // total - 1
    # vLLM rounds its product up, so one step less than the quotient says may do.
    while ceil(total * (steps / UTILIZATION_STEPS)) < needed:
        steps += 1
    return steps / UTILIZATION_STEPS
