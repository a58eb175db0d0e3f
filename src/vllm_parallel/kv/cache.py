"""The KV cache of an engine: pages, blocks, and the groups of layers that share a block table."""

from __future__ import annotations

from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import LayoutError
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv.groups import KvGroup
from vllm_parallel.kv.plan import KvPlan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KvCache:
    """The KV cache of one engine. All groups draw blocks from one pool."""

    deployment: Deployment
    plan: KvPlan
    groups: tuple[KvGroup, ...]

    @classmethod
    def of(cls, deployment: Deployment) -> KvCache:
        """The cache that a deployment plans.

        Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_groups (v0.32.0)

        Raises:
            LayoutError: layers whose caches cannot be brought into groups.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> model = load_model("llama-3.1-70b")
        >>> cache = KvCache.of(Deployment(model=model, layout=Layout(tp=4, pp=2)))
        >>> cache.block_bytes(0), cache.blocks_per_request(8192)
        (655360, 512)
        """
        plan = KvPlan.of(deployment)
        if isinstance(plan.groups, str):
            raise LayoutError(
                rule="caches-in-groups", message=plan.groups, fix="check the layers of the config"
            )
        return cls(deployment=deployment, plan=plan, groups=plan.groups)

    @property
    def block_size(self) -> int:
        """Tokens of a block of attention, as the first stage settles on it."""
        return self.plan.pagings[0].block_size

    @property
    def stages(self) -> range:
        """Pipeline stages, from 0."""
        return range(len(self.plan.bounds) - 1)

    @property
    def filled_stages(self) -> list[int]:
        """Stages with caches: there may be more stages than layers."""
        return [stage for stage in self.stages if self.layers(stage)]

    def layers(self, stage: int) -> int:
        """Caches of a stage: a layer may have two, or read another's."""
        return self.plan.caches(stage)

    def page_bytes(self, stage: int) -> tuple[int, ...]:
        """The distinct page sizes of a stage's layers, ascending, before they are made equal."""
        return tuple(sorted({spec.page_bytes for spec in self.plan.specs(stage)}))

    def block_bytes(self, stage: int) -> int:
        """Bytes of one block on a rank of a stage: the largest group's pages.

        Source: vllm/v1/core/kv_cache_utils.py, _get_kv_cache_bytes_per_block (v0.32.0)
        """
        start, stop = self.plan.bounds[stage], self.plan.bounds[stage + 1]
        return max((group.pages_bytes(start, stop) for group in self.groups), default=0)

    @property
    def token_bytes(self) -> int:
        """Bytes of one token on a rank that keeps it, on the stage with most of them."""
        return max(self.block_bytes(stage) for stage in self.stages) // self.block_size

    def blocks_per_request(self, length: int) -> int:
        """Blocks that one request of this length takes from the pool, over all groups."""
        dcp, in_flight = self.deployment.layout.dcp, self.deployment.in_flight_tokens
        return sum(g.blocks(length, dcp=dcp, in_flight_tokens=in_flight) for g in self.groups)

    def request_bytes(self, length: int) -> int:
        """Bytes that one request of this length takes on a rank of the first stage."""
        return self.blocks_per_request(length) * self.block_bytes(0)

    def longest_request(self, blocks: int, *, at_most: int) -> int:
        """Tokens of the longest request that these blocks hold, 0 if not even one token.

        Source: vllm/v1/core/kv_cache_utils.py, _estimate_max_model_len_from_groups (v0.32.0)
        """
        if at_most > 0 and self.blocks_per_request(at_most) <= blocks:
            return at_most  # as most pools do
        fits = 0
        low, high = 1, at_most - 1
        while low <= high:
            middle = (low + high) // 2
            if self.blocks_per_request(middle) <= blocks:
                fits, low = middle, middle + 1
            else:
                high = middle - 1
        return fits
