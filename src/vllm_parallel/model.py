"""What a model is, before anything is split: its blocks, attention, experts and tables."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass
from vllm_parallel.positions import ContextLimit, Rotary


class NormSpan(StrEnum):
    """What the weight of a query or key norm spans."""

    HEAD = "one head, shared by all"
    HEADS = "a row for each head, split as they are"
    WIDTH = "all heads, whole on every rank"


if TYPE_CHECKING:  # their nouns would slow the start of every command
    from vllm_parallel.extras import Ends, Extra
    from vllm_parallel.mixer import Mixer
    from vllm_parallel.scheme import Quantisation, Scheme
    from vllm_parallel.tower import Tower


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQueryAttention:
    """Attention with a K and a V head for each group of query heads (MHA, GQA, MQA).

    Source: vllm/model_executor/models/llama.py, LlamaAttention (v0.32.0)

    >>> GroupedQueryAttention(heads=64, kv_heads=8, head_dim=128).queries_per_kv_head
    8
    """

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False  # one norm for q, one for k
    norm_span: NormSpan = NormSpan.HEAD
    norm_bias: bool = False
    output_gate: bool = False  # each query head brings a gate as wide
    sinks: bool = False  # one learned logit for each query head
    copies_kv_heads: bool = True  # gpt-oss does not, so its tp ends at the KV heads
    rotates: bool = True  # False: no rotary embedding (NoPE)
    rotary: int = 0  # which of the model's tables
    window: int | None = None  # sliding: a token sees the last `window` tokens
    chunk: int | None = None  # chunked local: a token sees its own chunk
    borrows_kv: bool = False  # reads the cache of an earlier layer, keeps none
    borrows_weights: bool = False  # its projections are counted elsewhere, once for many layers

    @property
    def queries_per_kv_head(self) -> int:
        """Query heads that share one KV head, rounded down as vLLM does."""
        return self.heads // self.kv_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """Selects the tokens that sparse attention (DSA) reads; it keeps keys of its own.

    Source: vllm/model_executor/models/deepseek_v2.py, Indexer (v0.32.0)
    """

    heads: int
    head_dim: int
    selected_tokens: int

    @property
    def query_dim(self) -> int:
        """Elements of a token's queries, over all heads."""
        return self.heads * self.head_dim

    @property
    def key_dim(self) -> int:
        """Elements of a token's key and of its weights for the heads, which are made at once."""
        return self.head_dim + self.heads


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (MLA): one compressed vector a token is cached.

    Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)

    >>> LatentAttention(heads=128, q_lora_rank=1536, kv_lora_rank=512, nope_dim=128,
    ...     rope_dim=64, value_dim=128).latent_dim
    576
    """

    heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    indexer: Indexer | None = None

    @property
    def rotates(self) -> bool:
        """A part of each head always is rotated."""
        return True

    @property
    def rotary(self) -> int:
        """Which of the model's tables: the only one."""
        return 0

    @property
    def query_dim(self) -> int:
        """Width of one query head."""
        return self.nope_dim + self.rope_dim

    @property
    def latent_dim(self) -> int:
        """Elements that one token adds to the KV cache of a layer."""
        return self.kv_lora_rank + self.rope_dim


