"""Gemma 4, its text part: heads of two widths, shared caches, inputs for each layer, experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts, GroupedQueryAttention, Mlp
from vllm_parallel.catalog.families.common import (
    FULL,
    SLIDING,
    HeadDefaults,
    every_nth_full,
    grouped,
    layer_count,
    layer_kinds,
    refuse_uneven_heads,
    whole_model,
    with_kinds,
)
from vllm_parallel.catalog.families.gemma import FOUR_NORMS, GEMMA_2
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary, rope_keys
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends, Extra, Over
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import Rotary

GEMMA_4: Final[JsonObject] = {
    **GEMMA_2, "vocab_size": 262_144, "num_hidden_layers": 30,
    "max_position_embeddings": 131_072, "sliding_window": 512,
    "vocab_size_per_layer_input": 262_144, "hidden_size_per_layer_input": 256,
    "rope_parameters": {
        SLIDING: {"rope_type": "default", "rope_theta": 10_000.0},
        FULL: {
            "rope_type": "proportional",
            "partial_rotary_factor": 0.25,
            "rope_theta": 1_000_000.0,
        },
    },
}  # fmt: skip
LOCAL_THETA: Final = 10_000.0
WIDE_HEAD: Final = 512
EXPERT_NORMS: Final = (
    "post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2",
)  # fmt: skip
BESIDE_EXPERTS: Final = (
    ("mlp.shared_experts.gate_up_proj", "mlp.gate_up_proj"),
    ("mlp.shared_experts.down_proj", "mlp.down_proj"),
)


def read_gemma4(keys: Keys) -> ModelConfig:
    """Gemma 4: the last layers may borrow the cache of earlier ones and have wide MLPs.

    Source: vllm/model_executor/models/gemma4.py (v0.32.0)
    """
    keys = keys.filled(GEMMA_4)
    refuse_uneven_heads(keys)
    if keys.values.get("use_bidirectional_attention") == "all":
        raise CatalogError(
            subject=keys.name, problem="attends both ways", fix="such models are not modelled"
        )
    kinds = layer_kinds(with_kinds(keys, every_nth_full(keys, 6)))
    kinds[-1] = FULL
    attentions, tables = _attentions(keys, kinds)
    blocks = [
        _block(keys, attention, _mlp(keys, wide=attention.borrows_kv)) for attention in attentions
    ]
    model = whole_model(keys, blocks, tables, Traits(whole_ends=True, eplb=False))
    return replace(model, ends=_ends(keys))


def _attentions(
    keys: Keys, kinds: list[str]
) -> tuple[list[GroupedQueryAttention], tuple[Rotary, ...]]:
    """The attention of each layer, and the tables they number; alike heads and keys share one."""
    bias = keys.flag("attention_bias")
    base = replace(grouped(keys, HeadDefaults()), qkv_bias=bias, output_bias=bias, qk_norm=True)
    own = len(kinds) - keys.count("num_kv_shared_layers")
    tables: dict[str, Rotary] = {}
    found = []
    for n, (kind, heads) in enumerate(zip(kinds, _own_heads(keys, base, kinds), strict=True)):
        roped = _roped(keys, kind)
        alike = repr((heads.head_dim, sorted(rope_keys(roped, kind).values.items())))
        tables.setdefault(alike, read_rotary(roped, heads.head_dim, kind=kind))
        found.append(
            replace(
                heads,
                window=keys.size("sliding_window") if kind == SLIDING else None,
                rotary=list(tables).index(alike),
                borrows_kv=n >= own,
            )
        )
    return found, tuple(tables.values())


def _own_heads(
    keys: Keys, base: GroupedQueryAttention, kinds: list[str]
) -> list[GroupedQueryAttention]:
    """Heads layer by layer: full layers have wider and perhaps fewer ones.

    Source: transformers, Gemma4TextConfig.__post_init__
    """
    given = keys.nested("per_layer_config")
    if given is None:
        wide = replace(base, head_dim=keys.size("global_head_dim", default=WIDE_HEAD))
        if keys.flag("attention_k_eq_v"):
            few = keys.size("num_global_key_value_heads", default=base.kv_heads)
            wide = replace(wide, kv_heads=few)
        return [wide if kind == FULL else base for kind in kinds]
    layers = {int(number): value for number, value in given.values.items() if number.isdigit()}
    return [_overridden(given, base, layers.get(n, {})) for n in range(len(kinds))]


def _overridden(given: Keys, base: GroupedQueryAttention, own: object) -> GroupedQueryAttention:
    values = own if isinstance(own, Mapping) else {}
    if not isinstance(own, Mapping) or set(own) - {"head_dim", "num_key_value_heads"}:
        raise CatalogError(
            subject=given.name,
            problem=f"has {shortened(own)} for a layer",
            fix="modelled are head_dim and num_key_value_heads",
        )
    layer = Keys(given.name, values)
    return replace(
        base,
        head_dim=layer.size("head_dim", default=base.head_dim),
        kv_heads=layer.size("num_key_value_heads", default=base.kv_heads),
    )


def _roped(keys: Keys, kind: str) -> Keys:
    """Rope keys that are not nested count for all layers, with a base of their own for local."""
    rope = keys.nested("rope_parameters")
    if rope is None or kind in rope.values or kind != SLIDING:
        return keys
    base = keys.values.get("rope_local_base_freq", LOCAL_THETA)
    return keys.with_(rope_parameters={**rope.values, "rope_theta": base})


def _mlp(keys: Keys, *, wide: bool) -> Mlp:
    """The MLP of every layer, and experts beside it; layers with a borrowed cache may be wide."""
    width = keys.size("intermediate_size")
    if wide and keys.flag("use_double_wide_mlp"):
        width *= 2
    if not keys.has("num_experts"):
        return DenseMlp(intermediate=width)
    return Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("top_k_experts"),
        intermediate=keys.size("moe_intermediate_size", "expert_intermediate_size"),
        shared_intermediate=width,
    )


def _block(keys: Keys, attention: GroupedQueryAttention, mlp: Mlp) -> Block:
    hidden, inputs = keys.size("hidden_size"), keys.count("hidden_size_per_layer_input")
    experts = isinstance(mlp, Experts)
    extras: tuple[Extra, ...] = ()
    if inputs:
        extras += (
            Extra(name="per_layer_input_gate", rows=inputs, columns=hidden, linear=True),
            Extra(name="per_layer_projection", rows=hidden, columns=inputs, linear=True),
            Extra(name="post_per_layer_input_norm.weight", rows=hidden),
        )
    if isinstance(mlp, Experts):
        extras += (
            Extra(name="router.scale", rows=hidden),
            Extra(name="router.per_expert_scale", rows=mlp.count),
        )
    scalars = ("layer_scalar", "router.root_size") if experts else ("layer_scalar",)
    return Block(
        attention=attention,
        mlp=mlp,
        norms=FOUR_NORMS + (EXPERT_NORMS if experts else ()),
        names=BESIDE_EXPERTS if experts else (),
        extras=extras,
        buffers=tuple(Extra(name=name, rows=1) for name in scalars),
    )


def _ends(keys: Keys) -> Ends:
    """Embedding, norm and head are on every stage, and so are the inputs of all layers."""
    inputs = keys.count("hidden_size_per_layer_input")
    scalars = ["normalizer"]
    everywhere: tuple[Extra, ...] = ()
    if inputs:
        scalars += ["embed_scale_per_layer", "per_layer_input_scale", "per_layer_projection_scale"]
        width = inputs * layer_count(keys)
        everywhere = (
            Extra(
                name="embed_tokens_per_layer.weight",
                rows=keys.size("vocab_size_per_layer_input"),
                columns=width,
                over=Over.VOCABULARY,
            ),
            Extra(
                name="per_layer_model_projection",
                rows=width,
                columns=keys.size("hidden_size"),
                over=Over.TENSOR,
                linear=True,
            ),
            Extra(name="per_layer_projection_norm.weight", rows=inputs),
        )
    return Ends(everywhere=everywhere, buffers=tuple(Extra(name=name, rows=1) for name in scalars))
