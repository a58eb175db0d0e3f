"""What the families of vLLM's Transformers backend share: the library's layers, fused and cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    named_windows,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotated
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

FREQUENCIES: Final = ("inv_freq", "original_inv_freq")


def heads(
    keys: Keys, *, qkv_bias: bool = False, output_bias: bool = False
) -> GroupedQueryAttention:
    """Attention without a rotary table: the backend keeps frequencies on every stage."""
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    return replace(attention, qkv_bias=qkv_bias, output_bias=output_bias, rotates=False)


def dense(keys: Keys, *, bias: bool = False, gated: bool = True) -> DenseMlp:
    """The MLP of these families."""
    return DenseMlp(intermediate=keys.size("intermediate_size"), bias=bias, gated=gated)


def built(
    keys: Keys, block: Block, ends: Ends | None = None, traits: Traits | None = None
) -> ModelConfig:
    """The model of blocks alike but for their windows; frequencies of one kind unless given.

    Source: vllm/model_executor/models/transformers/base.py (v0.32.0)
    """
    _refuse_padding(keys)
    attention, ends = block.attention, ends or Ends()
    assert isinstance(attention, GroupedQueryAttention)
    if not ends.buffers:
        rotated = {"": read_rotated(keys, attention.head_dim)}
        ends = replace(ends, buffers=frequencies(rotated))
    blocks = [
        replace(block, attention=replace(attention, window=window))
        for window in named_windows(keys)
    ]
    return replace(whole_model(keys, blocks, (), traits), ends=ends)


def frequencies(dims: Mapping[str, int]) -> tuple[Extra, ...]:
    """Two vectors in fp32 for each prefix, one number for two elements of a head."""
    return tuple(
        Extra(name=f"rotary_emb.{prefix}{name}", rows=dim // 2, dtype=Dtype.FLOAT32)
        for prefix, dim in dims.items()
        for name in FREQUENCIES
    )


def _refuse_padding(keys: Keys) -> None:
    """The padding token has to have a row in the embedding: torch refuses it otherwise."""
    token = keys.optional("pad_token_id")
    if token is not None and token >= keys.size("vocab_size"):
        raise CatalogError(
            subject=keys.name,
            problem=f"pads with token {token} of {keys.size('vocab_size')}",
            fix="give a pad_token_id inside the vocabulary",
        )
