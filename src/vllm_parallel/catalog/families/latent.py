"""Families with latent attention: DeepSeek-V2, V3, R1, Kimi-K2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vllm_parallel.catalog.families.common import (
    dense_or,
    layer_count,
    refuse_uneven_heads,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_yarn
from vllm_parallel.model import Block, Experts, LatentAttention, ModelConfig, Traits

Q_LORA_RANK: Final = 1536  # where the key is missing; null means none


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a generation's config class fills in."""

    shared_experts: int
    dense_layers: int


def read_deepseek_v2(keys: Keys) -> ModelConfig:
    """DeepSeek-V2: `transformers` wants the heads to divide the hidden size."""
    refuse_uneven_heads(keys)
    return _read(keys, Defaults(shared_experts=2, dense_layers=0))


def read_deepseek_v3(keys: Keys) -> ModelConfig:
    """DeepSeek-V3, R1 and Kimi-K2."""
    return _read(keys, Defaults(shared_experts=1, dense_layers=3))


def _read(keys: Keys, defaults: Defaults) -> ModelConfig:
    """Latent attention, leading dense layers, shared experts, a head of its own.

    Source: vllm/model_executor/models/deepseek_v2.py (v0.32.0)
    """
    attention = LatentAttention(
        heads=keys.size("num_attention_heads"),
        q_lora_rank=keys.optional("q_lora_rank", missing=Q_LORA_RANK),
        kv_lora_rank=keys.size("kv_lora_rank"),
        nope_dim=keys.size("qk_nope_head_dim"),
        rope_dim=keys.size("qk_rope_head_dim"),
        value_dim=keys.size("v_head_dim"),
    )
    width = keys.size("moe_intermediate_size")
    experts = Experts(
        count=keys.size("n_routed_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("n_shared_experts", default=defaults.shared_experts) * width,
        correction_bias=keys.text("topk_method", default="") == "noaux_tc",
    )
    first = keys.count("first_k_dense_replace", default=defaults.dense_layers)
    step = keys.size("moe_layer_freq", default=1)
    sparse = [n >= first and n % step == 0 for n in range(layer_count(keys))]
    mlps = [dense_or(keys, experts, moe=moe) for moe in sparse]
    blocks = [Block(attention=attention, mlp=mlp) for mlp in mlps]
    traits = Traits(ties=False, sequence_parallel_experts=True)
    return whole_model(keys, blocks, read_yarn(keys, attention.rope_dim), traits)
