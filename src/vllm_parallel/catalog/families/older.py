"""Older families, whose positions are learned, rotated or a slope: GPT-2, GPT-J, OPT, Falcon."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import layer_count, one_window, whole_model
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

GPT_2: Final[JsonObject] = {"vocab_size": 50_257, "tie_word_embeddings": True}
ASSERTED_OFF: Final = (
    "add_cross_attention", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn",
)  # fmt: skip
OPT: Final[JsonObject] = {
    "vocab_size": 50_272, "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072,
    "max_position_embeddings": 2048, "num_attention_heads": 12, "tie_word_embeddings": True,
    "enable_bias": True, "do_layer_norm_before": True, "layer_norm_elementwise_affine": True,
}  # fmt: skip
FALCON: Final[JsonObject] = {
    "vocab_size": 65_024, "hidden_size": 4544, "num_hidden_layers": 32,
    "num_attention_heads": 71, "max_position_embeddings": 2048, "multi_query": True,
    "parallel_attn": True, "tie_word_embeddings": True,
}  # fmt: skip
OPT_PADDING: Final = 2  # rows before the first position
WHOLE: Final = Traits(whole_ends=True)
GPT_2_NAMES: Final = (
    ("self_attn.qkv_proj", "attn.c_attn"),
    ("self_attn.o_proj", "attn.c_proj"),
    ("mlp.up_proj", "mlp.c_fc"),
    ("mlp.down_proj", "mlp.c_proj"),
)
GPT_J_NAMES: Final = (
    ("self_attn.qkv_proj", "attn.qkv_proj"),
    ("self_attn.o_proj", "attn.out_proj"),
    ("mlp.up_proj", "mlp.fc_in"),
    ("mlp.down_proj", "mlp.fc_out"),
)
OPT_NAMES: Final = (
    ("self_attn.o_proj", "self_attn.out_proj"),
    ("mlp.up_proj", "fc1"),
    ("mlp.down_proj", "fc2"),
)
FALCON_NAMES: Final = (
    ("self_attn.qkv_proj", "self_attention.query_key_value"),
    ("self_attn.o_proj", "self_attention.dense"),
    ("mlp.up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
)


def read_gpt2(keys: Keys) -> ModelConfig:
    """GPT-2: learned positions and everything else of the ends on every stage.

    Source: vllm/model_executor/models/gpt2.py (v0.32.0)
    """
    for key in (
        "add_cross_attention",
        "scale_attn_by_inverse_layer_idx",
        "reorder_and_upcast_attn",
    ):
        keys.refuse_set(key)
    hidden = keys.size("n_embd", "hidden_size", default=768)
    keys = keys.filled(GPT_2).with_(
        hidden_size=hidden,
        num_hidden_layers=keys.size("n_layer", "num_hidden_layers", default=12),
        max_position_embeddings=keys.size("n_positions", "max_position_embeddings", default=1024),
    )
    inner = keys.optional("n_inner") or 4 * hidden
    block = Block(
        attention=_unrotated(keys, keys.size("n_head", "num_attention_heads", default=12)),
        mlp=DenseMlp(intermediate=inner, bias=True, gated=False),
        norms=("ln_1", "ln_2"),
        norm_bias=True,
        names=GPT_2_NAMES,
    )
    positions = Extra(name="wpe.weight", rows=keys.size("max_position_embeddings"), columns=hidden)
    ends = Ends(norms=("ln_f",), norm_bias=True, with_embedding=(positions,))
    return replace(whole_model(keys, [block] * layer_count(keys), (), WHOLE), ends=ends)


def read_gptj(keys: Keys) -> ModelConfig:
    """GPT-J: attention and MLP side by side, a head of its own with a bias.

    Source: vllm/model_executor/models/gpt_j.py (v0.32.0)
    """
    keys.refuse_set("tie_word_embeddings")  # vLLM asserts that it is not
    hidden = keys.size("n_embd", "hidden_size", default=4096)
    keys = keys.filled({"vocab_size": 50_400, "rotary_dim": 64}).with_(
        hidden_size=hidden,
        num_hidden_layers=keys.size("n_layer", "num_hidden_layers", default=28),
        max_position_embeddings=keys.size("n_positions", "max_position_embeddings", default=2048),
    )
    attention = replace(
        _unrotated(keys, keys.size("n_head", "num_attention_heads", default=16)),
        qkv_bias=False,
        output_bias=False,
        rotates=True,
    )
    block = Block(
        attention=attention,
        mlp=DenseMlp(intermediate=keys.optional("n_inner") or 4 * hidden, bias=True, gated=False),
        norms=("ln_1",),
        norm_bias=True,
        names=GPT_J_NAMES,
    )
    share = keys.size("rotary_dim") / attention.head_dim
    plain = keys.without("partial_rotary_factor")
    rotary = read_rotary(plain, attention.head_dim, partial=share)
    model = whole_model(keys, [block] * layer_count(keys), rotary, WHOLE)
    return replace(model, ends=Ends(norms=("ln_f",), norm_bias=True, head_bias=True))


def read_opt(keys: Keys) -> ModelConfig:
    """OPT: learned positions, norms before each part.

    Source: vllm/model_executor/models/opt.py (v0.32.0)
    """
    keys = keys.filled(OPT)
    hidden, bias = keys.size("hidden_size"), keys.flag("enable_bias")
    if keys.size("word_embed_proj_dim", default=hidden) != hidden:
        raise CatalogError(
            subject=keys.name,
            problem="has embeddings of another width than its layers",
            fix="such models are not modelled",
        )
    norms = keys.flag("layer_norm_elementwise_affine")
    attention = _unrotated(keys, keys.size("num_attention_heads"))
    block = Block(
        attention=replace(attention, qkv_bias=bias, output_bias=bias),
        mlp=DenseMlp(intermediate=keys.size("ffn_dim"), bias=bias, gated=False),
        norms=("self_attn_layer_norm", "final_layer_norm") if norms else (),
        norm_bias=True,
        names=OPT_NAMES,
    )
    last = keys.flag("do_layer_norm_before") and not keys.flag("_remove_final_layer_norm")
    positions = Extra(
        name="embed_positions.weight",
        rows=keys.size("max_position_embeddings") + OPT_PADDING,
        columns=hidden,
    )
    ends = Ends(
        norms=("final_layer_norm",) if last and norms else (),
        norm_bias=True,
        with_embedding=(positions,),
    )
    return replace(whole_model(keys, [block] * layer_count(keys), (), WHOLE), ends=ends)


def read_falcon(keys: Keys) -> ModelConfig:
    """Falcon: one or a few KV heads, attention and MLP side by side, rotary or ALiBi.

    Source: vllm/model_executor/models/falcon.py (v0.32.0)
    """
    keys = keys.filled(FALCON)
    heads, hidden = keys.size("num_attention_heads"), keys.size("hidden_size")
    bias, new = keys.flag("bias"), keys.flag("new_decoder_architecture")
    kv_heads = 1 if keys.flag("multi_query") else heads
    attention = GroupedQueryAttention(
        heads=heads,
        kv_heads=keys.size("num_kv_heads", default=heads) if new else kv_heads,
        head_dim=hidden // heads,
        qkv_bias=bias,
        output_bias=bias,
        rotates=not keys.flag("alibi"),
        window=one_window(keys),
    )
    block = Block(
        attention=attention,
        mlp=DenseMlp(intermediate=4 * hidden, bias=bias, gated=False),
        norms=_falcon_norms(keys, new=new),
        norm_bias=True,
        names=FALCON_NAMES,
    )
    rotary = read_rotary(keys, attention.head_dim)
    model = whole_model(keys, [block] * layer_count(keys), rotary, WHOLE)
    return replace(model, ends=Ends(norms=("ln_f",), norm_bias=True))


def _falcon_norms(keys: Keys, *, new: bool) -> tuple[str, ...]:
    if not keys.flag("parallel_attn"):
        return ("post_attention_layernorm", "input_layernorm")
    two = keys.optional("num_ln_in_parallel_attn", missing=None)
    if two == 2 or (two is None and new):
        return ("ln_attn", "ln_mlp")
    return ("input_layernorm",)


def _unrotated(keys: Keys, heads: int) -> GroupedQueryAttention:
    """Biased attention with a KV head for each query head, whose positions are learned."""
    return GroupedQueryAttention(
        heads=heads,
        kv_heads=heads,
        head_dim=keys.size("hidden_size") // heads,
        qkv_bias=True,
        output_bias=True,
        rotates=False,
    )
