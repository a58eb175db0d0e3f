"""Gemma, Gemma 2 and Gemma 3: scaled embeddings, norms before and after, local layers."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    FULL,
    SLIDING,
    HeadDefaults,
    every_nth_full,
    grouped,
    in_bfloat16,
    layer_kinds,
    named_windows,
    refuse_activation,
    refuse_uneven_heads,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_context, read_rotaries, read_rotary
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import Rotary

TANH: Final = "gelu_pytorch_tanh"
GEMMA: Final[JsonObject] = {
    "vocab_size": 256_000, "hidden_size": 3072, "intermediate_size": 24_576,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
    "head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": True,
}  # fmt: skip
GEMMA_2: Final[JsonObject] = {
    "vocab_size": 256_000, "hidden_size": 2304, "intermediate_size": 9216,
    "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    "max_position_embeddings": 8192, "sliding_window": 4096, "tie_word_embeddings": True,
}  # fmt: skip
GEMMA_3: Final[JsonObject] = {
    **GEMMA_2, "vocab_size": 262_208, "max_position_embeddings": 131_072,
}  # fmt: skip
THETAS: Final = {SLIDING: 10_000.0, FULL: 1_000_000.0}
TWO_NORMS: Final = ("input_layernorm", "post_attention_layernorm")
FOUR_NORMS: Final = (
    "input_layernorm", "post_attention_layernorm",
    "pre_feedforward_layernorm", "post_feedforward_layernorm",
)  # fmt: skip
SCALED_EMBEDDING: Final = Ends(buffers=(Extra(name="normalizer", rows=1),))


def read_gemma(keys: Keys) -> ModelConfig:
    """Gemma: Llama's layers with wide heads.

    Source: vllm/model_executor/models/gemma.py (v0.32.0)
    """
    keys = keys.filled(GEMMA)
    if keys.values.get("hidden_activation") != "gelu":
        refuse_activation(keys, "hidden_activation", TANH)
    attention = grouped(keys, HeadDefaults())
    blocks = [_block(keys, replace(attention, window=window)) for window in named_windows(keys)]
    rotary = read_rotary(keys, attention.head_dim)
    return _around(keys, blocks, rotary)


def read_gemma2(keys: Keys) -> ModelConfig:
    """Gemma 2: every second layer sees a window, and the head always is the embedding.

    Source: vllm/model_executor/models/gemma2.py (v0.32.0)
    """
    keys = in_bfloat16(keys.filled(GEMMA_2))
    refuse_uneven_heads(keys)
    refuse_activation(keys, "hidden_activation", TANH)
    keys = with_kinds(keys, every_nth_full(keys, 2))
    attention = _biased(keys)
    blocks = [
        _block(keys, replace(attention, window=window), FOUR_NORMS)
        for window in named_windows(keys)
    ]
    rotary = read_rotary(keys, attention.head_dim)
    model = _around(keys, blocks, rotary)
    return replace(model, tied=True, traits=replace(model.traits, no_float16="gemma2"))


def read_gemma3(keys: Keys) -> ModelConfig:
    """Gemma 3, its text part: local layers with a rotary base of their own.

    Source: vllm/model_executor/models/gemma3.py (v0.32.0)
    """
    keys = in_bfloat16(keys.filled(GEMMA_3))
    refuse_uneven_heads(keys)
    keys.refuse_null("sliding_window_pattern")
    keys = with_kinds(keys, every_nth_full(keys, keys.size("sliding_window_pattern", default=6)))
    keys = _two_bases(_bidirectional(keys))
    kinds = layer_kinds(keys)
    attention = replace(_biased(keys), qk_norm=True)
    tables, numbers = read_rotaries(keys, dict.fromkeys(kinds, attention.head_dim))
    blocks = [
        _block(keys, replace(attention, window=window, rotary=numbers[kind]), FOUR_NORMS)
        for window, kind in zip(named_windows(keys), kinds, strict=True)
    ]
    model = _around(keys, blocks, tables)
    traits = replace(model.traits, no_float16="gemma3_text")
    return replace(model, traits=traits, context=read_context(keys, scaled=False))


def _block(
    keys: Keys, attention: GroupedQueryAttention, norms: tuple[str, ...] = TWO_NORMS
) -> Block:
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    return Block(attention=attention, mlp=mlp, norms=norms)


def _biased(keys: Keys) -> GroupedQueryAttention:
    bias = keys.flag("attention_bias")
    return replace(grouped(keys, HeadDefaults()), qkv_bias=bias, output_bias=bias)


def _around(keys: Keys, blocks: list[Block], rotary: Rotary | tuple[Rotary, ...]) -> ModelConfig:
    """Embedding, norm and head are on every stage, with the root that embeddings are scaled by."""
    model = whole_model(keys, blocks, rotary, Traits(whole_ends=True))
    return replace(model, ends=SCALED_EMBEDDING)


def _bidirectional(keys: Keys) -> Keys:
    """A window that looks both ways is halved: transformers, Gemma3TextConfig."""
    if not keys.flag("use_bidirectional_attention"):
        return keys
    window = keys.size("sliding_window") // 2 + 1
    return keys.with_(sliding_window=window)


def _two_bases(keys: Keys) -> Keys:
    """Rope keys for each kind of layer; scaling is for the full ones alone.

    Source: transformers, Gemma3TextConfig.convert_rope_params_to_dict
    """
    given = keys.nested("rope_parameters") or Keys(keys.name, {})
    scaling = keys.nested("rope_scaling") or Keys(keys.name, {})
    full, local = given.nested(FULL), given.nested(SLIDING)
    of_full = {**(full.values if full else {}), **scaling.values}
    of_local = {**(local.values if local else {})}
    of_full.setdefault("rope_theta", keys.values.get("rope_theta", THETAS[FULL]))
    of_local.setdefault("rope_theta", keys.values.get("rope_local_base_freq", THETAS[SLIDING]))
    return keys.with_(rope_parameters={FULL: of_full, SLIDING: of_local}, rope_scaling=None)
