"""EXAONE 4 and K-EXAONE: norms after each part, windows, a table on every layer."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    AFTER,
    FULL,
    HeadDefaults,
    attention_bias,
    every_nth_full,
    grouped,
    layer_count,
    layer_kinds,
    named_windows,
    one_each,
    refuse_activation,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

EXAONE_4: Final[JsonObject] = {
    "vocab_size": 102_400, "hidden_size": 4096, "intermediate_size": 16_384,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 2048, "sliding_window": 4096,
}  # fmt: skip
EXAONE_MOE: Final[JsonObject] = {
    **EXAONE_4, "moe_intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1,
}  # fmt: skip


def read_exaone4(keys: Keys) -> ModelConfig:
    """EXAONE 4: a norm on each query and key head; full layers keep the table unused.

    Source: vllm/model_executor/models/exaone4.py (v0.32.0)
    """
    keys = _with_kinds(keys.filled(EXAONE_4))
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"))
    attention = _attention(keys)
    blocks = [
        Block(attention=replace(attention, window=window), mlp=mlp, norms=AFTER)
        for window in named_windows(keys)
    ]
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim))


def read_exaone_moe(keys: Keys) -> ModelConfig:
    """K-EXAONE: leading dense layers, shared experts, norms before each part.

    Source: vllm/model_executor/models/exaone_moe.py (v0.32.0)
    """
    keys = _with_kinds(keys.filled(EXAONE_MOE))
    width = keys.size("moe_intermediate_size")
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("num_shared_experts") * width,
        correction_bias=True,
    )
    dense = DenseMlp(intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"))
    attention = _attention(keys)
    blocks = [
        Block(attention=replace(attention, window=window), mlp=experts if moe else dense)
        for window, moe in zip(_own_windows(keys), _sparse(keys), strict=True)
    ]
    traits = Traits(experts_at_least_tp=True, eplb=False, refuses_redundant_experts=True)
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def _attention(keys: Keys) -> GroupedQueryAttention:
    refuse_activation(keys)
    bias = attention_bias(keys)
    attention = grouped(keys, HeadDefaults())
    return replace(attention, qkv_bias=bias, output_bias=bias, qk_norm=True)


def _with_kinds(keys: Keys) -> Keys:
    """Every fourth layer is full, unless the config lists them; without a window it has to."""
    if keys.has("layer_types"):
        return keys
    keys.refuse_null("sliding_window")
    return with_kinds(keys, every_nth_full(keys, keys.size("sliding_window_pattern", default=4)))


def _own_windows(keys: Keys) -> list[int | None]:
    """Windows that the config lists one by one, or the one of all sliding layers."""
    given = keys.items("sliding_windows")
    if given is None:
        return named_windows(keys)
    listed = one_each(keys, "sliding_windows", given)
    return [
        None
        if kind == FULL
        else Keys(keys.name, {"sliding_windows": window}).size("sliding_windows")
        for kind, window in zip(layer_kinds(keys), listed, strict=True)
    ]


def _sparse(keys: Keys) -> list[bool]:
    """Which layers have experts."""
    kinds = keys.items("mlp_layer_types")
    if kinds is not None:
        return [kind == "sparse" for kind in one_each(keys, "mlp_layer_types", kinds)]
    return [n >= keys.count("first_k_dense_replace") for n in range(layer_count(keys))]
