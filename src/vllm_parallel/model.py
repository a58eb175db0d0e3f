"""What a model is, before anything is split: its blocks, its tables and its family's traits."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from vllm_parallel.block import Attention, Block, Experts, GroupedQueryAttention, LatentAttention
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass
from vllm_parallel.positions import ContextLimit, Rotary

if TYPE_CHECKING:  # their nouns would slow the start of every command
    from vllm_parallel.extras import Ends
    from vllm_parallel.mixer import Mixer
    from vllm_parallel.scheme import Quantisation
    from vllm_parallel.tower import Tower


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a family's code in vLLM does differently from the others.

    Source: vllm/model_executor/models/*.py (v0.32.0)
    """

    ties: bool = True  # False: the head is always its own, whatever the config says
    tied_head_wants: str | None = None  # of a stand-in layer, so that stages end the start
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
        return hash((self.name, self.architecture, self.hidden, len(self.pattern)))

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
