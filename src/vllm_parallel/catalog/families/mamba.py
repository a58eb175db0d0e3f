"""Families with Mamba layers beside attention or between it: Falcon-H1."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    layer_count,
    refuse_activation,
    whole_model,
)
from vllm_parallel.catalog.families.filled import filled
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError
from vllm_parallel.mixer import Mamba2
from vllm_parallel.model import Block, DenseMlp, ModelConfig, Traits

FALCON_H1: Final = {
    "vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 8192,
    "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1,
    "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": True,
}  # fmt: skip


def read_falcon_h1(keys: Keys) -> ModelConfig:
    """Falcon-H1: attention and Mamba 2 side by side on every layer.

    Source: vllm/model_executor/models/falcon_h1.py (v0.32.0)
    """
    optional = dict.fromkeys(key for key in ("mamba_d_ssm",) if key in keys.values)
    keys = filled(keys, {**FALCON_H1, **optional})
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
    traits = Traits(ties_across_stages=False)
    return whole_model(keys, [block] * layer_count(keys), rotary, traits)


def _falcon_mixer(keys: Keys) -> Mamba2:
    expanded = keys.size("mamba_expand") * keys.size("hidden_size")
    inner, heads = keys.size("mamba_d_ssm", default=expanded), keys.size("mamba_n_heads")
    auto = keys.values["mamba_d_head"] == "auto"
    head_dim = max(1, inner // heads) if auto else keys.size("mamba_d_head")
    refuse_uneven_mixer(keys, inner, heads, head_dim)
    return Mamba2(
        name="mamba.mamba",
        inner=inner,
        heads=heads,
        head_dim=head_dim,
        groups=keys.size("mamba_n_groups"),
        state=keys.size("mamba_d_state"),
        kernel=keys.size("mamba_d_conv"),
        conv_bias=keys.flag("mamba_conv_bias"),
        bias=keys.flag("mamba_proj_bias"),
        norm=keys.flag("mamba_rms_norm"),
        multipliers=True,
    )


def refuse_uneven_mixer(keys: Keys, inner: int, heads: int, head_dim: int) -> None:
    """`transformers` refuses heads that do not make up the width of the mixer."""
    if heads * head_dim != inner:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {heads} mixer heads of {head_dim} for a width of {inner}",
            fix="the heads have to make up the width",
        )
