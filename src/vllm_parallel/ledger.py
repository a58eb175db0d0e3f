"""Where a rank's memory goes, and what is left for KV."""

from __future__ import annotations

from math import ceil
from typing import Final

from vllm_parallel.cluster import Gpu
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv import KvCache
from vllm_parallel.overhead import (
    CURRENT,
    Coefficients,
    overhead_spans,
    overhead_terms,
    rounding_bytes,
)
from vllm_parallel.provenance import Provenance
from vllm_parallel.shard import Shard
from vllm_parallel.term import Span, Term

COPIES: Final = "vllm/model_executor/layers/attention/mla_attention.py"
LOADED: Final = (
    "weights", "buffers", "copies after loading", "repacked experts", "adapters",
    "allocator rounding",
)  # fmt: skip


HELD: Final = (
    ("weights", "parameters as vLLM builds them"),
    ("buffers", "rotary tables, attention scales, expert maps"),
    ("copies after loading", COPIES),
)


ADAPTERS: Final = ("adapters", "vllm/lora/layers/")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """The uses of one rank's memory, beside the KV cache.

    `spans` are the bytes of each: of `HELD`, of `ADAPTERS` where there are any, and of the
    overhead's parts.
    """

    shard: Shard
    known: Coefficients
    spans: tuple[Span, ...]

    @classmethod
    def of(cls, shard: Shard, known: Coefficients = CURRENT) -> Ledger:
        """The ledger of a shard, its overhead by a release's coefficients.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=2))
        >>> [(term.name, term.bytes) for term in Ledger.of(Shard.of(deployment, 0)).terms][:3]
        [('weights', 8030527488), ('buffers', 33554944), ('copies after loading', 0)]
        """
        held: tuple[int, ...] = (shard.loaded_weight_bytes, shard.buffer_bytes, shard.copy_bytes)
        if shard.deployment.settings.lora:
            from vllm_parallel.adapters import adapter_bytes  # noqa: PLC0415  # few have any

            held = (*held, adapter_bytes(shard))
        spans = (*map(Span.exactly, held), *overhead_spans(shard, known))
        return cls(shard=shard, known=known, spans=spans)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Each use with its name, its source and how it is known."""
        names = (*HELD, ADAPTERS) if self.shard.deployment.settings.lora else HELD
        held = tuple(
            Term(
                name=name,
                bytes=span.likely,
                provenance=Provenance.COMPUTED,
                source=source,
                release=self.known.release,
            )
            for (name, source), span in zip(names, self.spans, strict=False)
        )
        return (*held, *overhead_terms(self.spans[len(names) :], self.known))

    @property
    def used(self) -> Span:
        """All terms together, with the range they may lie in."""
        return Span.total(self.spans)

    @property
    def loaded_bytes(self) -> int:
        """What `Model loading took` counts: what torch has allocated once the model is loaded.

        Source: vllm/utils/mem_utils.py, DeviceMemoryProfiler (v0.32.0)
        """
        held = sum(term.bytes for term in self.terms if term.name in LOADED[:-1])
        return held + rounding_bytes(self.shard, whole_segments=False)

    @property
    def overhead(self) -> Span:
        """What is needed beside the weights before blocks are counted."""
        return Span.total(term.range for term in self.terms if term.name not in LOADED)

    @property
    def used_bytes(self) -> int:
        """All terms together."""
        return sum(span.likely for span in self.spans)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Budget:
    """What vLLM may use of one GPU, and what the ledger leaves of it for KV."""

    requested_bytes: int
    ledger: Ledger

    @classmethod
    def of(cls, ledger: Ledger, gpu: Gpu) -> Budget:
        """The budget of a rank on this GPU, under the deployment's utilization.

        Source: vllm/v1/worker/utils.py, request_memory (v0.32.0)
        """
        utilization = ledger.shard.deployment.settings.gpu_memory_utilization
        return cls(requested_bytes=ceil(gpu.runtime_memory_bytes * utilization), ledger=ledger)

    @property
    def available_kv_bytes(self) -> int:
        """Bytes left for KV; negative where the weights alone do not fit."""
        return self.requested_bytes - self.ledger.used_bytes

    @property
    def available(self) -> Span:
        """The same with its range: least where the terms take most."""
        used = self.ledger.used
        return Span(
            least=self.requested_bytes - used.most,
            likely=self.requested_bytes - used.likely,
            most=self.requested_bytes - used.least,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """The blocks of one engine, set by its tightest rank.

    Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs (v0.32.0)
    """

    cache: KvCache
    available_kv_bytes: tuple[int, ...]  # on the fullest rank of each stage
    num_blocks: int
    max_model_len: int

    @classmethod
    def of(cls, deployment: Deployment, available_kv_bytes: tuple[int, ...]) -> Pool:
        """The pool that these budgets make, one for each stage.

        With `--max-model-len -1` the length is fitted to the memory.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> deployment = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=8))
        >>> pool = Pool.of(deployment, (14_250_054_270,))
        >>> pool.num_blocks, pool.max_concurrency, pool.tokens
        (21743, 2.6541748046875, 347888)
        """
        cache = KvCache.of(deployment)
        blocks = deployment.settings.num_gpu_blocks_override
        if blocks is None:
            blocks = min(
                available_kv_bytes[stage] // cache.block_bytes(stage)
                for stage in cache.filled_stages
            )
        else:
            available_kv_bytes = tuple(blocks * cache.block_bytes(stage) for stage in cache.stages)
        length = deployment.max_model_len
        if deployment.settings.max_model_len == -1:
            length = cache.longest_request(blocks - 1, at_most=length)
        return cls(
            cache=cache,
            available_kv_bytes=available_kv_bytes,
            num_blocks=blocks,
            max_model_len=length,
        )

    @property
    def blocks_per_request(self) -> int:
        """Blocks of one request of `max_model_len`."""
        return self.cache.blocks_per_request(self.max_model_len)

    @property
    def max_concurrency(self) -> float:
        """Full-length requests that fit at once, as vLLM prints it: the null block counts in."""
        return self.num_blocks / self.blocks_per_request

    @property
    def tokens(self) -> int:
        """KV tokens as vLLM prints them, derived from the concurrency.

        Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_capacity (v0.32.0)
        """
        return int(self.max_concurrency * self.max_model_len)

    @property
    def longest_request(self) -> int:
        """Tokens of the longest request that the pool could hold, whatever `max_model_len` is."""
        limit = self.cache.deployment.model.context.max_model_len
        return self.cache.longest_request(self.num_blocks - 1, at_most=limit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capacity:
    """What the service holds: `engines` pools like the tightest one.

    Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs (v0.32.0)
    """

    pool: Pool
    engines: int

    @property
    def tokens(self) -> int:
        """KV tokens of the service; one request can use only one pool of them."""
        return self.pool.tokens * self.engines


def stage_shards(deployment: Deployment) -> tuple[Shard, ...]:
    """The fullest rank of each stage: its first, which holds any spare expert."""
    width = deployment.layout.pcp * deployment.layout.tp
    return tuple(Shard.of(deployment, stage * width) for stage in range(deployment.layout.pp))


def budgets_on(deployment: Deployment, gpu: Gpu) -> tuple[Budget, ...]:
    """The budget of the fullest rank of each stage, on this GPU."""
    return tuple(Budget.of(Ledger.of(shard), gpu) for shard in stage_shards(deployment))


def tightest(deployment: Deployment) -> Budget:
    """The budget of the rank with least left, which sets the pool.

    Raises:
        ValueError: no GPU is named.
    """
    gpu = deployment.cluster.gpu
    if gpu is None:
        raise ValueError("a budget needs a GPU")
    return min(budgets_on(deployment, gpu), key=lambda budget: budget.available_kv_bytes)


def available_on(deployment: Deployment, gpu: Gpu) -> tuple[int, ...]:
    """KV bytes on the fullest rank of each stage, on this GPU."""
    return tuple(budget.available_kv_bytes for budget in budgets_on(deployment, gpu))
