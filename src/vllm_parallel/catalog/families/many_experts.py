"""Families with experts on most layers: ERNIE, OLMoE, MiniMax-M2, Phi-MoE, Trinity, DBRX."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention, NormSpan
from vllm_parallel.catalog.families.common import (
    SLIDING,
    HeadDefaults,
    every_nth_full,
    grouped,
    layer_count,
    layer_kinds,
    one_window,
    refuse_activation,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.families.llama_like import alike
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_context, read_rotary
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends, Extra, Over
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

ERNIE_MOE: Final[JsonObject] = {
    "vocab_size": 103_424, "hidden_size": 2560, "intermediate_size": 12_288,
    "num_hidden_layers": 28, "num_attention_heads": 20, "num_key_value_heads": 4,
    "max_position_embeddings": 131_072, "tie_word_embeddings": True,
    "moe_intermediate_size": 1536, "moe_k": 6, "moe_num_experts": 64,
    "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
    "moe_layer_interval": 1,
}  # fmt: skip
OLMOE: Final[JsonObject] = {
    "vocab_size": 50_304, "hidden_size": 2048, "intermediate_size": 2048,
    "num_hidden_layers": 16, "num_attention_heads": 16, "max_position_embeddings": 4096,
    "num_experts_per_tok": 8, "num_experts": 64,
}  # fmt: skip
MINIMAX_M2: Final[JsonObject] = {
    "vocab_size": 200_064, "hidden_size": 3072, "intermediate_size": 1536,
    "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8,
    "head_dim": 128, "max_position_embeddings": 196_608, "num_experts_per_tok": 8,
    "num_local_experts": 256,
}  # fmt: skip
PHI_MOE: Final[JsonObject] = {
    "vocab_size": 32_064, "hidden_size": 4096, "intermediate_size": 6400,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "max_position_embeddings": 131_072, "num_experts_per_tok": 2, "num_local_experts": 16,
}  # fmt: skip
AFMOE: Final[JsonObject] = {
    "vocab_size": 200_192, "hidden_size": 2048, "intermediate_size": 6144,
    "moe_intermediate_size": 1408, "num_hidden_layers": 32, "num_dense_layers": 1,
    "num_attention_heads": 16, "head_dim": 128, "max_position_embeddings": 16_384,
    "num_experts": 64, "num_experts_per_tok": 6, "num_shared_experts": 2,
    "global_attn_every_n_layers": 4, "sliding_window": 1024,
}  # fmt: skip
AFMOE_NORMS: Final = (
    "input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm",
)  # fmt: skip


def read_ernie_moe(keys: Keys) -> ModelConfig:
    """ERNIE 4.5 with experts: router and correction bias in fp32, embedding on the first stage.

    Source: vllm/model_executor/models/ernie45_moe.py (v0.32.0)
    """
    keys = keys.filled(ERNIE_MOE)
    refuse_activation(keys)
    bias, width = keys.flag("use_bias"), keys.size("moe_intermediate_size")
    attention = replace(grouped(keys, HeadDefaults()), qkv_bias=bias, window=one_window(keys))
    experts = Experts(
        count=keys.size("moe_num_experts"),
        per_token=keys.size("moe_k"),
        intermediate=width,
        shared_intermediate=keys.count("moe_num_shared_experts") * width,
        router_dtype=Dtype.FLOAT32,
        correction_bias=True,
    )
    dense = DenseMlp(intermediate=keys.size("intermediate_size"), bias=bias)
    blocks = [
        Block(attention=attention, mlp=experts if moe else dense) for moe in _ernie_layers(keys)
    ]
    traits = Traits(tied_head_wants="tie_weights", experts_at_least_tp=True)
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def _ernie_layers(keys: Keys) -> list[bool]:
    """Which layers have experts; a last index of -1 is the last layer."""
    layers, step = layer_count(keys), keys.size("moe_layer_interval")
    first = keys.count("moe_layer_start_index")
    last = layers - 1
    if keys.values["moe_layer_end_index"] != -1:
        last = keys.count("moe_layer_end_index")
    use = keys.flag("use_moe", default=True)
    return [use and (n + 1) % step == 0 and first <= n <= last for n in range(layers)]


def read_olmoe(keys: Keys) -> ModelConfig:
    """OLMoE: norms over all query and all key heads, a head of its own on every stage.

    Source: vllm/model_executor/models/olmoe.py (v0.32.0)
    """
    keys = keys.filled(OLMOE)
    attention = replace(
        grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True)),
        qk_norm=True,
        norm_span=NormSpan.WIDTH,
        window=one_window(keys),
    )
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
    )
    traits = Traits(ties=False, whole_ends=True, eplb=False)
    return alike(keys, Block(attention=attention, mlp=experts), traits)


def read_minimax_m2(keys: Keys) -> ModelConfig:
    """MiniMax-M2: norms over all heads that are split with them, a router in fp32.

    Source: vllm/model_executor/models/minimax_m2.py (v0.32.0)
    """
    keys = keys.filled(MINIMAX_M2)
    attention = replace(
        grouped(keys, HeadDefaults()),
        qkv_bias=keys.flag("attention_bias"),
        qk_norm=True,
        norm_span=NormSpan.HEADS,
        window=one_window(keys),
    )
    experts = Experts(
        count=keys.size("num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
        router_dtype=Dtype.FLOAT32,
        correction_bias=keys.flag("use_routing_bias"),
    )
    traits = Traits(ties=False, experts_at_least_tp=True, eplb=False)
    block = Block(attention=attention, mlp=experts)
    if read_context(keys).tokens > keys.size("max_position_embeddings"):
        raise CatalogError(
            subject=keys.name,
            problem="allows more tokens than it has positions",
            fix="its table would grow with --max-model-len, which is not modelled",
        )
    share = keys.size("rotary_dim") / attention.head_dim
    return alike(keys, block, traits, partial=share)


def read_phi_moe(keys: Keys) -> ModelConfig:
    """Phi-3.5-MoE: biases on attention, norms and head, ends on every stage.

    Source: vllm/model_executor/models/phimoe.py (v0.32.0)
    """
    keys = keys.filled(PHI_MOE)
    attention = replace(
        grouped(keys, HeadDefaults(null_kv_heads=True)),
        qkv_bias=True,
        output_bias=True,
        window=one_window(keys),
    )
    experts = Experts(
        count=keys.size("num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
    )
    block = Block(attention=attention, mlp=experts, norm_bias=True)
    model = alike(keys, block, Traits(ties=False, whole_ends=True, eplb=False))
    return replace(model, ends=Ends(norm_bias=True, head_bias=True))


def read_afmoe(keys: Keys) -> ModelConfig:
    """Arcee's Trinity: gated attention, local layers that rotate, full ones that do not.

    Source: vllm/model_executor/models/afmoe.py (v0.32.0)
    """
    keys = keys.filled(AFMOE)
    refuse_activation(keys)
    for key in ("score_func", "route_norm", "n_group", "topk_group"):
        keys.refuse_missing(key)
    step = keys.size("global_attn_every_n_layers")
    kinds = layer_kinds(with_kinds(keys, every_nth_full(keys, step)))
    attention = replace(grouped(keys, HeadDefaults(null_kv_heads=True)), qk_norm=True)
    local = replace(attention, window=keys.optional("sliding_window"))
    full = replace(attention, rotates=False)
    width, dense = keys.size("moe_intermediate_size"), keys.count("num_dense_layers")
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=keys.count("num_shared_experts") * width,
        router_dtype=Dtype.FLOAT32,
        correction_bias=True,
    )
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    blocks = [
        Block(
            attention=local if kind == SLIDING else full,
            mlp=experts if n >= dense else mlp,
            norms=AFMOE_NORMS,
            extras=(_attention_gate(keys, attention),),
        )
        for n, kind in enumerate(kinds)
    ]
    traits = Traits(ties=False)
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim), traits)


def _attention_gate(keys: Keys, attention: GroupedQueryAttention) -> Extra:
    return Extra(
        name="self_attn.gate_proj",
        rows=attention.heads * attention.head_dim,
        columns=keys.size("hidden_size"),
        over=Over.TENSOR,
        linear=True,
    )


def read_dbrx(keys: Keys) -> ModelConfig:
    """DBRX: sizes under names of its own, norms without biases, ends on every stage.

    Source: vllm/model_executor/models/dbrx.py (v0.32.0)
    """
    if keys.flag("tie_word_embeddings"):
        raise CatalogError(
            subject=keys.name, problem="ties its embeddings", fix="vLLM refuses that for DBRX"
        )
    own = keys.filled({"d_model": 2048, "n_heads": 16, "n_layers": 24, "max_seq_len": 2048})
    inner = (keys.nested("attn_config") or Keys(keys.name, {})).filled({"kv_n_heads": 1})
    inner.refuse_missing("rope_theta")  # vLLM asks the config for it
    ffn = (keys.nested("ffn_config") or Keys(keys.name, {})).filled(
        {"ffn_hidden_size": 3584, "moe_num_experts": 4, "moe_top_k": 1}
    )
    keys = own.filled({"vocab_size": 32_000}).with_(
        hidden_size=own.size("d_model"),
        num_attention_heads=own.size("n_heads"),
        num_hidden_layers=own.size("n_layers"),
        max_position_embeddings=own.size("max_seq_len"),
        num_key_value_heads=inner.size("kv_n_heads"),
        rope_scaling=None,
        rope_parameters=None,
    )
    experts = Experts(
        count=ffn.size("moe_num_experts"),
        per_token=ffn.size("moe_top_k"),
        intermediate=ffn.size("ffn_hidden_size"),
    )
    attention = grouped(keys.without("head_dim"), HeadDefaults())
    block = Block(attention=attention, mlp=experts, norms=("norm_1", "norm_2"))
    return alike(keys, block, Traits(whole_ends=True))
