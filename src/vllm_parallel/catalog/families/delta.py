"""Families with gated delta nets between attention: Qwen3-Next, Qwen3.5, OLMo Hybrid."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention, Mlp, NormSpan
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    dense_or,
    grouped,
    layer_count,
    refuse_activation,
    refuse_uneven_heads,
    whole_model,
)
from vllm_parallel.catalog.families.filled import (
    filled,
    per_layer,
    refuse_no_attention,
    with_unread_heads,
)
from vllm_parallel.catalog.families.nemotron import state_dtype
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary, rope_keys
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Extra
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import GatedDeltaNet
from vllm_parallel.model import ModelConfig, Traits

GATED: Final = {
    "num_attention_heads": 16, "max_position_embeddings": 32768, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
}  # fmt: skip
ROUTED: Final = GATED | {
    "hidden_size": 2048, "num_key_value_heads": 2, "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
}  # fmt: skip
QWEN3_NEXT: Final = ROUTED | {
    "vocab_size": 151936, "intermediate_size": 5632, "num_hidden_layers": 48,
    "decoder_sparse_step": 1, "num_experts_per_tok": 10, "num_experts": 512,
}  # fmt: skip
QWEN3_5: Final = GATED | {
    "num_key_value_heads": 4,
    "vocab_size": 248320, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32,
}  # fmt: skip
QWEN3_5_MOE: Final = ROUTED | {
    "vocab_size": 248320, "num_hidden_layers": 40, "num_experts_per_tok": 8, "num_experts": 256,
}  # fmt: skip
OLMO: Final = {
    "vocab_size": 100352, "hidden_size": 3840, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 30, "max_position_embeddings": 65536,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
WITH_EXPERTS: Final = Traits(
    whole_embedding=True,
    sequence_parallel_experts=True,
    experts_required="No Qwen3Next layer found in the model.layers.",
    experts_at_least_tp=True,
)


def read_qwen3_next(keys: Keys) -> ModelConfig:
    """Qwen3-Next: gated attention on every fourth layer, experts with a shared one.

    Source: vllm/model_executor/models/qwen3_next.py (v0.32.0)
    """
    keys = filled(keys, QWEN3_NEXT)
    refuse_activation(keys)
    step, dense = keys.size("decoder_sparse_step"), keys.items("mlp_only_layers") or []
    count = keys.count("num_experts")
    routed = [
        n not in dense and count > 0 and (n + 1) % step == 0 for n in range(layer_count(keys))
    ]
    experts = _experts(keys) if any(routed) else None
    mlps = [dense_or(keys, experts, moe=True) if experts is not None and moe else _dense(keys)
            for moe in routed]  # fmt: skip
    traits = replace(WITH_EXPERTS, ties=False, whole_head=True)
    return _qwen(keys, replace(_delta(keys), interleaved=True), mlps, traits)


def read_qwen3_5(keys: Keys) -> ModelConfig:
    """Qwen3.5, the text part: Qwen3-Next's layers with dense MLPs.

    Source: vllm/model_executor/models/qwen3_5.py (v0.32.0)
    """
    keys = filled(keys, QWEN3_5).without("mrope_section")  # videos count on, but only if pruned
    refuse_activation(keys)
    mlps: list[Mlp] = [_dense(keys)] * layer_count(keys)
    return _qwen(keys, _delta(keys), mlps, Traits(whole_embedding=True))


def read_qwen3_5_moe(keys: Keys) -> ModelConfig:
    """Qwen3.5 with experts on every layer.

    Source: vllm/model_executor/models/qwen3_5.py (v0.32.0)
    """
    keys = filled(keys, QWEN3_5_MOE).without("mrope_section")
    refuse_activation(keys)
    mlps: list[Mlp] = [_experts(keys)] * layer_count(keys)
    return _qwen(keys, _delta(keys), mlps, WITH_EXPERTS)


def _qwen(keys: Keys, mixer: GatedDeltaNet, mlps: list[Mlp], traits: Traits) -> ModelConfig:
    heads = grouped(keys, HeadDefaults(kv_heads=keys.size("num_key_value_heads"), head_dim=256))
    gate = keys.flag("attn_output_gate", default=True)
    attention = replace(heads, qkv_bias=keys.flag("qkv_bias"), qk_norm=True, output_gate=gate)
    interval = keys.size("full_attention_interval", default=4)
    full = [(n + 1) % interval == 0 for n in range(layer_count(keys))]
    if keys.has("layer_types"):
        full = [word == "full_attention" for word in per_layer(keys, "layer_types")]
    blocks = [
        Block(
            attention=attention if attends else None,
            mixer=None if attends else mixer,
            mlp=mlp,
            extras=_scales(keys),
        )
        for attends, mlp in zip(full, mlps, strict=True)
    ]
    refuse_no_attention(keys, blocks)
    rotary = read_rotary(keys, attention.head_dim, partial=0.25)
    return whole_model(keys, blocks, rotary, traits)


def _scales(keys: Keys) -> tuple[Extra, ...]:
    """Two vectors over the hidden size, where the config asks for them."""
    if not keys.flag("layer_scale"):
        return ()
    hidden = keys.size("hidden_size")
    return tuple(Extra(name=f"{part}_layer_scale", rows=hidden) for part in ("attn", "ffn"))


def _dense(keys: Keys) -> DenseMlp:
    return DenseMlp(intermediate=keys.size("intermediate_size"))


def _experts(keys: Keys) -> Experts:
    return Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("moe_intermediate_size"),
        shared_intermediate=keys.count("shared_expert_intermediate_size"),
        shared_gate=True,
    )


def _delta(keys: Keys) -> GatedDeltaNet:
    named = keys.text("mamba_ssm_dtype", default="auto")
    qwen3_5 = keys.text("architecture").startswith("Qwen3_5")
    return GatedDeltaNet(
        name="linear_attn",
        key_heads=keys.size("linear_num_key_heads"),
        value_heads=keys.size("linear_num_value_heads"),
        key_dim=keys.size("linear_key_head_dim"),
        value_dim=keys.size("linear_value_head_dim"),
        kernel=keys.size("linear_conv_kernel_dim"),
        ssm_dtype=state_dtype(keys.name, named) if qwen3_5 else None,
    )


def read_olmo_hybrid(keys: Keys) -> ModelConfig:
    """OLMo Hybrid: norms over all heads at once, and after attention in place of before it.

    Source: vllm/model_executor/models/olmo_hybrid.py (v0.32.0)
    """
    keys = filled(keys, OLMO)
    refuse_uneven_heads(keys)
    heads = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    rotates = rope_keys(keys).has("rope_theta")
    attention = replace(heads, qk_norm=True, norm_span=NormSpan.WIDTH, rotates=rotates)
    mlp = _dense(keys)
    kinds = {
        "full_attention": Block(
            attention=attention,
            mlp=mlp,
            norms=("post_attention_layernorm", "post_feedforward_layernorm"),
        ),
        "linear_attention": Block(attention=None, mixer=_olmo_mixer(keys, attention), mlp=mlp),
    }
    blocks = [kinds[word] for word in _olmo_layers(keys)]
    rotary = read_rotary(keys, attention.head_dim) if rotates else ()
    return with_unread_heads(keys, whole_model(keys, blocks, rotary, Traits(whole_ends=True)))


def _olmo_layers(keys: Keys) -> list[str]:
    layers = layer_count(keys)
    words = ["full_attention" if n % 4 == 3 else "linear_attention" for n in range(layers)]
    if "full_attention" not in words:
        words[-1] = "full_attention"
    if keys.has("layer_types"):
        words = per_layer(keys, "layer_types")
    if len(set(words)) == 1:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {words[0]} alone among its layers",
            fix="OLMo Hybrid needs one of each kind at least",
        )
    return words


def _olmo_mixer(keys: Keys, attention: GroupedQueryAttention) -> GatedDeltaNet:
    key_heads = keys.size("linear_num_key_heads", default=attention.heads)
    share = max(1, int(0.75 * keys.size("hidden_size") / key_heads))
    key_dim = keys.size("linear_key_head_dim", default=share)
    return GatedDeltaNet(
        name="linear_attn",
        key_heads=key_heads,
        value_heads=keys.size("linear_num_value_heads", default=attention.heads),
        key_dim=key_dim,
        value_dim=keys.size("linear_value_head_dim", default=2 * key_dim),
        kernel=keys.size("linear_conv_kernel_dim"),
        separate_gates=True,
    )
