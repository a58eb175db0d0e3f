"""A model as a list of named weights, each with how it is split and over what.

Names and shapes are those of vLLM's own parameters, so that a rank's list can be laid beside
`model.named_parameters()` of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import prod
from typing import Final

from vllm_parallel.model import (
    Attention,
    DenseMlp,
    Dtype,
    Experts,
    GroupedQueryAttention,
    LatentAttention,
    Mlp,
    ModelConfig,
)
from vllm_parallel.units import exact_div, round_up

VOCABULARY_MULTIPLE: Final = 64  # vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE


class Split(StrEnum):
    """What a part of a weight is split over."""

    COPY = "copied to every rank"
    TENSOR = "over tp"
    QUERIES = "over tp, over tp / dcp where DCP ranks keep each other's queries"
    REPLICA = "a further copy over tp / dcp, only where DCP ranks keep each other's queries"
    KV_HEADS = "over tp, copied once tp exceeds the KV heads"
    VOCABULARY = "padded to 64, over tp"
    SHARED = "over tp, copied under sequence-parallel experts"
    EXPERTS = "whole experts over ep"
    EXPERT_WIDTH = "each expert over dp x pcp x tp, unless expert parallel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The widths that cut one rank's weights.

    `local_experts` is None without expert parallelism: every rank then holds all experts,
    each cut `expert_slices` ways.
    """

    tp: int = 1
    query_slices: int | None = None  # None: tp, unless dcp_q_replicate
    expert_slices: int = 1
    local_experts: int | None = None
    redundant_experts: int = 0
    copies_shared: bool = False

    def width(self, split: Split) -> int:
        """How many ways this split cuts."""
        match split:
            case Split.TENSOR | Split.KV_HEADS | Split.VOCABULARY:
                return self.tp
            case Split.QUERIES | Split.REPLICA:
                return self.query_slices or self.tp
            case Split.SHARED:
                return 1 if self.copies_shared else self.tp
            case Split.EXPERT_WIDTH:
                return self.expert_slices
            case Split.COPY | Split.EXPERTS:
                return 1

    def experts(self, count: int) -> int:
        """Whole experts on the rank, of a layer with so many."""
        if self.local_experts is None:
            return count + self.redundant_experts
        return self.local_experts


@dataclass(frozen=True, slots=True)
class Part:
    """`count` units of `size` elements along one dimension, and what the count is split over.

    >>> Part(8, 128, Split.KV_HEADS, "KV heads").length(Cut(tp=16))
    128
    """

    count: int
    size: int = 1
    split: Split = Split.COPY
    what: str = ""

    def length(self, cut: Cut) -> int:
        """Elements of this part on one rank.

        Raises:
            UnevenSplitError: the width does not divide the count.
        """
        return self._units(cut) * self.size

    def _units(self, cut: Cut) -> int:
        if self.split is Split.EXPERTS:
            return cut.experts(self.count)
        if self.split is Split.REPLICA and cut.query_slices is None:
            return 0
        if self.split is Split.KV_HEADS and cut.tp > self.count:
            exact_div(cut.tp, self.count, "tensor-parallel ranks")
            return 1
        padded = self.split is Split.VOCABULARY
        units = round_up(self.count, VOCABULARY_MULTIPLE) if padded else self.count
        return exact_div(units, cut.width(self.split), self.what)


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter of a layer; a dimension may hold several parts, one after the other."""

    name: str
    dimensions: tuple[tuple[Part, ...], ...]
    dtype: Dtype

    def shape(self, cut: Cut) -> tuple[int, ...]:
        """Shape on a rank cut so."""
        return tuple(sum(part.length(cut) for part in parts) for parts in self.dimensions)

    def bytes(self, cut: Cut) -> int:
        """Bytes on a rank cut so."""
        return prod(self.shape(cut)) * self.dtype.bytes


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The weights that are built together: one kind of block, the embedding, a norm, the head.

    Layers compare by identity: a graph makes each kind once, and a stage counts them.
    """

    name: str
    weights: tuple[Weight, ...]
    copies: tuple[Weight, ...] = ()  # made after loading, beside the weights


@lru_cache(maxsize=1024)
def weight_bytes(layer: Layer, cut: Cut) -> int:
    """Bytes of a layer's weights on a rank cut so."""
    return sum(weight.bytes(cut) for weight in layer.weights)


