"""Zamba2: Mamba 2 on every layer, and a few transformer blocks that some layers share."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    one_each,
    refuse_activation,
    whole_model,
)
from vllm_parallel.catalog.families.filled import filled, refuse_no_attention
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends, Extra, Over
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import Mamba2
from vllm_parallel.model import ModelConfig, Traits

ZAMBA2: Final = {
    "vocab_size": 32000, "max_position_embeddings": 4096, "hidden_size": 2560,
    "num_hidden_layers": 54, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2,
    "mamba_ngroups": 1, "n_mamba_heads": 8, "use_conv_bias": True, "num_attention_heads": 32,
    "num_mem_blocks": 1, "adapter_rank": 128,
}  # fmt: skip
SHARING: Final = (6, 12, 18, 24, 30, 36, 42, 47, 51)  # where a config names no layers
LONG_CONTEXT: Final = 16384
WORDS: Final = ("hybrid", "linear_attention", "mamba")
NORMS: Final = ("input_layernorm",)


def read_zamba2(keys: Keys) -> ModelConfig:
    """Zamba2: adapters of its own on each layer that shares, no pipeline, a tied head.

    Source: vllm/model_executor/models/zamba2.py (v0.32.0)
    """
    keys = filled(keys, ZAMBA2)
    if keys.flag("use_long_context"):
        keys = keys.with_(max_position_embeddings=LONG_CONTEXT)
    refuse_activation(keys, takes="gelu")
    mixer, attention = _mixer(keys), _attention(keys)
    hidden = keys.size("hidden_size")
    plain = Block(attention=None, mixer=mixer, mlp=None, norms=NORMS)
    projection = Extra(name="linear", rows=hidden, columns=hidden, linear=True)
    sharing = replace(plain, attention=attention, extras=(projection, *_adapters(keys)))
    shares = _shares(keys)
    blocks = [sharing if one else plain for one in shares]
    refuse_no_attention(keys, blocks)
    rotary = read_rotary(keys, attention.head_dim) if attention.rotates else ()
    model = whole_model(keys, blocks, rotary, Traits(whole_ends=True, pipeline=False))
    return replace(
        model,
        tied=True,
        ends=Ends(norms=("final_layernorm",), everywhere=_shared(keys, sum(shares))),
    )


def _shares(keys: Keys) -> list[bool]:
    """Which layers go through a shared transformer block first."""
    named = keys.items("layers_block_type") or keys.items("layer_types")
    default: list[object] = ["hybrid" if n in SHARING else "mamba" for n in range(54)]
    words = one_each(keys, "layers_block_type", named or default)
    for word in words:
        if word not in WORDS:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {shortened(word)} among its layers_block_type",
                fix=f"modelled are {', '.join(WORDS)}",
            )
    return [word == "hybrid" for word in words]


def _mixer(keys: Keys) -> Mamba2:
    inner, heads = keys.size("mamba_expand") * keys.size("hidden_size"), keys.size("n_mamba_heads")
    return Mamba2(
        name="mamba",
        inner=inner,
        heads=heads,
        head_dim=max(1, inner // heads),
        groups=keys.size("mamba_ngroups"),
        state=keys.size("mamba_d_state"),
        kernel=keys.size("mamba_d_conv"),
        conv_bias=keys.flag("use_conv_bias"),
        bias=keys.flag("add_bias_linear"),
    )


def _attention(keys: Keys) -> GroupedQueryAttention:
    """Heads over twice the hidden size; each with a K and a V of its own."""
    heads = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    both = 2 * keys.size("hidden_size")
    if both % heads.heads or heads.kv_heads != heads.heads:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {heads.heads} heads and {heads.kv_heads} KV heads over {both} channels",
            fix="the heads have to divide the channels, and none may share a KV head",
        )
    return replace(
        heads,
        head_dim=both // heads.heads,
        rotates=keys.flag("use_mem_rope"),
        borrows_weights=True,
    )


def _width(keys: Keys) -> int:
    return keys.optional("intermediate_size") or 4 * keys.size("hidden_size")


def _adapters(keys: Keys) -> tuple[Extra, ...]:
    """The adapters of one layer: of the MLP always, of attention where the config says so."""
    hidden, width, rank = keys.size("hidden_size"), _width(keys), keys.size("adapter_rank")
    pairs = [("feed_forward.gate_up_proj_adapter", hidden, 2 * width)]
    if keys.flag("use_shared_attention_adapter"):
        both = 2 * hidden
        pairs += [(f"self_attn.linear_{part}_adapter", both, both) for part in "qkv"]
    return tuple(
        Extra(name=f"{name}.{side}", rows=rows, columns=columns, over=Over.TENSOR, linear=True)
        for name, inward, outward in pairs
        for side, rows, columns in (("A", rank, inward), ("B", outward, rank))
    )


def _shared(keys: Keys, layers: int) -> tuple[Extra, ...]:
    """The transformer blocks that so many layers share, one after the other.

    Attention reads the hidden state beside the embedding, so it is twice as wide.
    """
    hidden, width, bias = keys.size("hidden_size"), _width(keys), keys.flag("add_bias_linear")
    both, cut = 2 * hidden, Over.TENSOR
    parts = (
        Extra(name="self_attn.qkv_proj", rows=3 * both, columns=both, over=cut, linear=True),
        Extra(
            name="self_attn.o_proj", rows=hidden, columns=both, columns_over=cut, linear=True
        ),
        Extra(
            name="feed_forward.gate_up_proj", rows=2 * width, columns=hidden, over=cut,
            linear=True, bias=bias,
        ),
        Extra(
            name="feed_forward.down_proj", rows=hidden, columns=width, columns_over=cut,
            linear=True, bias=bias,
        ),
        Extra(name="input_layernorm.weight", rows=both),
        Extra(name="pre_ff_layernorm.weight", rows=hidden),
    )  # fmt: skip
    return tuple(
        replace(part, name=f"shared_transformer.{number}.{part.name}")
        for number in range(min(keys.size("num_mem_blocks"), layers))
        for part in parts
    )
