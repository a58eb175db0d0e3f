"""Families with latent attention: DeepSeek-V2, V3, R1, Kimi-K2, GLM-4.7-Flash."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, Experts, LatentAttention, Mlp
from vllm_parallel.catalog.families.common import (
    NO_GLM_EXPERTS,
    dense_or,
    layer_count,
    refuse_uneven_heads,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_yarn
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.model import ModelConfig, Traits

Q_LORA_RANK: Final = 1536  # where the key is missing; null means none
MTP_TYPES: Final = ("deepseek_v3", "deepseek_v32", "glm_moe_dsa")
GLM_Q_LORA_RANK: Final = 768


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Defaults:
    """What a generation's config class fills in."""

    shared_experts: int
    dense_layers: int
    predicts: bool = False  # a module for a further token, where the config does not say


def read_deepseek_v2(keys: Keys) -> ModelConfig:
    """DeepSeek-V2: `transformers` wants the heads to divide the hidden size."""
    refuse_uneven_heads(keys)
    return _read(keys, Defaults(shared_experts=2, dense_layers=0))


def read_deepseek_v3(keys: Keys) -> ModelConfig:
    """DeepSeek-V3, R1 and Kimi-K2."""
    return _read(keys, Defaults(shared_experts=1, dense_layers=3, predicts=True))


def read_glm4_moe_lite(keys: Keys) -> ModelConfig:
    """GLM-4.7-Flash: latent attention around GLM-4.5's experts.

    Source: vllm/model_executor/models/glm4_moe_lite.py (v0.32.0)
    """
    keys.refuse_missing("first_k_dense_replace")
    if keys.has("index_topk"):
        raise CatalogError(
            subject=keys.name,
            problem="has an indexer, which is not modelled for this family",
            fix="leave index_topk out",
        )
    keys = keys.filled({"q_lora_rank": GLM_Q_LORA_RANK})
    attention = latent(keys)
    mlps, _ = mixed_mlps(keys, Defaults(shared_experts=1, dense_layers=0))
    routed = [
        replace(mlp, router_dtype=Dtype.FLOAT32, correction_bias=True)
        if isinstance(mlp, Experts)
        else mlp
        for mlp in mlps
    ]
    blocks = [Block(attention=attention, mlp=mlp) for mlp in routed]
    traits = Traits(ties=False, experts_required=NO_GLM_EXPERTS)
    return whole_model(keys, blocks, read_yarn(keys, attention.rope_dim), traits)


def latent(keys: Keys) -> LatentAttention:
    """Attention with the ranks and widths that the keys name."""
    if keys.has("q_lora_rank"):
        keys.size("q_lora_rank")  # none is null, not 0
    return LatentAttention(
        heads=keys.size("num_attention_heads"),
        q_lora_rank=keys.optional("q_lora_rank", missing=Q_LORA_RANK),
        kv_lora_rank=keys.size("kv_lora_rank"),
        nope_dim=keys.size("qk_nope_head_dim"),
        rope_dim=keys.size("qk_rope_head_dim"),
        value_dim=keys.size("v_head_dim"),
    )


def mixed_mlps(keys: Keys, defaults: Defaults) -> tuple[list[Mlp], Mlp]:
    """Leading dense layers, then experts on every n-th layer; and what a layer more would have."""
    width = keys.size("moe_intermediate_size")
    experts = Experts(
        count=keys.size("n_routed_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("n_shared_experts", default=defaults.shared_experts) * width,
        correction_bias=keys.text("topk_method", default="") == "noaux_tc",
    )
    first = keys.count("first_k_dense_replace", default=defaults.dense_layers)
    keys.refuse_null("moe_layer_freq")
    step = keys.size("moe_layer_freq", default=1)
    keys.count("n_group", default=1)  # changes no size, but has to be a number
    sparse = [n >= first and n % step == 0 for n in range(layer_count(keys) + 1)]
    *mlps, after = (dense_or(keys, experts, moe=moe) for moe in sparse)
    return mlps, after


def mtp_block(keys: Keys, block: Block) -> Block | None:
    """The block of a config's one MTP module; None without, and where there are several.

    Source: vllm/config/speculative.py, hf_config_override (v0.32.0)
    """
    count = keys.count("num_nextn_predict_layers", "num_mtp_layers", default=1)
    known = keys.text("model_type", default=MTP_TYPES[0]) in MTP_TYPES
    return block if count == 1 and known else None


def _read(keys: Keys, defaults: Defaults) -> ModelConfig:
    """Latent attention, leading dense layers, shared experts, a head of its own.

    Source: vllm/model_executor/models/deepseek_v2.py (v0.32.0)
    """
    attention = latent(keys)
    mlps, after = mixed_mlps(keys, defaults)
    blocks = [Block(attention=attention, mlp=mlp) for mlp in mlps]
    traits = Traits(ties=False, sequence_parallel_experts=True, stays_split=True)
    model = whole_model(keys, blocks, read_yarn(keys, attention.rope_dim), traits)
    if not defaults.predicts:
        return model
    return replace(model, mtp=mtp_block(keys, Block(attention=attention, mlp=after)))