Attention = GroupedQueryAttention | LatentAttention


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseMlp:
    """A feed-forward layer that every token passes through whole."""

    intermediate: int
    bias: bool = False
    with_tokens: bool = False  # whole on every rank where one stage splits tokens over tp
    gated: bool = True  # False: one matrix up, none beside it
    copied_uneven: bool = False  # whole on every rank where tp does not divide it


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture-of-experts layer: a router, routed experts, perhaps shared ones.

    `shared_intermediate` is the width of all shared experts together, 0 without.

    Source: vllm/model_executor/layers/fused_moe/layer.py, FusedMoEFactory (v0.32.0)
    """

    count: int
    per_token: int
    intermediate: int
    shared_intermediate: int = 0
    shared_gate: bool = False  # the shared expert is weighed by a row [1, hidden]
    bias: bool = False  # gpt-oss: on the router and on both expert matrices
    router_dtype: Dtype | None = None  # None: the model's
    correction_bias: bool = False  # one fp32 number for each expert
    gated: bool = True  # False: one matrix up, none beside it
    latent: int | None = None  # routed experts work on so many channels, projected there and back
    latent_bias: bool = False


Mlp = DenseMlp | Experts


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One decoder layer: attention, then a dense MLP or experts; some layers lack a part.

    A mixer stands in place of attention or beside it. `norms` are its norms over the hidden
    size, by the names that the family gives them; `names` what the family calls a part that has
    another name elsewhere, old and new. `buffers` are registered beside the weights. `schemes`
    say how its quantised layers are stored, by the family's names.
    """

    attention: Attention | None
    mlp: Mlp | None
    mixer: Mixer | None = None
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    norm_bias: bool = False
    names: tuple[tuple[str, str], ...] = ()
    extras: tuple[Extra, ...] = ()
    buffers: tuple[Extra, ...] = ()
    schemes: tuple[tuple[str, Scheme], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a family's code in vLLM does differently from the others.

    Source: vllm/model_executor/models/*.py (v0.32.0)
    """

    ties: bool = True  # False: the head is always its own, whatever the config says
    ties_across_stages: bool = True  # False: a tied head asks its own stage for the embedding
    whole_embedding: bool = False  # the embedding is built on every stage
    whole_head: bool = False  # so is the head
    whole_ends: bool = False  # embedding, final norm and head are built on every stage
    sequence_parallel_experts: bool = False  # tokens may be split over tp around the experts
    stays_split: bool = False  # and, on a single stage, stay so from one MoE layer to the next
    carries_residual: bool = True  # stages pass on a residual beside the hidden states
    experts_required: str | None = None  # what a stage without any MoE layer dies with
    experts_at_least_tp: bool = False  # refuses tp > experts, expert parallel or not
    world_divides_experts: bool = False  # asserts intermediate % (tp * pp * ...) == 0
    pipeline: bool = True
    sparse_attention: bool = False  # selects keys with an indexer (DSA)
    eplb: bool = True  # False: its experts are built without, whatever the flag says
    refuses_redundant_experts: bool = False
    no_float16: str | None = None  # the model type that vLLM refuses to run in float16
    window_from: int | None = None  # refuses windows on some layers only, from this one on


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model as its `config.json` describes it. Sizes are of the whole model.

    `kinds` are the distinct blocks, `pattern` the kind of each layer in order.

    Source: vllm/config/model.py, ModelConfig (v0.32.0)
    """

    name: str
    architecture: str
    dtype: Dtype
    hidden: int
    vocab: int
    kinds: tuple[Block, ...]
    pattern: tuple[int, ...]
    tied: bool
    rotaries: tuple[Rotary, ...]
    context: ContextLimit
    left_out: str | None = None  # the quantisation that was asked to be left out
    quantisation: Quantisation | None = None
    loaded: ModelConfig | None = None  # once `--quantization` has quantised it while it loads
    declared_experts: int = 0  # vLLM's test for "is this a MoE model"
    ends: Ends | None = None
    unread_head_dim: int | None = None  # no layer goes by it, only the blocks beside states
    traits: Traits = Traits()
    towers: tuple[Tower, ...] = ()
    mtp: Block | None = None  # the block of its one module that predicts a further token

    def __hash__(self) -> int:
        """Of what tells models apart at a glance: models are looked up far more than compared."""
        return hash((self.name, self.architecture, self.dtype, self.hidden, self.pattern))

    @property
    def layers(self) -> int:
        """How many blocks are stacked."""
        return len(self.pattern)

    @property
    def attention(self) -> Attention:
        """The first attention of the model; widths are checked against its heads.

        Raises:
            CatalogError: no layer has any.
        """
        attention = self.first_attention
        if attention is None:
            raise CatalogError(
                subject=self.name, problem="has no attention", fix="ask for its mixers"
            )
        return attention

    @property
    def first_attention(self) -> Attention | None:
        """The same, None if all layers are mixers."""
        return next((kind.attention for kind in self.kinds if kind.attention is not None), None)

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """The kinds of attention, in the order of the layers; empty if all layers are mixers."""
        return _attentions(self)

    @property
    def mixers(self) -> tuple[Mixer, ...]:
        """The kinds of mixer, in the order of the layers."""
        return _mixers(self)

    @property
    def is_hybrid(self) -> bool:
        """Whether attention and mixers share the layers."""
        return bool(self.mixers) and bool(self.attentions)

    @property
    def heads(self) -> int:
        """Query heads of a layer, 0 in a model without attention."""
        attention = self.first_attention
        return 0 if attention is None else attention.heads

    @property
    def kv_heads(self) -> int:
        """KV heads of a layer; latent attention counts as one, no attention as none."""
        attention = self.first_attention
        match attention:
            case None:
                return 0
            case LatentAttention():
                return 1
            case GroupedQueryAttention():
                return attention.kv_heads

    @property
    def is_latent(self) -> bool:
        """Whether attention caches one latent vector (MLA)."""
        return isinstance(self.first_attention, LatentAttention)

    @property
    def is_moe(self) -> bool:
        """Whether vLLM takes it for a mixture-of-experts model."""
        return self.declared_experts > 0

    @property
    def experts(self) -> Experts | None:
        """Experts of the first MoE layer, None in a dense model."""
        return next((kind.mlp for kind in self.kinds if isinstance(kind.mlp, Experts)), None)

    @property
    def grouped(self) -> tuple[GroupedQueryAttention, ...]:
        """The kinds of grouped-query attention; empty for latent attention."""
        return _grouped(self)

    @property
    def has_windows(self) -> bool:
        """Whether some layers see only a window or a chunk of the context."""
        return any(kind.window or kind.chunk for kind in self.grouped)


@lru_cache(maxsize=256)
def _attentions(model: ModelConfig) -> tuple[Attention, ...]:
    found = dict.fromkeys(kind.attention for kind in model.kinds)
    return tuple(attention for attention in found if attention is not None)


@lru_cache(maxsize=256)
def _mixers(model: ModelConfig) -> tuple[Mixer, ...]:
    found = dict.fromkeys(kind.mixer for kind in model.kinds)
    return tuple(mixer for mixer in found if mixer is not None)


@lru_cache(maxsize=256)
def _grouped(model: ModelConfig) -> tuple[GroupedQueryAttention, ...]:
    return tuple(kind for kind in _attentions(model) if isinstance(kind, GroupedQueryAttention))
