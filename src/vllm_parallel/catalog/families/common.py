"""What the families share: heads, layers, and the whole model around its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_context, read_dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.model import (
    Block,
    DenseMlp,
    Experts,
    GroupedQueryAttention,
    Mlp,
    ModelConfig,
    Rotary,
    Traits,
)

MAX_LAYERS: Final = 10_000
EXPERT_KEYS: Final = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HeadDefaults:
    """What a family's config class in `transformers` fills in for heads.

    `None` stands for the query heads, or for hidden size over heads; only there null is allowed.
    """

    kv_heads: int | None = None
    head_dim: int | None = None
    null_kv_heads: bool = False


def grouped(keys: Keys, defaults: HeadDefaults) -> GroupedQueryAttention:
    """Attention with the heads that the keys name."""
    heads = keys.size("num_attention_heads")
    if not defaults.null_kv_heads:
        keys.refuse_null("num_key_value_heads")
    if defaults.head_dim is not None:
        keys.refuse_null("head_dim")
    null = "num_key_value_heads" in keys.values and not keys.has("num_key_value_heads")
    kv_heads = heads if null or defaults.kv_heads is None else defaults.kv_heads
    width = defaults.head_dim or max(1, keys.size("hidden_size") // heads)
    return GroupedQueryAttention(
        heads=heads,
        kv_heads=keys.size("num_key_value_heads", default=kv_heads),
        head_dim=keys.size("head_dim", default=width),
    )


def layer_count(keys: Keys) -> int:
    """How many blocks are stacked."""
    layers = keys.size("num_hidden_layers")
    if layers > MAX_LAYERS:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {layers} layers",
            fix=f"at most {MAX_LAYERS} are modelled",
        )
    return layers


def dense_or(keys: Keys, experts: Experts, *, moe: bool) -> Mlp:
    """Experts, or the dense MLP of a family that has both."""
    return experts if moe else DenseMlp(intermediate=keys.size("intermediate_size"))


def one_each(keys: Keys, key: str, items: list[object]) -> list[object]:
    """A list that has an item for each layer."""
    layers = layer_count(keys)
    if len(items) != layers:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {len(items)} {key} for {layers} layers",
            fix="give one for each layer",
        )
    return items


def refuse_uneven_heads(keys: Keys) -> None:
    """`transformers` refuses a hidden size that the heads do not divide."""
    hidden, heads = keys.size("hidden_size"), keys.size("num_attention_heads")
    if hidden % heads:
        raise CatalogError(
            subject=keys.name,
            problem=f"has a hidden size of {hidden} for {heads} heads",
            fix="the heads have to divide it",
        )


def refuse_activation(keys: Keys) -> None:
    """vLLM's gated MLP takes silu alone."""
    activation = keys.text("hidden_act", default="silu")
    if activation != "silu":
        raise CatalogError(
            subject=keys.name,
            problem=f"has the activation {shortened(activation)}",
            fix="vLLM takes silu alone here",
        )


def whole_model(
    keys: Keys, blocks: list[Block], rotary: Rotary, traits: Traits | None = None
) -> ModelConfig:
    """The model around its blocks."""
    kinds = tuple(dict.fromkeys(blocks))
    index = {block: kind for kind, block in enumerate(kinds)}
    traits = traits or Traits()
    keys.refuse_null("tie_word_embeddings")
    return ModelConfig(
        name=keys.name,
        architecture=keys.text("architecture"),
        dtype=read_dtype(keys),
        hidden=keys.size("hidden_size"),
        vocab=keys.size("vocab_size"),
        kinds=kinds,
        pattern=tuple(index[block] for block in blocks),
        tied=traits.ties and keys.flag("tie_word_embeddings"),
        rotaries=(rotary,),
        context=read_context(keys),
        declared_experts=max(keys.optional(key) or 0 for key in EXPERT_KEYS),
        traits=traits,
    )
