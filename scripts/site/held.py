"""A launch of a model of the catalog, and what its pool holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from vllm_parallel import (
    Budget,
    Cluster,
    Deployment,
    KvCache,
    Layout,
    Settings,
    Verdict,
    load_model,
)
from vllm_parallel.ledger import Capacity, tightest
from vllm_parallel.render.numbers import gib


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A launch of a model, and what its pool holds."""

    deployment: Deployment

    @property
    def cache(self) -> KvCache:
        """The cache of an engine."""
        return KvCache.of(self.deployment)

    @property
    def verdict(self) -> Verdict:
        """Accepted, with its capacity, or what vLLM refuses."""
        return Verdict.of(self.deployment)

    @property
    def capacity(self) -> Capacity:
        """What the service holds.

        Raises:
            ValueError: vLLM refuses the launch.
        """
        return self.verdict.held

    @property
    def budget(self) -> Budget:
        """The budget of the rank with least left."""
        return tightest(self.deployment)

    @property
    def weights(self) -> str:
        """Weights of a rank."""
        return gib(self.budget.ledger.terms[0].bytes)

    @property
    def left(self) -> str:
        """What is left for KV on a rank."""
        return gib(self.budget.available_kv_bytes)

    @property
    def blocks(self) -> int:
        """Blocks of the pool."""
        return self.capacity.pool.num_blocks

    @property
    def block_size(self) -> int:
        """Tokens of a block on one rank, as `/metrics` has them."""
        return self.cache.block_size

    @property
    def block_tokens(self) -> int:
        """Tokens that a block stands for in the scheduler."""
        return self.block_size * self.deployment.layout.dcp

    @property
    def product(self) -> int:
        """Blocks times block size, which is not the pool's tokens with DCP."""
        return self.blocks * self.block_size

    @property
    def tokens(self) -> int:
        """Tokens of the pool."""
        return self.capacity.pool.tokens

    @property
    def full_requests(self) -> float:
        """Requests of `--max-model-len` that fit at once."""
        return self.capacity.pool.max_concurrency

    def requests(self, length: int) -> int:
        """Requests of a length that fit at once, the null block set aside."""
        pool = self.capacity.pool
        return (pool.num_blocks - 1) // pool.cache.blocks_per_request(length)


@cache
def held(model: str, layout: Layout, cluster: Cluster, settings: Settings | None = None) -> Held:
    """A launch, with vLLM's defaults where no settings are given."""
    return Held(
        deployment=Deployment(
            model=load_model(model), layout=layout, settings=settings or Settings(), cluster=cluster
        )
    )
