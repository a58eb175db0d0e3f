"""The KV cache of an engine: pages, blocks, and the groups of layers that share a block table."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import pipeline_bounds
from vllm_parallel.model import Attention, Block, GroupedQueryAttention, LatentAttention
from vllm_parallel.units import ceil_div

FEW_PADDING_LAYERS: Final = 1.5  # kv_cache_utils.py: up to here the largest bucket sets the size
KV_DTYPES: Final = {  # beside auto, which takes the model's
    "float16": Dtype.FLOAT16,
    "bfloat16": Dtype.BFLOAT16,
    "fp8": Dtype.FLOAT8_E4M3,
    "fp8_e4m3": Dtype.FLOAT8_E4M3,
}


class KvKind(StrEnum):
    """Which tokens of a request a layer has to keep."""

    FULL = "full attention"
    WINDOW = "sliding window"
    CHUNK = "chunked local"


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSpec:
    """The cache of one kind of layer on one rank.

    `reach` is the window or chunk in tokens, 0 for full attention. Latent attention keeps one
    head and no values of its own.

    Source: vllm/v1/kv_cache_interface.py, AttentionSpec (v0.32.0)
    """

    kind: KvKind
    heads: int
    key_size: int
    value_size: int
    dtype: Dtype
    block_size: int
    reach: int = 0

    @classmethod
    def of(cls, attention: Attention, deployment: Deployment) -> KvSpec:
        """The cache of an attention layer, its KV heads cut over tp but never below one.

        Source: vllm/model_executor/layers/attention/attention.py, get_kv_cache_spec (v0.32.0)

        Raises:
            CatalogError: a cache dtype whose pages are not modelled.
        """
        dtype = _cache_dtype(deployment)
        block_size = deployment.block_size
        match attention:
            case LatentAttention():
                return cls(
                    kind=KvKind.FULL,
                    heads=1,
                    key_size=attention.latent_dim,
                    value_size=0,
                    dtype=dtype,
                    block_size=block_size,
                )
            case GroupedQueryAttention(window=window, chunk=chunk):
                kind = KvKind.WINDOW if window else KvKind.CHUNK if chunk else KvKind.FULL
                return cls(
                    kind=kind,
                    heads=max(1, attention.kv_heads // deployment.layout.tp),
                    key_size=attention.head_dim,
                    value_size=attention.head_dim,
                    dtype=dtype,
                    block_size=block_size,
                    reach=window or chunk or 0,
                )

    @property
    def token_bytes(self) -> int:
        """Bytes that one token takes in one layer on one rank."""
        return self.heads * (self.key_size + self.value_size) * self.dtype.bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of one block in one layer on one rank."""
        return self.block_size * self.token_bytes

    def blocks(self, length: int, *, dcp: int, in_flight_tokens: int) -> int:
        """Blocks that a request of this length may hold at once.

        Source: vllm/v1/kv_cache_interface.py, max_memory_usage_bytes of each spec (v0.32.0)

        >>> spec = KvSpec(kind=KvKind.WINDOW, heads=1, key_size=64, value_size=64,
        ...     dtype=Dtype.BFLOAT16, block_size=16, reach=128)
        >>> spec.blocks(131072, dcp=1, in_flight_tokens=8192)
        521
        """
        match self.kind:
            case KvKind.FULL:
                return ceil_div(ceil_div(length, dcp), self.block_size)
            case KvKind.CHUNK:
                return ceil_div(min(self.reach + in_flight_tokens, length), self.block_size)
            case KvKind.WINDOW:
                held = min(self.reach - 1 + in_flight_tokens, length)
                return ceil_div(held, self.block_size) + 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KvGroup:
    """Layers that share a block table; `layers` are their numbers, over all stages."""

    spec: KvSpec
    layers: tuple[int, ...]

    def pages_bytes(self, start: int, stop: int) -> int:
        """Bytes of one block over the group's layers in this run of layers."""
        inside = bisect_left(self.layers, stop) - bisect_left(self.layers, start)
        return inside * self.spec.page_bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KvCache:
    """The KV cache of one engine. All groups draw blocks from one pool.

    `bounds` are the first layer of each pipeline stage and the end of the last.
    """

    deployment: Deployment
    groups: tuple[KvGroup, ...]
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, deployment: Deployment) -> KvCache:
        """The cache that a deployment plans.

        Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_groups (v0.32.0)

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> model = load_model("llama-3.1-70b")
        >>> cache = KvCache.of(Deployment(model=model, layout=Layout(tp=4, pp=2)))
        >>> cache.block_bytes(0), cache.blocks_per_request(8192)
        (655360, 512)
        """
        model = deployment.model
        specs = [_spec(kind, deployment) for kind in model.kinds]
        return cls(
            deployment=deployment,
            groups=_groups(specs, model.pattern),
            bounds=tuple(pipeline_bounds(model.layers, deployment.layout.pp)),
        )

    @property
    def stages(self) -> range:
        """Pipeline stages, from 0."""
        return range(len(self.bounds) - 1)

    @property
    def filled_stages(self) -> list[int]:
        """Stages with layers: there may be more stages than layers."""
        return [stage for stage in self.stages if self.layers(stage)]

    def layers(self, stage: int) -> int:
        """Layers with a cache on a stage."""
        return self.bounds[stage + 1] - self.bounds[stage]

    def page_bytes(self, stage: int) -> tuple[int, ...]:
        """The distinct page sizes of a stage's layers, ascending."""
        start, stop = self.bounds[stage], self.bounds[stage + 1]
        pages = {g.spec.page_bytes for g in self.groups if g.pages_bytes(start, stop)}
        return tuple(sorted(pages))

    def block_bytes(self, stage: int) -> int:
        """Bytes of one block on a rank of a stage: the largest group's pages.

        Source: vllm/v1/core/kv_cache_utils.py, _get_kv_cache_bytes_per_block (v0.32.0)
        """
        start, stop = self.bounds[stage], self.bounds[stage + 1]
        return max(group.pages_bytes(start, stop) for group in self.groups)

    def blocks_per_request(self, length: int) -> int:
        """Blocks that one request of this length takes from the pool, over all groups."""
        dcp = self.deployment.layout.dcp
        in_flight = self.deployment.in_flight_tokens
        return sum(g.spec.blocks(length, dcp=dcp, in_flight_tokens=in_flight) for g in self.groups)

    def longest_request(self, blocks: int, *, at_most: int) -> int:
        """Tokens of the longest request that these blocks hold, 0 if not even one token.

        Source: vllm/v1/core/kv_cache_utils.py, _estimate_max_model_len_from_groups (v0.32.0)
        """
        fits = 0
        low, high = 1, at_most
        while low <= high:
            middle = (low + high) // 2
            if self.blocks_per_request(middle) <= blocks:
                fits, low = middle, middle + 1
            else:
                high = middle - 1
        return fits


