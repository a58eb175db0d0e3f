"""Dense families: Llama, Mistral, Qwen2, Qwen3."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    attention_bias,
    grouped,
    layer_count,
    named_windows,
    refuse_activation,
    refuse_uneven_heads,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

MISTRAL_WINDOW: Final = 4096
MAX_WINDOW_LAYERS: Final = 28
Windows = list[int | None]


def read_llama(keys: Keys) -> ModelConfig:
    """Llama: biases where the config asks for them.

    Source: vllm/model_executor/models/llama.py (v0.32.0)
    """
    refuse_uneven_heads(keys)
    if keys.values.get("model_type") == "llama":  # whose class wants a truth value
        keys.refuse_null("attention_bias")
        keys.refuse_null("mlp_bias")
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    return llama_layers(keys, attention, named_windows(keys))


def read_mistral(keys: Keys) -> ModelConfig:
    """Mistral: Llama's layers, windowed unless the config says null.

    Source: vllm/model_executor/models/mistral.py (v0.32.0)
    """
    attention = grouped(keys, HeadDefaults(kv_heads=8))
    return llama_layers(keys, attention, named_windows(keys, missing=MISTRAL_WINDOW))


def read_qwen2(keys: Keys) -> ModelConfig:
    """Qwen2 and Qwen2.5: a bias on q, k and v; `head_dim` is not looked at.

    Source: vllm/model_executor/models/qwen2.py (v0.32.0)
    """
    attention = grouped(keys.without("head_dim"), HeadDefaults(kv_heads=32, null_kv_heads=True))
    return _qwen(keys, replace(attention, qkv_bias=True, qk_norm=keys.flag("qk_norm")))


def read_qwen3(keys: Keys) -> ModelConfig:
    """Qwen3: a norm on each query and key head.

    Source: vllm/model_executor/models/qwen3.py (v0.32.0)
    """
    attention = grouped(keys, HeadDefaults(kv_heads=32, head_dim=128, null_kv_heads=True))
    return _qwen(keys, replace(attention, qkv_bias=keys.flag("attention_bias"), qk_norm=True))


def llama_layers(keys: Keys, attention: GroupedQueryAttention, windows: Windows) -> ModelConfig:
    """Llama's layers around this attention, with biases where the config asks for them."""
    refuse_activation(keys)
    bias = attention_bias(keys)
    attention = replace(attention, qkv_bias=keys.flag("qkv_bias", default=bias), output_bias=bias)
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"))
    return _stacked(keys, attention, mlp, windows)


def _qwen(keys: Keys, attention: GroupedQueryAttention) -> ModelConfig:
    refuse_activation(keys)
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    return _stacked(keys, attention, mlp, _late_windows(keys))


def _stacked(
    keys: Keys, attention: GroupedQueryAttention, mlp: DenseMlp, windows: Windows
) -> ModelConfig:
    """Layers alike but for their windows."""
    kinds = {window: Block(attention=replace(attention, window=window), mlp=mlp)
             for window in dict.fromkeys(windows)}  # fmt: skip
    first = keys.count("max_window_layers", default=MAX_WINDOW_LAYERS)
    qwen = keys.text("architecture").startswith("Qwen")
    refused = qwen and len(kinds) > 1 and first != len(windows)
    traits = Traits(window_from=first if refused else None)
    blocks = [kinds[window] for window in windows]
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def _late_windows(keys: Keys) -> Windows:
    """Windows where the config turns them on, from `max_window_layers` on.

    Source: transformers, Qwen2Config.layer_types
    """
    if not keys.flag("use_sliding_window"):
        return [None] * layer_count(keys)
    if keys.items("layer_types") is not None:
        return named_windows(keys, missing=MISTRAL_WINDOW)
    window = keys.optional("sliding_window", missing=MISTRAL_WINDOW)
    first = keys.count("max_window_layers", default=MAX_WINDOW_LAYERS)
    return [window if n >= first else None for n in range(layer_count(keys))]
