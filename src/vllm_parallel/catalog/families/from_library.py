"""Dense families that vLLM builds with its Transformers backend: Phi, OLMo, Seed-OSS and more."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, NormSpan
from vllm_parallel.catalog.families.backend import built, dense, frequencies, heads
from vllm_parallel.catalog.families.common import (
    AFTER,
    FULL,
    SLIDING,
    every_nth_full,
    layer_count,
    layer_kinds,
    one_each,
    with_kinds,
)
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig

PHI: Final[JsonObject] = {
    "vocab_size": 51_200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
    "num_attention_heads": 32, "max_position_embeddings": 2048, "partial_rotary_factor": 0.5,
}  # fmt: skip
OLMO: Final[JsonObject] = {
    "vocab_size": 50_304, "hidden_size": 4096, "intermediate_size": 11_008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048,
    "pad_token_id": 1,
}  # fmt: skip
GLM: Final[JsonObject] = {
    "vocab_size": 151_552, "hidden_size": 4096, "intermediate_size": 13_696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
    "head_dim": 128, "max_position_embeddings": 131_072, "attention_bias": True,
    "pad_token_id": 151_329, "partial_rotary_factor": 0.5,
}  # fmt: skip
SEED_OSS: Final[JsonObject] = {
    "vocab_size": 155_136, "hidden_size": 4096, "intermediate_size": 27_648,
    "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
    "head_dim": 128, "max_position_embeddings": 524_288, "attention_bias": True,
    "pad_token_id": 1,
}  # fmt: skip
SMOLLM_3: Final[JsonObject] = {
    "vocab_size": 128_256, "hidden_size": 2048, "intermediate_size": 11_008,
    "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4,
    "max_position_embeddings": 32_768, "pad_token_id": 128_004, "tie_word_embeddings": True,
}  # fmt: skip
STARCODER_2: Final[JsonObject] = {
    "vocab_size": 49_152, "hidden_size": 3072, "intermediate_size": 12_288,
    "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
    "max_position_embeddings": 4096, "use_bias": True, "tie_word_embeddings": True,
}  # fmt: skip
ARCEE: Final[JsonObject] = {
    "vocab_size": 32_000, "hidden_size": 2560, "intermediate_size": 18_432,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096,
}  # fmt: skip
GPT_NEOX: Final[JsonObject] = {
    "vocab_size": 50_432, "hidden_size": 6144, "intermediate_size": 24_576,
    "num_hidden_layers": 44, "num_attention_heads": 64, "max_position_embeddings": 2048,
    "rotary_pct": 0.25, "attention_bias": True,
}  # fmt: skip
HUNYUAN: Final[JsonObject] = {
    "vocab_size": 290_943, "hidden_size": 4096, "intermediate_size": 11_008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048,
    "pad_token_id": 0,
}  # fmt: skip
CWM: Final[JsonObject] = {
    "vocab_size": 128_256, "hidden_size": 6144, "intermediate_size": 21_504,
    "num_hidden_layers": 64, "num_attention_heads": 48, "num_key_value_heads": 8,
    "head_dim": 128, "max_position_embeddings": 131_072, "sliding_window": 8192,
}  # fmt: skip
PHI_NAMES: Final = (
    ("self_attn.o_proj", "self_attn.dense"),
    ("mlp.up_proj", "mlp.fc1"),
    ("mlp.down_proj", "mlp.fc2"),
)
STARCODER_NAMES: Final = (("mlp.up_proj", "mlp.c_fc"), ("mlp.down_proj", "mlp.c_proj"))
NEOX_NAMES: Final = (
    ("self_attn.qkv_proj", "attention.query_key_value"),
    ("self_attn.o_proj", "attention.dense"),
    ("mlp.up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
)
BIASED_NORM: Final = Ends(norm_bias=True)


def read_phi(keys: Keys) -> ModelConfig:
    """Phi: biases everywhere, one norm before attention and MLP alike.

    Source: transformers, models/phi/modeling_phi.py
    """
    keys = keys.filled(PHI)
    keys.refuse_set("qk_layernorm")
    block = Block(
        attention=heads(keys, qkv_bias=True, output_bias=True),
        mlp=dense(keys, bias=True, gated=False),
        norms=("input_layernorm",),
        norm_bias=True,
        names=PHI_NAMES,
    )
    return built(keys, block, Ends(norms=("final_layernorm",), norm_bias=True))


def read_olmo(keys: Keys) -> ModelConfig:
    """OLMo: norms without weights.

    Source: transformers, models/olmo/modeling_olmo.py
    """
    keys = keys.filled(OLMO)
    bias = keys.flag("attention_bias")
    attention = heads(keys, qkv_bias=bias, output_bias=bias)
    return built(keys, Block(attention=attention, mlp=dense(keys), norms=()), Ends(norms=()))


def read_olmo2(keys: Keys) -> ModelConfig:
    """OLMo 2: norms after each part, and over all query and all key heads.

    Source: transformers, models/olmo2/modeling_olmo2.py
    """
    keys = keys.filled(OLMO)
    return built(keys, olmo2_block(keys))


def read_olmo3(keys: Keys) -> ModelConfig:
    """OLMo 3: three of four layers see a window; each kind has frequencies of its own.

    Source: transformers, models/olmo3/modeling_olmo3.py
    """
    keys = keys.filled({**OLMO, "sliding_window": 4096})
    keys = with_kinds(keys, every_nth_full(keys, 4))
    block = olmo2_block(keys)
    # Scaling moves the frequencies, not their number; no kind rotates a part of a head.
    dims = {f"{kind}_": _head_dim(block) for kind in sorted(set(layer_kinds(keys)))}
    return built(keys, block, Ends(buffers=frequencies(dims)))


def olmo2_block(keys: Keys) -> Block:
    """A block of OLMo 2, its MLP dense."""
    bias = keys.flag("attention_bias")
    attention = heads(keys, qkv_bias=bias, output_bias=bias)
    attention = replace(attention, qk_norm=True, norm_span=NormSpan.WIDTH)
    return Block(attention=attention, mlp=dense(keys), norms=AFTER)


def _head_dim(block: Block) -> int:
    return getattr(block.attention, "head_dim", 0)


def read_glm(keys: Keys) -> ModelConfig:
    """GLM-4 9B: half-rotated heads, biased queries, keys and values.

    Source: transformers, models/glm/modeling_glm.py
    """
    keys = keys.filled(GLM)
    attention = heads(keys, qkv_bias=keys.flag("attention_bias"))
    return built(keys, Block(attention=attention, mlp=dense(keys)))


def read_seed_oss(keys: Keys) -> ModelConfig:
    """Seed-OSS: biased queries, keys and values, the others as the config says.

    Source: transformers, models/seed_oss/modeling_seed_oss.py
    """
    keys = keys.filled(SEED_OSS)
    attention = heads(
        keys,
        qkv_bias=keys.flag("attention_bias"),
        output_bias=keys.flag("attention_out_bias"),
    )
    mlp = dense(keys, bias=keys.flag("mlp_bias"))
    return built(keys, Block(attention=attention, mlp=mlp))


def read_smollm3(keys: Keys) -> ModelConfig:
    """SmolLM3: some layers do not rotate, and see a window where the config turns that on.

    Source: transformers, models/smollm3/modeling_smollm3.py
    """
    keys = keys.filled(SMOLLM_3)
    bias = keys.flag("attention_bias")
    step = keys.size("no_rope_layer_interval", default=4)
    given = keys.items("no_rope_layers")
    layers = layer_count(keys)
    rotated = (
        [int((n + 1) % step != 0) for n in range(layers)]
        if given is None
        else one_each(keys, "no_rope_layers", given)
    )
    windowed = keys.flag("use_sliding_window") and keys.has("sliding_window")
    kinds: list[object] = [SLIDING if windowed and not turn else FULL for turn in rotated]
    block = Block(
        attention=heads(keys, qkv_bias=bias, output_bias=bias),
        mlp=dense(keys, bias=keys.flag("mlp_bias")),
    )
    return built(with_kinds(keys, kinds), block)


def read_starcoder2(keys: Keys) -> ModelConfig:
    """StarCoder2: norms with biases, no gate, biases unless the config says not.

    Source: transformers, models/starcoder2/modeling_starcoder2.py
    """
    keys = keys.filled(STARCODER_2)
    bias = keys.flag("use_bias")
    block = Block(
        attention=heads(keys, qkv_bias=bias, output_bias=bias),
        mlp=dense(keys, bias=bias, gated=False),
        norm_bias=True,
        names=STARCODER_NAMES,
    )
    return built(keys, block, BIASED_NORM)


def read_arcee(keys: Keys) -> ModelConfig:
    """Arcee's AFM: squared ReLU without a gate.

    Source: transformers, models/arcee/modeling_arcee.py
    """
    keys = keys.filled(ARCEE)
    bias = keys.flag("attention_bias")
    mlp = dense(keys, bias=keys.flag("mlp_bias"), gated=False)
    return built(keys, Block(attention=heads(keys, qkv_bias=bias, output_bias=bias), mlp=mlp))


def read_gpt_neox(keys: Keys) -> ModelConfig:
    """GPT-NeoX and Pythia: quarter-rotated heads, biases, norms with biases.

    Source: transformers, models/gpt_neox/modeling_gpt_neox.py
    """
    keys = keys.without("partial_rotary_factor").filled(GPT_NEOX)
    bias = keys.flag("attention_bias")
    if keys.has("num_key_value_heads"):
        raise CatalogError(
            subject=keys.name,
            problem="has 'num_key_value_heads', which GPT-NeoX has not",
            fix="leave it out: each query head has a KV head of its own",
        )
    block = Block(
        attention=heads(keys.without("head_dim"), qkv_bias=bias, output_bias=bias),
        mlp=dense(keys, bias=True, gated=False),
        norm_bias=True,
        names=NEOX_NAMES,
    )
    return built(keys, block, Ends(norms=("final_layer_norm",), norm_bias=True))


def read_hunyuan(keys: Keys) -> ModelConfig:
    """Hunyuan, dense: a norm on each query and key head.

    Source: transformers, models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py
    """
    keys = keys.filled(HUNYUAN)
    return built(keys, hunyuan_block(keys))


def hunyuan_block(keys: Keys) -> Block:
    """A block of Hunyuan, its MLP dense; its class leaves a head's width out, and dies of that."""
    keys.size("head_dim")
    bias = keys.flag("attention_bias")
    attention = heads(keys, qkv_bias=bias, output_bias=bias)
    # Its class has no plan for tp: what the backend cannot fuse evenly it copies.
    mlp = replace(dense(keys), copied_uneven=True)
    return Block(attention=replace(attention, qk_norm=True), mlp=mlp)


def read_cwm(keys: Keys) -> ModelConfig:
    """Code World Model: the first of four layers is full, the others see a window.

    Source: transformers, models/cwm/modeling_cwm.py
    """
    keys = keys.filled(CWM)
    kinds: list[object] = [SLIDING if n % 4 else FULL for n in range(layer_count(keys))]
    mlp = dense(keys, bias=keys.flag("mlp_bias"))
    return built(with_kinds(keys, kinds), Block(attention=heads(keys), mlp=mlp))