def _spec(block: Block, deployment: Deployment) -> KvSpec:
    if block.attention is None or block.mixer is not None:
        raise CatalogError(
            subject=deployment.model.name,
            problem="has layers without attention alone, whose cache is not modelled",
            fix="size a model with attention alone on every layer",
        )
    if deployment.model.traits.sparse_attention:
        raise CatalogError(
            subject=deployment.model.name,
            problem="keeps a second cache for its indexer, which is not modelled",
            fix="size a model without an indexer",
        )
    return KvSpec.of(block.attention, deployment)


def _cache_dtype(deployment: Deployment) -> Dtype:
    asked = deployment.kv_cache_dtype
    if asked == "auto":
        return deployment.model.dtype
    if asked not in KV_DTYPES:
        raise CatalogError(
            subject=f"--kv-cache-dtype {asked}",
            problem="is not modelled",
            fix=f"modelled are auto, {', '.join(KV_DTYPES)}",
        )
    return KV_DTYPES[asked]


def _groups(specs: list[KvSpec], pattern: tuple[int, ...]) -> tuple[KvGroup, ...]:
    """Layers by kind of cache, dealt to groups of equal size.

    Source: vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size (v0.32.0)
    """
    if len(set(specs)) == 1:
        return (KvGroup(spec=specs[0], layers=tuple(range(len(pattern)))),)
    buckets: dict[KvSpec, list[int]] = defaultdict(list)
    for layer, kind in enumerate(pattern):
        buckets[specs[kind]].append(layer)
    sizes = [len(layers) for layers in buckets.values()]
    size = max(sizes) if max(sizes) < min(sizes) * FEW_PADDING_LAYERS else min(sizes)
    groups = []
    for spec, layers in buckets.items():
        count = ceil_div(len(layers), size)
        groups += [KvGroup(spec=spec, layers=tuple(layers[i::count])) for i in range(count)]
    return tuple(groups)
