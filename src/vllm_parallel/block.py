"""A decoder layer, before anything is split: its attention, its MLP or experts, its norms."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass

if TYPE_CHECKING:  # their nouns would slow the start of every command
    from vllm_parallel.extras import Extra
    from vllm_parallel.mixer import Mixer
    from vllm_parallel.scheme import Scheme


class NormSpan(StrEnum):
    """What the weight of a query or key norm spans."""

    HEAD = "one head, shared by all"
    HEADS = "a row for each head, split as they are"
    WIDTH = "all heads, whole on every rank"


def rank_kv_heads(kv_heads: int, tp: int) -> int:
    """KV heads that a rank holds: where tp is wider than they are many, ranks hold copies.

    Source: vllm/config/model.py, ModelConfig.get_num_kv_heads (v0.32.0)

    >>> rank_kv_heads(8, 4), rank_kv_heads(8, 16)
    (2, 1)
    """
    return max(1, kv_heads // tp)


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