@lru_cache(maxsize=1024)
def copy_bytes(layer: Layer, cut: Cut) -> int:
    """Bytes of the copies that loading makes of a layer's weights."""
    return sum(weight.bytes(cut) for weight in layer.copies)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelGraph:
    """A model's layers, one for each kind of block, and what the ends of the pipeline hold."""

    model: ModelConfig
    embedding: Layer
    kinds: tuple[Layer, ...]
    norm: Layer
    head: Layer

    @classmethod
    def of(cls, model: ModelConfig) -> ModelGraph:
        """The graph of a model, made once for each.

        >>> from vllm_parallel.catalog import load_model
        >>> graph = ModelGraph.of(load_model("llama-3.1-8b"))
        >>> [w.name for w in graph.kinds[0].weights][:2]
        ['self_attn.qkv_proj.weight', 'self_attn.o_proj.weight']
        """
        return _graph(model)

    def ends(self, *, first: bool, last: bool) -> tuple[Layer, ...]:
        """What a stage holds beside its blocks.

        Source: vllm/model_executor/models/llama.py, LlamaModel.__init__ (v0.32.0)
        """
        first, last = first or self.model.traits.whole_ends, last or self.model.traits.whole_ends
        tied = self.model.tied
        layers = [self.embedding] if first or (last and tied) else []
        if last:
            layers += [self.norm] if tied else [self.norm, self.head]
        return tuple(layers)


@lru_cache(maxsize=256)
def _graph(model: ModelConfig) -> ModelGraph:
    hidden, dtype = model.hidden, model.dtype
    vocabulary = (Part(model.vocab, 1, Split.VOCABULARY, "rows of the padded vocabulary"),)
    return ModelGraph(
        model=model,
        embedding=Layer(
            "embedding", (Weight("embed_tokens.weight", (vocabulary, _whole(hidden)), dtype),)
        ),
        kinds=tuple(
            Layer(
                f"block {kind}",
                (
                    *_attention(block.attention, hidden, dtype),
                    *_mlp(block.mlp, hidden, dtype),
                    *_norms(hidden, dtype),
                ),
                _latent_copies(block.attention, dtype),
            )
            for kind, block in enumerate(model.kinds)
        ),
        norm=Layer("final norm", (Weight("norm.weight", (_whole(hidden),), dtype),)),
        head=Layer("head", (Weight("lm_head.weight", (vocabulary, _whole(hidden)), dtype),)),
    )


def _whole(count: int) -> tuple[Part, ...]:
    return (Part(count),)


