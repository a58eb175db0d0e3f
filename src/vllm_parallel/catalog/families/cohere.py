"""Command R, R+, R7B and A: attention and MLP side by side, the head always tied."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention, NormSpan
from vllm_parallel.catalog.families.common import (
    SLIDING,
    HeadDefaults,
    every_nth_full,
    grouped,
    layer_kinds,
    one_window,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

COHERE: Final[JsonObject] = {
    "vocab_size": 256_000, "hidden_size": 8192, "intermediate_size": 22_528,
    "num_hidden_layers": 40, "num_attention_heads": 64, "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}  # fmt: skip


def read_cohere(keys: Keys) -> ModelConfig:
    """Command R and R+: rotary tables as long as `model_max_length`.

    Source: vllm/model_executor/models/commandr.py (v0.32.0)
    """
    keys = keys.filled(COHERE)
    attention = replace(_attention(keys), window=one_window(keys))
    return _model(keys, attention, [attention.window] * keys.size("num_hidden_layers"))


def read_cohere2(keys: Keys) -> ModelConfig:
    """Command R7B and A: three of four layers see a window, and one token more."""
    keys = keys.filled({**COHERE, "sliding_window": 4096})
    keys = with_kinds(keys, every_nth_full(keys, keys.size("sliding_window_pattern", default=4)))
    window = keys.size("sliding_window") + 1
    windows = [window if kind == SLIDING else None for kind in layer_kinds(keys)]
    return _model(keys, _attention(keys), windows)


def _attention(keys: Keys) -> GroupedQueryAttention:
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    return replace(attention, qk_norm=keys.flag("use_qk_norm"), norm_span=NormSpan.HEADS)


def _model(keys: Keys, attention: GroupedQueryAttention, windows: list[int | None]) -> ModelConfig:
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    blocks = [
        Block(attention=replace(attention, window=w), mlp=mlp, norms=("input_layernorm",))
        for w in windows
    ]
    limit = keys.optional("model_max_length")
    longest = keys if limit is None else keys.with_(max_position_embeddings=limit)
    rotary = read_rotary(longest, attention.head_dim)
    return replace(whole_model(keys, blocks, rotary, Traits(whole_ends=True)), tied=True)
