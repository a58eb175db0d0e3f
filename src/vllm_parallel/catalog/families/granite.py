"""Granite, dense and with experts, with and without windows."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    FULL,
    SLIDING,
    HeadDefaults,
    attention_bias,
    grouped,
    layer_count,
    named_windows,
    one_each,
    refuse_activation,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary, rope_keys
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

GRANITE: Final[JsonObject] = {
    "vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 11_008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048,
}  # fmt: skip
GRANITE_MOE: Final[JsonObject] = {
    **GRANITE, "num_local_experts": 8, "num_experts_per_tok": 2,
}  # fmt: skip
GRANITE_WINDOWS: Final[JsonObject] = {
    "vocab_size": 100_352, "hidden_size": 2560, "intermediate_size": 8192,
    "num_hidden_layers": 24, "num_attention_heads": 20, "num_key_value_heads": 4,
    "max_position_embeddings": 8192, "sliding_window": 128, "tie_word_embeddings": True,
}  # fmt: skip
SHARED_MLP: Final = (
    ("mlp.shared_experts.gate_up_proj", "shared_mlp.input_linear"),
    ("mlp.shared_experts.down_proj", "shared_mlp.output_linear"),
)


def read_granite(keys: Keys) -> ModelConfig:
    """Granite: Llama's layers.

    Source: vllm/model_executor/models/granite.py (v0.32.0)
    """
    return _dense(keys.filled(GRANITE))


def read_granite_windows(keys: Keys) -> ModelConfig:
    """Granite with windows: three of four layers slide, each head has a sink."""
    keys = keys.filled(GRANITE_WINDOWS)
    return _dense(with_kinds(keys, _every_fourth_full(keys)))


def read_granite_moe(keys: Keys) -> ModelConfig:
    """Granite with experts on every layer, ends on every stage.

    Source: vllm/model_executor/models/granitemoe.py (v0.32.0)
    """
    return _sparse(keys.filled(GRANITE_MOE), 0)


def read_granite_moe_shared(keys: Keys) -> ModelConfig:
    """Granite with experts and a shared MLP beside them.

    Source: vllm/model_executor/models/granitemoeshared.py (v0.32.0)
    """
    keys = keys.filled(GRANITE_MOE)
    return _sparse(keys, keys.count("shared_intermediate_size"))


def read_granite_moe_windows(keys: Keys) -> ModelConfig:
    """Granite with experts, a shared MLP and windows."""
    keys = keys.filled({**GRANITE_MOE, "sliding_window": 128})
    keys = with_kinds(keys, _every_fourth_full(keys))
    return _sparse(keys, keys.count("shared_intermediate_size"))


def _dense(keys: Keys) -> ModelConfig:
    refuse_activation(keys)
    bias = attention_bias(keys)
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    attention = replace(attention, qkv_bias=bias, output_bias=bias)
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"))
    return _model(keys, attention, Block(attention=None, mlp=mlp), Traits())


def _sparse(keys: Keys, shared: int) -> ModelConfig:
    attention = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    experts = Experts(
        count=keys.size("num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
        shared_intermediate=shared,
    )
    block = Block(attention=None, mlp=experts, names=SHARED_MLP if shared else ())
    return _model(keys, attention, block, Traits(whole_ends=True, eplb=False))


def _model(
    keys: Keys, attention: GroupedQueryAttention, block: Block, traits: Traits
) -> ModelConfig:
    """Blocks that differ by window and rotary base; a base of 0 is no rotation.

    Source: vllm/model_executor/models/granite.py, granite_layer_attn_params (v0.32.0)
    """
    layers = layer_count(keys)
    base = rope_keys(keys).values["rope_theta"]
    given = keys.items("layer_rope_theta")
    bases = [base] * layers if given is None else one_each(keys, "layer_rope_theta", given)
    numbers = {turn: number for number, turn in enumerate(dict.fromkeys(b for b in bases if b))}
    sinks = keys.flag("attention_sinks", default=keys.items("layer_types") is not None)
    attention = replace(attention, sinks=sinks)
    blocks = [
        replace(
            block,
            attention=replace(
                attention, window=window, rotates=bool(turn), rotary=numbers.get(turn, 0)
            ),
        )
        for window, turn in zip(named_windows(keys), bases, strict=True)
    ]
    table = read_rotary(keys, attention.head_dim)
    return whole_model(keys, blocks, (table,) * max(1, len(numbers)), traits)


def _every_fourth_full(keys: Keys) -> list[object]:
    """The first of four layers is full: transformers, GraniteSWAConfig."""
    return [SLIDING if n % 4 else FULL for n in range(layer_count(keys))]
