"""Models of which only what caches depend on is real.

Figures named after a model are what vLLM v0.32.0 said of it under the stand-in for CUDA.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from vllm_parallel.block import (
    Attention,
    Block,
    DenseMlp,
    GroupedQueryAttention,
)
from vllm_parallel.catalog import load_gpu
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Layout
from vllm_parallel.mixer import Mixer
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import ContextLimit
from vllm_parallel.settings import Settings

BF16: Final = Dtype.BFLOAT16
HOPPER: Final = Cluster(gpu=load_gpu("h100-80gb"))
AUTO: Final = Settings(max_num_batched_tokens=8192)


def block_of(attention: Attention | None = None, mixer: Mixer | None = None) -> Block:
    return Block(attention=attention, mixer=mixer, mlp=DenseMlp(intermediate=256))


def model_of(*layers: Block, sparse: bool = False) -> ModelConfig:
    """A model of these layers; only what caches depend on is real."""
    kinds = list(dict.fromkeys(layers))
    return ModelConfig(
        name="made up",
        architecture="LlamaForCausalLM",
        dtype=BF16,
        hidden=4096,
        vocab=32000,
        kinds=tuple(kinds),
        pattern=tuple(kinds.index(layer) for layer in layers),
        tied=False,
        rotaries=(),
        context=ContextLimit(key="max_position_embeddings", tokens=8192),
        traits=Traits(sparse_attention=sparse),
    )


def heads(kv_heads: int, head_dim: int, window: int | None = None) -> GroupedQueryAttention:
    return GroupedQueryAttention(
        heads=kv_heads * 4, kv_heads=kv_heads, head_dim=head_dim, window=window
    )


def cache_of(
    model: ModelConfig,
    settings: Settings = AUTO,
    layout: Layout | None = None,
    cluster: Cluster = HOPPER,
) -> KvCache:
    layout = layout or Layout()
    return KvCache.of(Deployment(model=model, layout=layout, settings=settings, cluster=cluster))


def groups_of(cache: KvCache) -> list[tuple[str, int, int, list[int]]]:
    """Each group's kind, block size, page, and caches on each stage."""
    bounds = cache.plan.bounds
    return [
        (
            group.spec.kind.value,
            group.spec.block_size,
            group.spec.page_bytes,
            [
                sum(start <= layer < stop for layer in group.layers)
                for start, stop in pairwise(bounds)
            ],
        )
        for group in cache.groups
    ]
