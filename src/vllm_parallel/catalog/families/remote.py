"""Dense families whose config class comes with the model or with vLLM, not with transformers."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    one_each,
    one_window,
    one_window_attention,
    refuse_activation,
    whole_model,
)
from vllm_parallel.catalog.families.llama_like import alike
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import read_rotary
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.units import round_up

MULTIPLE: Final = 256  # of the widths that a factor gives
CHATGLM: Final[JsonObject] = {  # of vLLM's own class
    "num_layers": 28, "padded_vocab_size": 65_024, "hidden_size": 4096, "ffn_hidden_size": 13_696,
    "num_attention_heads": 32, "seq_length": 2048, "rmsnorm": True, "post_layer_norm": True,
    "multi_query_group_num": 1,
}  # fmt: skip
CHATGLM_NAMES: Final = (
    ("self_attn.qkv_proj", "self_attention.query_key_value"),
    ("self_attn.o_proj", "self_attention.dense"),
    ("mlp.gate_up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
)
EXAONE_NAMES: Final = (
    ("self_attn.qkv_proj", "attn.attention.qkv_proj"),
    ("self_attn.o_proj", "attn.attention.out_proj"),
    ("mlp.down_proj", "mlp.c_proj"),
)
INTERNLM_NAMES: Final = (
    ("self_attn.qkv_proj", "attention.wqkv"),
    ("self_attn.o_proj", "attention.wo"),
    ("mlp.gate_up_proj", "feed_forward.gate_up_proj"),
    ("mlp.down_proj", "feed_forward.w2"),
)


def read_exaone(keys: Keys) -> ModelConfig:
    """EXAONE 3: Llama's layers under names of its own.

    Source: vllm/model_executor/models/exaone.py (v0.32.0)
    """
    keys = keys.with_(num_hidden_layers=keys.size("num_layers", "num_hidden_layers"))
    refuse_activation(keys, "activation_function")
    block = replace(_llama_block(keys), norms=("ln_1", "ln_2"), names=EXAONE_NAMES)
    return replace(alike(keys, block), ends=Ends(norms=("ln_f",)))


def read_solar(keys: Keys) -> ModelConfig:
    """Solar Pro: Llama's layers, some outputs fed to later ones.

    Source: vllm/model_executor/models/solar.py (v0.32.0)
    """
    refuse_activation(keys)
    return alike(keys, _llama_block(keys))


def read_internlm2(keys: Keys) -> ModelConfig:
    """InternLM 2 and 2.5: Llama's layers under names of its own, ends on every stage.

    Source: vllm/model_executor/models/internlm2.py (v0.32.0)
    """
    refuse_activation(keys)
    attention = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    block = Block(
        attention=replace(attention, window=one_window(keys)),
        mlp=DenseMlp(intermediate=keys.size("intermediate_size")),
        norms=("attention_norm", "ffn_norm"),
        names=INTERNLM_NAMES,
    )
    return alike(keys, block, Traits(whole_ends=True))


def read_orion(keys: Keys) -> ModelConfig:
    """Orion: norms with biases, ends on every stage.

    Source: vllm/model_executor/models/orion.py (v0.32.0)
    """
    refuse_activation(keys)
    attention = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    block = Block(
        attention=replace(attention, window=one_window(keys)),
        mlp=DenseMlp(intermediate=keys.size("intermediate_size")),
        norm_bias=True,
    )
    return replace(alike(keys, block, Traits(whole_ends=True)), ends=Ends(norm_bias=True))


def read_minicpm(keys: Keys) -> ModelConfig:
    """MiniCPM, dense: Llama's layers, ends on every stage.

    Source: vllm/model_executor/models/minicpm.py (v0.32.0)
    """
    keys.refuse_missing("tie_word_embeddings")
    if keys.optional("num_experts"):
        raise CatalogError(
            subject=keys.name, problem="has experts", fix="MiniCPM is modelled without"
        )
    attention = grouped(keys.without("head_dim"), HeadDefaults(null_kv_heads=True))
    block = Block(
        attention=replace(attention, window=one_window(keys)),
        mlp=DenseMlp(intermediate=keys.size("intermediate_size")),
    )
    return alike(keys, block, Traits(whole_ends=True))


def read_hyperclova(keys: Keys) -> ModelConfig:
    """HyperCLOVA X SEED: Llama's layers, perhaps with norms after each part.

    Source: vllm/model_executor/models/hyperclovax.py (v0.32.0)
    """
    for key in ("head_dim", "attention_bias", "mlp_bias", "use_post_norm"):
        keys.refuse_missing(key)
    refuse_activation(keys)
    after = ("post_norm1", "post_norm2") if keys.flag("use_post_norm") else ()
    norms = ("input_layernorm", "post_attention_layernorm", *after)
    return alike(keys, replace(_llama_block(keys.without("bias")), norms=norms))


def read_chatglm(keys: Keys) -> ModelConfig:
    """ChatGLM and GLM-4 9B: half-rotated heads, sizes under names of its own.

    Source: vllm/model_executor/models/chatglm.py (v0.32.0)
    """
    keys.refuse_missing("tie_word_embeddings")
    keys = keys.filled(CHATGLM)
    bias, heads = keys.flag("add_bias_linear"), keys.size("num_attention_heads")
    few = keys.flag("multi_query_attention")
    keys = keys.with_(
        num_hidden_layers=keys.size("num_layers"),
        vocab_size=keys.size("padded_vocab_size"),
        max_position_embeddings=keys.size("seq_length"),
        num_key_value_heads=keys.size("multi_query_group_num") if few else heads,
        rope_parameters=None,
        rope_scaling=None,
    )
    attention = replace(
        grouped(keys.without("head_dim"), HeadDefaults()),
        qkv_bias=bias or keys.flag("add_qkv_bias"),
        output_bias=bias,
        window=one_window(keys),
    )
    block = Block(
        attention=attention,
        mlp=DenseMlp(intermediate=keys.size("ffn_hidden_size"), bias=bias),
        norm_bias=not keys.flag("rmsnorm"),
        names=CHATGLM_NAMES,
    )
    plain = keys.without("partial_rotary_factor")
    model = alike(plain, block, Traits(whole_ends=True), partial=0.5)
    last = ("final_layernorm",) if keys.flag("post_layer_norm") else ()
    return replace(model, ends=Ends(norms=last, norm_bias=block.norm_bias))


def read_decilm(keys: Keys) -> ModelConfig:
    """Nemotron NAS: layers that lack attention or MLP, or have fewer KV heads or columns.

    Source: vllm/model_executor/models/nemotron_nas.py (v0.32.0)
    """
    refuse_activation(keys)
    layers = one_each(keys, "block_configs", keys.items("block_configs") or [])
    base = replace(_llama_block(keys), names=())
    blocks = [_searched(keys.with_(block=layer), base) for layer in layers]
    rotary = read_rotary(keys, _attention(base).head_dim)
    return whole_model(keys, blocks, rotary)


def _searched(keys: Keys, base: Block) -> Block:
    """One layer, from its entry in `block_configs`."""
    own = keys.nested("block") or Keys(keys.name, {})
    heads, ffn = own.nested("attention"), own.nested("ffn")
    if heads is None or ffn is None:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the block {shortened(keys.values['block'])}",
            fix="give its 'attention' and 'ffn'",
        )
    for part in (heads, ffn):
        part.refuse_set("replace_with_linear")
    attention = mlp = None
    norms: tuple[str, ...] = ()
    if not heads.flag("no_op"):
        queries = _attention(base).heads
        kv_heads = queries // heads.size("n_heads_in_group")
        attention = replace(_attention(base), kv_heads=kv_heads)
        norms += ("input_layernorm",)
    if not ffn.flag("no_op"):
        mlp = DenseMlp(intermediate=_width(keys, ffn), bias=keys.flag("mlp_bias"))
        norms += ("post_attention_layernorm",)
    return replace(base, attention=attention, mlp=mlp, norms=norms)


def _width(keys: Keys, ffn: Keys) -> int:
    if not ffn.has("ffn_mult"):
        return ffn.size("intermediate_size")
    width = int(2 * ffn.number("ffn_mult") * keys.size("hidden_size") / 3)
    return round_up(width, MULTIPLE)


def _attention(block: Block) -> GroupedQueryAttention:
    assert isinstance(block.attention, GroupedQueryAttention)
    return block.attention


def _llama_block(keys: Keys) -> Block:
    """A block of Llama's shape; these families look at no layer's kind for windows."""
    attention = one_window_attention(keys)
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"))
    return Block(attention=attention, mlp=mlp)
