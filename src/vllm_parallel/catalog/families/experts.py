"""Families with experts and plain attention: Qwen3-MoE, Mixtral, GLM-4.5."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, Experts
from vllm_parallel.catalog.families.common import (
    FULL,
    NO_GLM_EXPERTS,
    SLIDING,
    HeadDefaults,
    dense_or,
    grouped,
    layer_count,
    one_window,
    refuse_activation,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

QWEN_2_MOE: Final[JsonObject] = {
    "vocab_size": 151_936, "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16,
    "max_position_embeddings": 32_768, "sliding_window": 4096, "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
}  # fmt: skip
SHARED_EXPERT: Final = (
    ("mlp.shared_experts.gate_up_proj", "mlp.shared_expert.gate_up_proj"),
    ("mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj"),
)


def read_qwen3_moe(keys: Keys) -> ModelConfig:
    """Qwen3 with experts: head and embedding on every stage.

    Source: vllm/model_executor/models/qwen3_moe.py (v0.32.0)
    """
    window = keys.optional("sliding_window") if keys.flag("use_sliding_window") else None
    attention = replace(
        grouped(keys, HeadDefaults(kv_heads=4)),
        qkv_bias=keys.flag("attention_bias"),
        qk_norm=True,
        window=window,
    )
    shared = keys.count("shared_expert_intermediate_size")
    experts = Experts(
        count=keys.size("num_experts", "num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("moe_intermediate_size"),
        shared_intermediate=shared,
        shared_gate=shared > 0,
    )
    traits = Traits(
        whole_ends=True,
        sequence_parallel_experts=True,
        experts_required="No Qwen3MoE layer found in the model.layers.",
        experts_at_least_tp=True,
    )
    mlps = [dense_or(keys, experts, moe=moe) for moe in _sparse_steps(keys)]
    blocks = [Block(attention=attention, mlp=mlp, names=SHARED_EXPERT) for mlp in mlps]
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def read_qwen2_moe(keys: Keys) -> ModelConfig:
    """Qwen2 with experts and a gated shared one: biases, ends on every stage.

    Source: vllm/model_executor/models/qwen2_moe.py (v0.32.0)
    """
    keys = keys.filled(QWEN_2_MOE)
    refuse_activation(keys)
    attention = replace(
        grouped(keys.without("head_dim"), HeadDefaults()),
        qkv_bias=True,
        window=_qwen_window(keys),
    )
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("moe_intermediate_size"),
        shared_intermediate=keys.count("shared_expert_intermediate_size"),
        shared_gate=True,
    )
    mlps = [dense_or(keys, experts, moe=moe) for moe in _sparse_steps(keys)]
    blocks = [Block(attention=attention, mlp=mlp, names=SHARED_EXPERT) for mlp in mlps]
    traits = Traits(whole_ends=True, experts_at_least_tp=True, eplb=False)
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def _sparse_steps(keys: Keys) -> list[bool]:
    """Which layers have experts: every n-th but those that are listed."""
    keys.refuse_null("decoder_sparse_step")
    step = keys.size("decoder_sparse_step", default=1)
    dense = keys.items("mlp_only_layers") or []
    return [n not in dense and (n + 1) % step == 0 for n in range(layer_count(keys))]


def _qwen_window(keys: Keys) -> int | None:
    """The window, where all layers have it: transformers, Qwen2MoeConfig."""
    if not keys.flag("use_sliding_window"):
        return None
    first = keys.count("max_window_layers", default=28)
    kinds: list[object] = [
        SLIDING if n % 2 == 0 and n < first else FULL for n in range(layer_count(keys))
    ]
    return one_window(with_kinds(keys, kinds))


def read_mixtral(keys: Keys) -> ModelConfig:
    """Mixtral: every layer has experts, ends on every stage.

    Source: vllm/model_executor/models/mixtral.py (v0.32.0)
    """
    attention = replace(
        grouped(keys, HeadDefaults(kv_heads=8)), window=keys.optional("sliding_window")
    )
    experts = Experts(
        count=keys.size("num_local_experts", "num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
    )
    blocks = [Block(attention=attention, mlp=experts)] * layer_count(keys)
    rotary = read_rotary(keys, attention.head_dim)
    required = "No MixtralMoE layer found  in model.layers."
    traits = Traits(whole_ends=True, experts_required=required)
    return whole_model(keys, blocks, rotary, traits)


def read_glm4_moe(keys: Keys) -> ModelConfig:
    """GLM-4.5: leading dense layers, router and correction bias in fp32, a head of its own.

    Source: vllm/model_executor/models/glm4_moe.py (v0.32.0)
    """
    keys.refuse_missing("head_dim")  # null stands for hidden size over heads
    attention = replace(
        grouped(keys, HeadDefaults(kv_heads=8)),
        qkv_bias=keys.flag("attention_bias"),
        qk_norm=keys.flag("use_qk_norm"),
        window=keys.optional("sliding_window"),
    )
    width = keys.size("moe_intermediate_size")
    experts = Experts(
        count=keys.size("n_routed_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("n_shared_experts", default=1) * width,
        router_dtype=Dtype.FLOAT32,
        correction_bias=True,
    )
    first = keys.count("first_k_dense_replace", default=1)
    mlps = [dense_or(keys, experts, moe=n >= first) for n in range(layer_count(keys))]
    blocks = [Block(attention=attention, mlp=mlp) for mlp in mlps]
    traits = Traits(ties=False, experts_required=NO_GLM_EXPERTS)
    rotary = read_rotary(keys, attention.head_dim, partial=0.5)
    model = whole_model(keys, blocks, rotary, traits)
    predicts = keys.count("num_nextn_predict_layers") == 1
    return replace(model, mtp=Block(attention=attention, mlp=experts) if predicts else None)