def _norms(hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    names = ("input_layernorm.weight", "post_attention_layernorm.weight")
    return tuple(Weight(name, (_whole(hidden),), dtype) for name in names)


def _attention(attention: Attention, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    match attention:
        case GroupedQueryAttention():
            return _grouped(attention, hidden, dtype)
        case LatentAttention():
            return _latent(attention, hidden, dtype)


def _grouped(a: GroupedQueryAttention, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    """Source: vllm/model_executor/layers/linear.py, QKVParallelLinear (v0.32.0)."""
    query = Part(a.heads, a.head_dim, Split.TENSOR, "query heads")
    key = Part(a.kv_heads, a.head_dim, Split.KV_HEADS, "KV heads")
    qkv = (query, key, key)
    weights = [
        Weight("self_attn.qkv_proj.weight", (qkv, _whole(hidden)), dtype),
        Weight("self_attn.o_proj.weight", (_whole(hidden), (query,)), dtype),
    ]
    if a.qkv_bias:
        weights.append(Weight("self_attn.qkv_proj.bias", (qkv,), dtype))
    if a.output_bias:
        weights.append(Weight("self_attn.o_proj.bias", (_whole(hidden),), dtype))
    if a.qk_norm:
        weights += [
            Weight(f"self_attn.{name}_norm.weight", (_whole(a.head_dim),), dtype) for name in "qk"
        ]
    if a.sinks:
        heads = (Part(a.heads, 1, Split.TENSOR, "query heads"),)
        weights.append(Weight("self_attn.sinks", (heads,), dtype))
    return tuple(weights)


def _latent(a: LatentAttention, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    """Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)."""
    queries = (Part(a.heads, a.query_dim, Split.QUERIES, "query heads"),)
    keys_values = (Part(a.heads, a.nope_dim + a.value_dim, Split.TENSOR, "query heads"),)
    values = (Part(a.heads, a.value_dim, Split.TENSOR, "query heads"),)
    latent = Part(a.latent_dim)
    if a.q_lora_rank is None:
        down = [
            Weight("self_attn.kv_a_proj_with_mqa.weight", ((latent,), _whole(hidden)), dtype),
            Weight("self_attn.q_proj.weight", (queries, _whole(hidden)), dtype),
        ]
    else:
        rank = _whole(a.q_lora_rank)
        down = [
            Weight("self_attn.fused_qkv_a_proj.weight", ((*rank, latent), _whole(hidden)), dtype),
            Weight("self_attn.q_a_layernorm.weight", (rank,), dtype),
            Weight("self_attn.q_b_proj.weight", (queries, rank), dtype),
        ]
    return (
        *down,
        Weight("self_attn.kv_a_layernorm.weight", (_whole(a.kv_lora_rank),), dtype),
        Weight("self_attn.kv_b_proj.weight", (keys_values, _whole(a.kv_lora_rank)), dtype),
        Weight("self_attn.o_proj.weight", (_whole(hidden), values), dtype),
    )


def _latent_copies(attention: Attention, dtype: Dtype) -> tuple[Weight, ...]:
    """The halves of kv_b_proj, kept again and transposed; kv_b_proj itself stays.

    Source: vllm/model_executor/layers/attention/mla_attention.py, process_weights_after_loading
    (v0.32.0)
    """
    if not isinstance(attention, LatentAttention):
        return ()
    heads = (Part(attention.heads, 1, Split.TENSOR, "query heads"),)
    replica = (Part(attention.heads, 1, Split.REPLICA, "query heads"),)
    rank = _whole(attention.kv_lora_rank)
    return (
        Weight("self_attn.W_UV", (heads, rank, _whole(attention.value_dim)), dtype),
        Weight("self_attn.W_UK_T", (heads, _whole(attention.nope_dim), rank), dtype),
        Weight("self_attn.W_UK_T_dcp_qrep", (replica, _whole(attention.nope_dim), rank), dtype),
    )


def _mlp(mlp: Mlp, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    match mlp:
        case DenseMlp():
            width = Part(mlp.intermediate, 1, Split.TENSOR, "columns of the MLP")
            weights = _gated("mlp", width, hidden, dtype)
            return (*weights, *_gated_biases(width, hidden, dtype)) if mlp.bias else weights
        case Experts():
            return _experts(mlp, hidden, dtype)


def _gated(name: str, width: Part, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    return (
        Weight(f"{name}.gate_up_proj.weight", ((width, width), _whole(hidden)), dtype),
        Weight(f"{name}.down_proj.weight", (_whole(hidden), (width,)), dtype),
    )


def _gated_biases(width: Part, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    return (
        Weight("mlp.gate_up_proj.bias", ((width, width),), dtype),
        Weight("mlp.down_proj.bias", (_whole(hidden),), dtype),
    )


def _experts(e: Experts, hidden: int, dtype: Dtype) -> tuple[Weight, ...]:
    """Weights of a layer's experts and its router.

    Source: vllm/model_executor/layers/fused_moe/unquantized_fused_moe_method.py,
    create_weights (v0.32.0)
    """
    count = (Part(e.count, 1, Split.EXPERTS, "experts"),)
    width = Part(e.intermediate, 1, Split.EXPERT_WIDTH, "columns of an expert")
    router = e.router_dtype or dtype
    weights = [
        Weight("mlp.gate.weight", (_whole(e.count), _whole(hidden)), router),
        Weight("mlp.experts.w13_weight", (count, (width, width), _whole(hidden)), dtype),
        Weight("mlp.experts.w2_weight", (count, _whole(hidden), (width,)), dtype),
    ]
    if e.bias:
        weights += [
            Weight("mlp.gate.bias", (_whole(e.count),), router),
            Weight("mlp.experts.w13_bias", (count, (width, width)), dtype),
            Weight("mlp.experts.w2_bias", (count, _whole(hidden)), dtype),
        ]
    if e.correction_bias:
        bias = Weight("mlp.gate.e_score_correction_bias", (_whole(e.count),), Dtype.FLOAT32)
        weights.append(bias)
    if e.shared_intermediate:
        shared = Part(e.shared_intermediate, 1, Split.SHARED, "columns of the shared experts")
        weights += _gated("mlp.shared_experts", shared, hidden, dtype)
    if e.shared_gate:
        gate = Weight("mlp.shared_expert_gate.weight", ((Part(1),), _whole(hidden)), dtype)
        weights.append(gate)
    return tuple(weights)
