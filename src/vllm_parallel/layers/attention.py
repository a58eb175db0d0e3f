"""The weights of attention, and the copies that loading makes of them."""

from __future__ import annotations

from vllm_parallel.block import Attention, GroupedQueryAttention, LatentAttention, NormSpan
from vllm_parallel.dtype import Dtype
from vllm_parallel.layers.storage import Storage
from vllm_parallel.weight import Part, Split, Weight, whole


def attention_weights(attention: Attention, storage: Storage) -> list[Weight]:
    """The parameters of one layer's attention."""
    match attention:
        case GroupedQueryAttention():
            return _grouped(attention, storage)
        case LatentAttention():
            return _latent(attention, storage)


def _grouped(a: GroupedQueryAttention, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/linear.py, QKVParallelLinear (v0.32.0)."""
    scales = storage.scales("self_attn.attn", Part(a.kv_heads, 1, Split.KV_HEADS))
    if a.borrows_weights:
        return scales
    query = Part(a.heads, a.head_dim, Split.TENSOR, "query heads")
    key = Part(a.kv_heads, a.head_dim, Split.KV_HEADS, "KV heads")
    gated = Part(a.heads, 2 * a.head_dim, Split.TENSOR, "query heads")  # a gate beside each head
    across = storage.across
    fused = (gated if a.output_gate else query, key, key)
    rows, name = ((query,), "q_proj") if a.borrows_kv else (fused, "qkv_proj")
    weights = [
        *storage.linear(f"self_attn.{name}", rows, across, bias=a.qkv_bias),
        *storage.linear("self_attn.o_proj", across, (query,), bias=a.output_bias),
    ]
    if a.qk_norm:
        weights += _norms(a, storage)
    if a.sinks:
        heads = Part(a.heads, 1, Split.TENSOR, "query heads")
        weights.append(storage.vector("self_attn.sinks", heads))
    return weights + scales


def _norms(a: GroupedQueryAttention, storage: Storage) -> list[Weight]:
    """A norm for queries and one for keys."""
    kinds = ("weight", "bias") if a.norm_bias else ("weight",)
    return [
        Weight(f"self_attn.{name}_norm.{kind}", _span(a, heads), storage.dtype)
        for name, heads in (("q", a.heads), ("k", a.kv_heads))
        for kind in kinds
        if name == "q" or not a.borrows_kv
    ]


def _span(a: GroupedQueryAttention, heads: int) -> tuple[tuple[Part, ...], ...]:
    match a.norm_span:
        case NormSpan.HEAD:
            return (whole(a.head_dim),)
        case NormSpan.WIDTH:
            return (whole(heads * a.head_dim),)
        case NormSpan.HEADS:
            split = Split.TENSOR if heads == a.heads else Split.KV_HEADS
            return ((Part(heads, 1, split, "heads of a norm"),), whole(a.head_dim))


def _latent(a: LatentAttention, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)."""
    queries = (Part(a.heads, a.query_dim, Split.QUERIES, "query heads"),)
    keys_values = (Part(a.heads, a.nope_dim + a.value_dim, Split.TENSOR, "query heads"),)
    values = (Part(a.heads, a.value_dim, Split.TENSOR, "query heads"),)
    latent = Part(a.latent_dim)
    across = storage.across
    if a.q_lora_rank is None:
        down = [
            *storage.linear("self_attn.kv_a_proj_with_mqa", (latent,), across),
            *storage.linear("self_attn.q_proj", queries, across),
        ]
    else:
        rank = Part(a.q_lora_rank)
        down = [
            *storage.linear("self_attn.fused_qkv_a_proj", (rank, latent), across),
            storage.vector("self_attn.q_a_layernorm.weight", rank),
            *storage.linear("self_attn.q_b_proj", queries, (rank,)),
        ]
    return [
        *down,
        storage.vector("self_attn.kv_a_layernorm.weight", Part(a.kv_lora_rank)),
        *storage.linear("self_attn.kv_b_proj", keys_values, whole(a.kv_lora_rank)),
        *storage.linear("self_attn.o_proj", across, values),
        *_indexer(a, storage),
        *storage.scales("self_attn.attn", Part(1)),
    ]


def _indexer(a: LatentAttention, storage: Storage) -> list[Weight]:
    """Whole on every rank; only its queries are ever quantised, its norm stays in fp32.

    Source: vllm/models/deepseek_v32/attention.py, DeepseekV32Indexer (v0.32.0)
    """
    if a.indexer is None or a.q_lora_rank is None:
        return []
    name, key = "self_attn.indexer", whole(a.indexer.head_dim)
    keys = (whole(a.indexer.key_dim), storage.across)
    return [
        *storage.linear(f"{name}.wq_b", whole(a.indexer.query_dim), whole(a.q_lora_rank)),
        Weight(f"{name}.wk_weights_proj.weight", keys, storage.dtype),
        Weight(f"{name}.k_norm.weight", (key,), Dtype.FLOAT32),
        Weight(f"{name}.k_norm.bias", (key,), Dtype.FLOAT32),
    ]


def latent_copies(attention: Attention, storage: Storage) -> tuple[Weight, ...]:
    """The halves of kv_b_proj, kept again and transposed; kv_b_proj itself stays.

    Source: vllm/model_executor/layers/attention/mla_attention.py, process_weights_after_loading
    (v0.32.0)
    """
    if not isinstance(attention, LatentAttention):
        return ()
    heads = (Part(attention.heads, 1, Split.TENSOR, "query heads"),)
    replica = (Part(attention.heads, 1, Split.REPLICA, "query heads"),)
    rank, dtype = whole(attention.kv_lora_rank), storage.dtype
    return (
        Weight("self_attn.W_UV", (heads, rank, whole(attention.value_dim)), dtype),
        Weight("self_attn.W_UK_T", (heads, whole(attention.nope_dim), rank), dtype),
        Weight("self_attn.W_UK_T_dcp_qrep", (replica, whole(attention.nope_dim), rank), dtype),
    )
