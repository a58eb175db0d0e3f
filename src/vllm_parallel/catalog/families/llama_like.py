"""Dense families close to Llama: each differs by norms, biases, rotary share or names."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    attention_bias,
    grouped,
    in_bfloat16,
    layer_count,
    named_windows,
    one_window,
    one_window_attention,
    refuse_activation,
    whole_model,
)
from vllm_parallel.catalog.families.dense import llama_layers
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.rope import LONG, read_rotary, rope_keys, rope_type
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

PHI_3: Final[JsonObject] = {
    "vocab_size": 32_064, "hidden_size": 3072, "intermediate_size": 8192,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096,
    "original_max_position_embeddings": 4096,
}  # fmt: skip
ERNIE: Final[JsonObject] = {
    "vocab_size": 103_424, "hidden_size": 1024, "intermediate_size": 3072,
    "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2,
    "head_dim": 128, "max_position_embeddings": 131_072, "tie_word_embeddings": True,
}  # fmt: skip
MINISTRAL_YARN: Final = {
    "rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16_384,
}  # fmt: skip
MINISTRAL: Final[JsonObject] = {
    "vocab_size": 131_072, "hidden_size": 4096, "intermediate_size": 14_336,
    "num_hidden_layers": 34, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "max_position_embeddings": 262_144,
}  # fmt: skip
GLM_4: Final[JsonObject] = {
    "vocab_size": 151_552, "hidden_size": 4096, "intermediate_size": 13_696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
    "head_dim": 128, "max_position_embeddings": 131_072, "attention_bias": True,
}  # fmt: skip
NEMOTRON: Final[JsonObject] = {
    "vocab_size": 256_000, "hidden_size": 6144, "intermediate_size": 24_576,
    "num_hidden_layers": 32, "num_attention_heads": 48, "max_position_embeddings": 4096,
}  # fmt: skip
APERTUS: Final[JsonObject] = {
    "vocab_size": 131_072, "hidden_size": 4096, "intermediate_size": 14_336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 65_536,
    "hidden_act": "xielu",
}  # fmt: skip
STABLE_LM: Final[JsonObject] = {
    "vocab_size": 50_304, "hidden_size": 2560, "intermediate_size": 6912,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 4096,
}  # fmt: skip
GLM_NORMS: Final = (
    "input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm",
    "post_mlp_layernorm",
)  # fmt: skip
SLOPES, CONSTANTS = (
    tuple(Extra(name=f"mlp.act_fn.{name}", rows=1, dtype=Dtype.BFLOAT16) for name in names)
    for names in (("alpha_p", "alpha_n"), ("beta", "eps"))
)


def read_phi3(keys: Keys) -> ModelConfig:
    """Phi-3 and Phi-4: Llama's layers; long ones have a table of short and one of long factors.

    Source: vllm/model_executor/models/phi3.py (v0.32.0)
    """
    keys = keys.filled(PHI_3)
    kind = rope_type(keys)
    if kind not in ("default", "yarn", LONG):
        raise CatalogError(
            subject=keys.name,
            problem=f"scales rotary positions by {shortened(kind)}",
            fix=f"transformers takes {LONG} alone here",
        )
    if kind != "default":
        rope = keys.nested("rope_scaling") or keys.nested("rope_parameters") or keys
        if rope.text("rope_type", "type") == "su":  # transformers fills in the length for others
            rope.refuse_missing("original_max_position_embeddings")
        stretched = rope_keys(keys).without("type").with_(rope_type=LONG)
        keys = keys.with_(rope_scaling=stretched.values)
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    return llama_layers(keys, attention, named_windows(keys))


def read_ernie(keys: Keys) -> ModelConfig:
    """ERNIE 4.5, dense: Llama's layers without a bias on the output.

    Source: vllm/model_executor/models/ernie45.py (v0.32.0)
    """
    keys = keys.filled(ERNIE)
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    model = llama_layers(keys, attention, named_windows(keys))
    kinds = tuple(
        replace(kind, attention=replace(kind.attention, output_bias=False))
        for kind in model.kinds
        if isinstance(kind.attention, GroupedQueryAttention)
    )
    return replace(model, kinds=kinds)


def read_ministral3(keys: Keys) -> ModelConfig:
    """Ministral 3: Mistral's layers, scaled by yarn unless the config says how.

    Source: vllm/model_executor/models/mistral.py (v0.32.0)
    """
    keys = keys.filled(MINISTRAL)
    if not keys.has("rope_scaling") and not keys.has("rope_parameters"):
        keys = keys.with_(rope_parameters=MINISTRAL_YARN)
    attention = grouped(keys, HeadDefaults(null_kv_heads=True))
    return llama_layers(keys, attention, named_windows(keys))


def read_glm4(keys: Keys) -> ModelConfig:
    """GLM-4 0414: half-rotated heads, biased queries, keys and values, norms on both sides.

    Source: vllm/model_executor/models/glm4.py (v0.32.0)
    """
    keys = in_bfloat16(keys.filled(GLM_4))
    refuse_activation(keys)
    attention = replace(
        grouped(keys, HeadDefaults()), qkv_bias=keys.flag("attention_bias"), window=one_window(keys)
    )
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    block = Block(attention=attention, mlp=mlp, norms=GLM_NORMS)
    return alike(keys, block, Traits(no_float16="glm4"), partial=0.5)


def read_nemotron(keys: Keys) -> ModelConfig:
    """Nemotron-4, Minitron: squared ReLU without a gate, norms with biases, half-rotated heads.

    Source: vllm/model_executor/models/nemotron.py (v0.32.0)
    """
    keys = keys.filled(NEMOTRON)
    keys.size("num_key_value_heads")  # its class fills nothing in, and vLLM wants a number
    attention = one_window_attention(keys)
    mlp = DenseMlp(
        intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"), gated=False
    )
    model = alike(keys, Block(attention=attention, mlp=mlp, norm_bias=True), partial=0.5)
    return replace(model, ends=Ends(norm_bias=True))


def read_apertus(keys: Keys) -> ModelConfig:
    """Apertus: an activation with weights of its own, a norm on each query and key head.

    Source: vllm/model_executor/models/apertus.py (v0.32.0)
    """
    keys = keys.filled(APERTUS)
    refuse_activation(keys, takes="xielu")
    bias = attention_bias(keys)
    attention = replace(
        grouped(keys, HeadDefaults(null_kv_heads=True)),
        qkv_bias=keys.flag("qkv_bias", default=bias),
        output_bias=bias,
        qk_norm=True,
    )
    block = Block(
        attention=None,
        mlp=DenseMlp(
            intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"), gated=False
        ),
        norms=("attention_layernorm", "feedforward_layernorm"),
        extras=SLOPES,
        buffers=CONSTANTS,
    )
    blocks = [
        replace(block, attention=replace(attention, window=window))
        for window in named_windows(keys)
    ]
    return whole_model(keys, blocks, read_rotary(keys, attention.head_dim))


def read_stablelm(keys: Keys) -> ModelConfig:
    """StableLM: norms with biases, quarter-rotated heads, ends on every stage.

    Source: vllm/model_executor/models/stablelm.py (v0.32.0)
    """
    keys = keys.filled(STABLE_LM)
    attention = replace(
        grouped(keys.without("head_dim"), HeadDefaults()),
        qkv_bias=keys.flag("use_qkv_bias"),
        window=one_window(keys),
    )
    mlp = DenseMlp(intermediate=keys.size("intermediate_size"))
    block = Block(attention=attention, mlp=mlp, norm_bias=True)
    model = alike(keys, block, Traits(whole_ends=True), partial=0.25)
    return replace(model, ends=Ends(norm_bias=True))


def alike(
    keys: Keys, block: Block, traits: Traits | None = None, *, partial: float = 1.0
) -> ModelConfig:
    """Blocks that are all alike, with one rotary table."""
    assert isinstance(block.attention, GroupedQueryAttention)
    rotary = read_rotary(keys, block.attention.head_dim, partial=partial)
    return whole_model(keys, [block] * layer_count(keys), rotary, traits)
