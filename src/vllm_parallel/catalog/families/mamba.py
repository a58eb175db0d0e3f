"""Families with Mamba layers beside attention or between it: Falcon-H1, Granite 4, Jamba."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, Mlp
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
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import Mamba1, Mamba2
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.units import ceil_div

FALCON_H1: Final = {
    "vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 8192,
    "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1,
    "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": True,
}  # fmt: skip
GRANITE: Final = {
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "max_position_embeddings": 2048, "num_local_experts": 8,
    "num_experts_per_tok": 2, "shared_intermediate_size": 1024, "mamba_n_heads": 128,
    "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_head": "auto", "mamba_d_conv": 4,
    "mamba_expand": 2, "mamba_conv_bias": True,
}  # fmt: skip
JAMBA: Final = {
    "vocab_size": 65536, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "max_position_embeddings": 262144, "num_experts_per_tok": 2,
    "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 8,
    "attn_layer_offset": 4, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
    "mamba_dt_rank": "auto", "mamba_conv_bias": True,
}  # fmt: skip


def read_falcon_h1(keys: Keys) -> ModelConfig:
    """Falcon-H1: attention and Mamba 2 side by side on every layer.

    Source: vllm/model_executor/models/falcon_h1.py (v0.32.0)
    """
    given = "mamba_d_ssm" in keys.values  # null stands for the expanded hidden size
    keys = filled(keys, {**FALCON_H1, **({"mamba_d_ssm": None} if given else {})})
    refuse_activation(keys)
    attention = grouped(keys, HeadDefaults(kv_heads=8, null_kv_heads=True))
    block = Block(
        attention=attention,
        mlp=DenseMlp(intermediate=keys.size("intermediate_size")),
        mixer=_falcon_mixer(keys),
        norms=("input_layernorm", "pre_ff_layernorm"),
    )
    rotated = keys.size("attn_rotary_emb", default=attention.head_dim)
    rotary = read_rotary(keys.without("partial_rotary_factor"), rotated)
    traits = Traits(tied_head_wants="weight")
    return whole_model(keys, [block] * layer_count(keys), rotary, traits)


def _falcon_mixer(keys: Keys) -> Mamba2:
    expanded = keys.size("mamba_expand") * keys.size("hidden_size")
    mixer = _mamba2(keys, "mamba.mamba", keys.size("mamba_d_ssm", default=expanded))
    return replace(mixer, norm=keys.flag("mamba_rms_norm"), multipliers=True)


def _mamba2(keys: Keys, name: str, inner: int) -> Mamba2:
    heads = keys.size("mamba_n_heads")
    auto = keys.values["mamba_d_head"] == "auto"
    head_dim = max(1, inner // heads) if auto else keys.size("mamba_d_head")
    refuse_uneven_mixer(keys, inner, heads, head_dim)
    return Mamba2(
        name=name,
        inner=inner,
        heads=heads,
        head_dim=head_dim,
        groups=keys.size("mamba_n_groups"),
        state=keys.size("mamba_d_state"),
        kernel=keys.size("mamba_d_conv"),
        conv_bias=keys.flag("mamba_conv_bias"),
        bias=keys.flag("mamba_proj_bias"),
    )


def refuse_uneven_mixer(keys: Keys, inner: int, heads: int, head_dim: int) -> None:
    """`transformers` refuses heads that do not make up the width of the mixer."""
    if heads * head_dim != inner:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {heads} mixer heads of {head_dim} for a width of {inner}",
            fix="the heads have to make up the width",
        )


def read_granite_hybrid(keys: Keys) -> ModelConfig:
    """Granite 4: Mamba 2 or attention, then experts beside a shared MLP, or the MLP alone.

    Source: vllm/model_executor/models/granitemoehybrid.py (v0.32.0)
    """
    keys = filled(keys, GRANITE)
    refuse_activation(keys)
    refuse_uneven_heads(keys)
    heads = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    rotates = keys.text("position_embedding_type", default="none") == "rope"
    bias = keys.flag("attention_bias")
    attention = replace(heads, qkv_bias=bias, output_bias=bias, rotates=rotates)
    inner = keys.size("mamba_expand") * keys.size("hidden_size")
    mixer, mlp = _mamba2(keys, "mamba", inner), _granite_mlp(keys)
    kinds = {
        "full_attention": Block(attention=attention, mlp=mlp),
        "linear_attention": Block(attention=None, mixer=mixer, mlp=mlp),
    }
    blocks = [kinds[word] for word in per_layer(keys, "layer_types")]
    refuse_no_attention(keys, blocks)
    rotary = read_rotary(keys, attention.head_dim) if rotates else ()
    model = whole_model(keys, blocks, rotary, Traits(whole_ends=True, eplb=False))
    return with_unread_heads(keys, model)


def _granite_mlp(keys: Keys) -> Mlp | None:
    count, shared = keys.count("num_local_experts"), keys.count("shared_intermediate_size")
    if count:
        return Experts(
            count=count,
            per_token=keys.size("num_experts_per_tok"),
            intermediate=keys.size("intermediate_size"),
            shared_intermediate=shared,
        )
    return DenseMlp(intermediate=shared) if shared else None


def read_jamba(keys: Keys) -> ModelConfig:
    """Jamba: Mamba with norms, attention without positions, experts on every other layer.

    Source: vllm/model_executor/models/jamba.py (v0.32.0)
    """
    count = keys.size("num_experts", "num_local_experts", default=16)
    keys = filled(keys, {**JAMBA, "num_experts": count})
    refuse_activation(keys)
    heads = grouped(keys.without("head_dim"), HeadDefaults(kv_heads=8))
    attention, mixer = replace(heads, rotates=False), _jamba_mixer(keys)
    experts = Experts(
        count=count,
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
    )
    attends, routes = _every(keys, "attn_layer"), _every(keys, "expert_layer")
    blocks = [
        Block(
            attention=attention if attends[n] else None,
            mixer=None if attends[n] else mixer,
            mlp=dense_or(keys, experts, moe=routes[n] and count > 1),
            norms=("input_layernorm", "pre_ff_layernorm"),
        )
        for n in range(layer_count(keys))
    ]
    refuse_no_attention(keys, blocks)
    model = whole_model(keys, blocks, (), Traits(ties=False, whole_ends=True, eplb=False))
    return with_unread_heads(keys, model)


def _jamba_mixer(keys: Keys) -> Mamba1:
    return Mamba1(
        name="mamba",
        inner=keys.size("mamba_expand") * keys.size("hidden_size"),
        state=keys.size("mamba_d_state"),
        kernel=keys.size("mamba_d_conv"),
        rank=time_step_rank(keys, "mamba_dt_rank"),
        conv_bias=keys.flag("mamba_conv_bias"),
        bias=keys.flag("mamba_proj_bias"),
        norms=True,
    )


def time_step_rank(keys: Keys, key: str) -> int:
    """The rank of Mamba's time steps; auto is a sixteenth of the hidden size."""
    if keys.values[key] == "auto":
        return ceil_div(keys.size("hidden_size"), 16)
    return keys.size(key)


def _every(keys: Keys, what: str) -> list[bool]:
    """Which layers are one in `period`, counted from `offset`."""
    period, offset = keys.size(f"{what}_period"), keys.count(f"{what}_offset")
    if offset >= period:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {what}_offset {offset} for {what}_period {period}",
            fix="the offset has to be smaller",
        )
    return [n % period == offset for n in range(layer_count(keys))]
