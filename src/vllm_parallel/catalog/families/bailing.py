"""Ling and Ring (Bailing): experts beside shared ones, names and router keys of their own."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, Experts
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    dense_or,
    grouped,
    layer_count,
    one_window,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

# The config class is the model's own; vLLM dies of those that are missing.
READ: Final = (
    "head_dim", "use_bias", "use_qkv_bias", "num_experts", "num_experts_per_tok",
    "norm_topk_prob", "num_shared_experts", "first_k_dense_replace", "embedding_dropout",
)  # fmt: skip
NAMES: Final = (
    ("self_attn.qkv_proj", "attention.query_key_value"),
    ("self_attn.o_proj", "attention.dense"),
)
ROUTER_DTYPES: Final = {"fp32": Dtype.FLOAT32}


def read_bailing(keys: Keys) -> ModelConfig:
    """Ling 1, 1.5 and 2: leading dense layers, a router perhaps in fp32.

    Source: vllm/model_executor/models/bailing_moe.py (v0.32.0)
    """
    for key in READ:
        keys.refuse_missing(key)
    keys.refuse_set("use_bias")  # shared experts would have biases
    attention = replace(
        grouped(keys, HeadDefaults()),
        qkv_bias=keys.flag("use_qkv_bias"),
        qk_norm=keys.flag("use_qk_norm"),
        norm_bias=not keys.flag("use_rmsnorm"),
        window=one_window(keys),
    )
    width = keys.size("moe_intermediate_size")
    shared = keys.size("moe_shared_expert_intermediate_size", default=width)
    router = keys.text("router_dtype", default="")
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("num_shared_experts") * shared,
        router_dtype=ROUTER_DTYPES.get(router, Dtype.BFLOAT16) if router else None,
        correction_bias=keys.flag("moe_router_enable_expert_bias"),
    )
    first = keys.count("first_k_dense_replace")
    blocks = [
        Block(attention=attention, mlp=dense_or(keys, experts, moe=n >= first), names=NAMES)
        for n in range(layer_count(keys))
    ]
    head = attention.head_dim
    rotated = keys.optional("rotary_dim")
    partial = keys.number("partial_rotary_factor", default=1.0)
    share = partial if rotated is None else rotated / head
    plain = keys.without("partial_rotary_factor")
    return whole_model(keys, blocks, read_rotary(plain, head, partial=share), Traits(eplb=False))
