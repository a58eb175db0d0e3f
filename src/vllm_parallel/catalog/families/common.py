"""What the families share: heads, layers, and the whole model around its blocks."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention, Mlp
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_context, read_dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import Rotary

MAX_LAYERS: Final = 10_000
FULL: Final = "full_attention"
LEGACY: Final = {"attention": FULL}  # transformers, remap_legacy_layer_types
SLIDING: Final = "sliding_attention"
AFTER: Final = ("post_attention_layernorm", "post_feedforward_layernorm")  # norms after each part
NO_GLM_EXPERTS: Final = "No Glm4MoE layer found in model.layers."
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


def attention_bias(keys: Keys) -> bool:
    """Whether attention has biases, by the new key or by the old one.

    Source: vllm/model_executor/models/llama.py, LlamaDecoderLayer (v0.32.0)
    """
    return keys.flag("attention_bias") or keys.flag("bias")


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
    refuse_uneven(keys.name, keys.size("hidden_size"), keys.size("num_attention_heads"))


def refuse_uneven(name: str, hidden: int, heads: int) -> None:
    """Refuse a hidden size that the heads do not divide."""
    if hidden % heads:
        raise CatalogError(
            subject=name,
            problem=f"has a hidden size of {hidden} for {heads} heads",
            fix="the heads have to divide it",
        )


def named_windows(keys: Keys, *, missing: int | None = None) -> list[int | None]:
    """The window of the layers that `layer_types` calls sliding; without it, of all.

    Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)
    """
    window = keys.optional("sliding_window", missing=missing)
    kinds = keys.items("layer_types")
    if kinds is None:
        return [window] * layer_count(keys)
    named = one_each(keys, "layer_types", kinds)
    return [window if kind == SLIDING else None for kind in named]


def one_window(keys: Keys) -> int | None:
    """The window of all layers of a family that looks at no layer's kind.

    Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)
    """
    kinds = keys.items("layer_types")
    every = kinds is None or all(kind == SLIDING for kind in kinds)
    return keys.optional("sliding_window") if every else None


def one_window_attention(keys: Keys) -> GroupedQueryAttention:
    """Attention of Llama's biases, with one window for all layers."""
    bias = attention_bias(keys)
    return replace(
        grouped(keys, HeadDefaults(null_kv_heads=True)),
        qkv_bias=bias,
        output_bias=bias,
        window=one_window(keys),
    )


def layer_kinds(keys: Keys) -> list[str]:
    """`layer_types`, each full or sliding."""
    given = one_each(keys, "layer_types", keys.items("layer_types") or [])
    kinds = [LEGACY.get(kind, kind) if isinstance(kind, str) else kind for kind in given]
    named = [kind for kind in (FULL, SLIDING) if kind in kinds]
    if strange := [kind for kind in kinds if kind not in named]:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the kind of layer {shortened(strange[0])}, which is not modelled",
            fix=f"its layer_types are {FULL} or {SLIDING}",
        )
    return [str(kind) for kind in kinds]


def with_kinds(keys: Keys, kinds: list[object]) -> Keys:
    """The keys with these `layer_types` where the config names none."""
    return (
        keys
        if keys.has("layer_types")
        else keys.without("layer_types").filled({"layer_types": kinds})
    )


def every_nth_full(keys: Keys, step: int) -> list[object]:
    """`layer_types` in which each `step`-th layer is full and the others slide."""
    return [FULL if (n + 1) % step == 0 else SLIDING for n in range(layer_count(keys))]


def in_bfloat16(keys: Keys) -> Keys:
    """The keys of a family that vLLM does not run in float16, but in bfloat16.

    Source: vllm/config/model.py, _resolve_auto_dtype (v0.32.0)
    """
    half = keys.text("torch_dtype", "dtype") in ("float16", "half")
    return keys.with_(torch_dtype="bfloat16") if half else keys


def refuse_activation(keys: Keys, key: str = "hidden_act", takes: str = "silu") -> None:
    """Most of vLLM's MLPs take one activation alone."""
    activation = keys.text(key, default=takes)
    if activation != takes:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the activation {shortened(activation)}",
            fix=f"vLLM takes {takes} alone here",
        )


def whole_model(
    keys: Keys,
    blocks: list[Block],
    rotary: Rotary | tuple[Rotary, ...],
    traits: Traits | None = None,
) -> ModelConfig:
    """The model around its blocks, with one rotary table or those that its blocks number."""
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
        rotaries=(rotary,) if isinstance(rotary, Rotary) else rotary,
        context=read_context(keys),
        declared_experts=max(keys.optional(key) or 0 for key in EXPERT_KEYS),
        traits=traits,
    )
