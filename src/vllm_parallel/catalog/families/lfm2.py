"""LFM2: short convolutions between attention, with dense MLPs or experts."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, Mlp
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    layer_count,
    one_each,
    whole_model,
)
from vllm_parallel.catalog.families.filled import filled, refuse_no_attention, with_unread_heads
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import ShortConvolution
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.units import round_up

LFM2: Final = {
    "vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 32,
    "num_attention_heads": 32, "max_position_embeddings": 128_000, "conv_L_cache": 3,
    "block_multiple_of": 256, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True,
}  # fmt: skip
LFM2_MOE: Final = {
    "vocab_size": 65536, "hidden_size": 2048, "intermediate_size": 7168,
    "moe_intermediate_size": 1792, "num_hidden_layers": 32, "num_attention_heads": 32,
    "max_position_embeddings": 128_000, "conv_L_cache": 3, "num_dense_layers": 2,
    "num_experts_per_tok": 4, "num_experts": 32, "use_expert_bias": True,
}  # fmt: skip
NAMES: Final = (
    ("self_attn.o_proj", "self_attn.out_proj"),
    ("mlp.gate_up_proj", "feed_forward.w13"),
    ("mlp.down_proj", "feed_forward.w2"),
)
EVERYWHERE: Final = Traits(whole_embedding=True)


def read_lfm2(keys: Keys) -> ModelConfig:
    """LFM2: the head always is the embedding.

    Source: vllm/model_executor/models/lfm2.py (v0.32.0)
    """
    keys = filled(keys, LFM2)
    if keys.has("block_ff_dim"):
        keys = keys.with_(intermediate_size=keys.size("block_ff_dim"))
    for key in ("block_dim", "conv_dim"):  # vLLM takes the one for the MLP, the other for the mixer
        if keys.size(key) != keys.size("hidden_size"):
            raise CatalogError(
                subject=keys.name,
                problem=f"has {key} {keys.size(key)} beside a hidden size of "
                f"{keys.size('hidden_size')}, which is not modelled",
                fix=f"set {key} to the hidden size",
            )
    chosen = keys.items("full_attn_idxs")
    every = [chosen is None or n in chosen for n in range(layer_count(keys))]
    attends = _named(keys) if keys.has("layer_types") else every
    mlps: list[Mlp] = [DenseMlp(intermediate=_adjusted(keys))] * len(attends)
    return _model(keys, attends, mlps, EVERYWHERE)


def read_lfm2_moe(keys: Keys) -> ModelConfig:
    """LFM2 with experts after the first layers.

    Source: vllm/model_executor/models/lfm2_moe.py (v0.32.0)
    """
    keys = filled(keys, LFM2_MOE)
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("moe_intermediate_size"),
        correction_bias=keys.flag("use_expert_bias"),
    )
    dense = DenseMlp(intermediate=keys.size("intermediate_size"))
    first = keys.count("num_dense_layers")
    mlps: list[Mlp] = [dense if n < first else experts for n in range(layer_count(keys))]
    required = "No Lfm2MoeSparseMoeBlock layer found in the model.layers."
    traits = replace(EVERYWHERE, experts_required=required, experts_at_least_tp=True)
    return _model(keys, _named(keys), mlps, traits)


def _named(keys: Keys) -> list[bool]:
    """Which layers attend; every other word is a convolution to vLLM."""
    words = one_each(keys, "layer_types", keys.items("layer_types") or [])
    return [word in ("full_attention", "attention") for word in words]


def _adjusted(keys: Keys) -> int:
    """Columns of the MLP: two thirds of what the key says, rounded up, if it says so."""
    width = keys.size("intermediate_size")
    if not keys.flag("block_auto_adjust_ff_dim"):
        return width
    width = int(keys.number("block_ffn_dim_multiplier") * int(2 * width / 3))
    return round_up(max(1, width), keys.size("block_multiple_of"))


def _model(keys: Keys, attends: list[bool], mlps: list[Mlp], traits: Traits) -> ModelConfig:
    heads = grouped(keys.without("head_dim"), HeadDefaults(kv_heads=8))
    attention = replace(heads, qk_norm=True)
    mixer = ShortConvolution(
        name="short_conv",
        inner=keys.size("hidden_size"),
        kernel=keys.size("conv_L_cache"),
        bias=keys.flag("conv_bias"),
    )
    blocks = [
        Block(
            attention=attention if attending else None,
            mixer=None if attending else mixer,
            mlp=mlp,
            norms=("operator_norm", "ffn_norm"),
            names=NAMES,
        )
        for attending, mlp in zip(attends, mlps, strict=True)
    ]
    refuse_no_attention(keys, blocks)
    model = whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)
    model = replace(model, tied=True, ends=Ends(norms=("embedding_norm",)))
    return with_unread_heads(keys, model)
