"""Families that are a table of keys each: what they fill in, read their own way, or refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from tests.test_catalog import refused
from tests.test_families import BARE, MOE, experts, read, windows
from vllm_parallel.block import DenseMlp, NormSpan
from vllm_parallel.catalog import load_model
from vllm_parallel.catalog.families import FAMILIES
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.shard import Shard

Config = Mapping[str, object]
NAMED: Final = {"dtype": "bfloat16"}
LONG: Final = {"short_factor": [1.0] * 16, "long_factor": [2.0] * 16}


def names(model: ModelConfig, kind: int = 0) -> list[str]:
    """The weights of a kind of block."""
    return [weight.name for weight in ModelGraph.of(model).kinds[kind].weights]


def ends(model: ModelConfig, stage: int = 0, pp: int = 1) -> set[str]:
    """The weights that a stage holds beside its blocks."""
    shard = Shard.of(Deployment(model=model, layout=Layout(pp=pp)), stage)
    blocks = set(ModelGraph.of(model).kinds)
    return {w.name for layer in shard.layers if layer not in blocks for w in layer.weights}


@pytest.mark.parametrize(
    "family, layers, hidden, vocab, kv_heads, head_dim, tied",
    [
        ("Phi3", 32, 3072, 32_064, 32, 96, False),
        ("Phi", 24, 2048, 51_200, 32, 64, False),
        ("Ernie4_5", 18, 1024, 103_424, 2, 128, True),
        ("Ministral3", 34, 4096, 131_072, 8, 128, False),
        ("Glm4", 40, 4096, 151_552, 2, 128, False),
        ("Glm", 40, 4096, 151_552, 2, 128, False),
        ("Apertus", 32, 4096, 131_072, 32, 128, False),
        ("StableLm", 32, 2560, 50_304, 32, 80, False),
        ("Granite", 32, 4096, 32_000, 32, 128, False),
        ("GraniteSWA", 24, 2560, 100_352, 4, 128, True),
        ("GraniteMoe", 32, 4096, 32_000, 32, 128, False),
        ("Cohere", 40, 8192, 256_000, 64, 128, True),
        ("Cohere2", 40, 8192, 256_000, 64, 128, True),
        ("Exaone4", 32, 4096, 102_400, 32, 128, False),
        ("ExaoneMoE", 32, 4096, 102_400, 32, 128, False),
        ("Ernie4_5_Moe", 28, 2560, 103_424, 4, 128, True),
        ("Olmoe", 16, 2048, 50_304, 16, 128, False),
        ("PhiMoE", 32, 4096, 32_064, 8, 128, False),
        ("Olmo2", 32, 4096, 50_304, 32, 128, False),
        ("Olmo3", 32, 4096, 50_304, 32, 128, False),
        ("SeedOss", 64, 4096, 155_136, 8, 128, False),
        ("SmolLM3", 36, 2048, 128_256, 4, 128, True),
        ("Starcoder2", 30, 3072, 49_152, 2, 128, True),
        ("Arcee", 32, 2560, 32_000, 32, 80, False),
        ("GPTNeoX", 44, 6144, 50_432, 64, 96, False),
        ("Cwm", 64, 6144, 128_256, 8, 128, False),
        ("OPT", 12, 768, 50_272, 12, 64, True),
        ("Falcon", 32, 4544, 65_024, 1, 64, True),
        ("Gemma4", 30, 2304, 262_144, 4, 256, True),
        ("Qwen2Moe", 24, 2048, 151_936, 16, 128, False),
    ],
)
def test_what_is_filled_in(
    family: str, layers: int, hidden: int, vocab: int, kv_heads: int, head_dim: int, tied: bool
) -> None:
    model = read(family, NAMED)
    attention = model.grouped[0]
    assert (model.layers, model.hidden, model.vocab) == (layers, hidden, vocab)
    assert (attention.kv_heads, attention.head_dim, model.tied) == (kv_heads, head_dim, tied)


def test_windows_of_each_family() -> None:
    four = [4096, 4096, 4096, None]
    for family, keys, found in (
        ("Phi3", {}, [None] * 8),
        ("Phi3", {"sliding_window": 2047}, [2047] * 8),
        ("Glm4", {"sliding_window": 64}, [64] * 8),
        ("Cohere", {}, [None] * 8),
        ("Cohere2", {}, [4097, 4097, 4097, None] * 2),
        ("Cohere2", {"sliding_window_pattern": 2, "sliding_window": 64}, [65, None] * 4),
        ("Exaone4", {}, four * 2),
        ("Exaone4", {"layer_types": ["full_attention"] * 8}, [None] * 8),
        ("Exaone4", {"layer_types": ["attention", "sliding_attention"] * 4}, [None, 4096] * 4),
        (
            "ExaoneMoE",
            {"sliding_windows": [1, 2, 3, 4, 5, 6, 7, 8]},
            [1, 2, 3, None, 5, 6, 7, None],
        ),
        ("GraniteSWA", {}, [None, 128, 128, 128] * 2),
        ("Granite", {}, [None] * 8),
        ("Olmo3", {}, four * 2),
        ("SmolLM3", {"use_sliding_window": True}, [None] * 8),
        ("SmolLM3", {"use_sliding_window": True, "sliding_window": 9}, [None, None, None, 9] * 2),
        ("Cwm", {}, [None, 8192, 8192, 8192] * 2),
        ("Gemma4", {}, [512] * 5 + [None, 512, None]),  # the last layer is full
        ("Qwen2Moe", {"use_sliding_window": True}, [None] * 8),
        ("Qwen2Moe", {"use_sliding_window": True, "num_hidden_layers": 1}, [4096]),
    ):
        model = read(family, MOE, pad_token_id=0, top_k_experts=2, **keys)
        assert windows(model) == found, (family, keys)


def test_tables_of_each_family() -> None:
    """Rows, width and how many."""
    for family, keys, tables in (
        ("Phi3", {}, [(4096, 32)]),
        ("Phi3", {"rope_scaling": {"type": "longrope", **LONG}}, [(8192, 32)]),
        (
            "Phi3",
            {"rope_scaling": {"type": "yarn", **LONG}, "original_max_position_embeddings": 1000},
            [(5096, 32)],
        ),
        ("Glm4", {}, [(4096, 64)]),
        ("Nemotron", {"num_key_value_heads": 2}, [(4096, 16)]),
        ("StableLm", {}, [(4096, 8)]),
        ("StableLm", {"partial_rotary_factor": 0.3}, [(4096, 10)]),  # 9.6, made even
        ("Cohere", {"model_max_length": 100}, [(100, 32)]),
        ("Granite", {"layer_rope_theta": [5.0, 0.0] * 4}, [(4096, 32)]),
        ("Granite", {"layer_rope_theta": [5.0, 6.0] * 4}, [(4096, 32)] * 2),
        ("Gemma4", {}, [(4096, 256), (4096, 512)]),
        ("Gemma4", {"global_head_dim": 64}, [(4096, 256), (4096, 64)]),
        ("Ministral3", {}, [(262_144, 128)]),
        ("Olmo2", {}, []),
        ("OPT", {}, []),
        ("Falcon", {}, [(4096, 32)]),
        ("Llama", {"rope_scaling": {"type": "mrope", "mrope_section": [8, 4, 4]}}, [(16_384, 32)]),
        ("Llama", {"rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 9.0}}, [(4096, 32)]),
        ("Llama", {"rope_parameters": {"rope_type": "default", "rope_dim": 8}}, [(4096, 8)]),
    ):
        model = read(family, BARE, **keys)
        assert [(t.positions, t.dim) for t in model.rotaries] == tables, (family, keys)


def test_layers_that_do_not_rotate() -> None:
    """A rotary base of 0 stands for none; Trinity's full layers have no table either."""
    granite = read("Granite", BARE, layer_rope_theta=[5.0, 0.0] * 4)
    assert [attention.rotates for attention in granite.grouped] == [True, False]
    keys = {"score_func": "sigmoid", "route_norm": True, "n_group": 1, "topk_group": 1}
    assert not read("Falcon", BARE, alibi=True).grouped[0].rotates
    trinity = read("Afmoe", MOE, **keys)
    assert {(bool(a.window), a.rotates) for a in trinity.grouped} == {(True, True), (False, False)}


def test_the_longest_context() -> None:
    """The least of the keys that name one; long tables start at what was trained."""
    long = {"rope_scaling": {"type": "longrope", **LONG}}
    for family, keys, tokens, assumed in (
        ("Phi3", long | {"max_position_embeddings": 131_072}, 131_072, 4096),
        ("Llama", {"max_seq_len": 1000}, 1000, 1000),
        ("Llama", {"seq_length": 5000}, 4096, 4096),
    ):
        context = read(family, BARE, **keys).context
        assert (context.tokens, context.max_model_len) == (tokens, assumed), keys


def test_names_of_weights() -> None:
    """A quantised config names them, so they are vLLM's own."""
    for family, name in (
        ("Phi", "mlp.fc1.bias"),
        ("Starcoder2", "mlp.c_proj.weight"),
        ("GPTNeoX", "attention.query_key_value.bias"),
        ("Falcon", "self_attention.dense.weight"),
        ("OPT", "fc2.bias"),
        ("GraniteMoeShared", "shared_mlp.input_linear.weight"),
        ("Nemotron", "mlp.up_proj.weight"),
        ("Apertus", "mlp.act_fn.alpha_p"),
    ):
        kv = {"num_key_value_heads": 8} if family == "Nemotron" else {}
        model = read(family, MOE, shared_intermediate_size=96, **kv)
        assert name in names(model), family


def test_biases() -> None:
    """On queries, keys and values, and on the output."""
    for family, keys, qkv, output in (
        ("Ernie4_5", {"attention_bias": True}, True, False),
        ("SeedOss", {}, True, False),
        ("SeedOss", {"attention_out_bias": True}, True, True),
        ("Glm4", {}, True, False),
        ("PhiMoE", {}, True, True),
        ("Starcoder2", {"use_bias": False}, False, False),
        ("Apertus", {"attention_bias": True, "qkv_bias": False}, False, True),
    ):
        attention = read(family, MOE, **keys).grouped[0]
        assert (attention.qkv_bias, attention.output_bias) == (qkv, output), (family, keys)


def test_norms_of_heads() -> None:
    for family, keys, span in (
        ("Olmo2", {}, NormSpan.WIDTH),
        ("Olmoe", {}, NormSpan.WIDTH),
        ("MiniMaxM2", {"rotary_dim": 64}, NormSpan.HEADS),
        ("Cohere", {"use_qk_norm": True}, NormSpan.HEADS),
        ("Exaone4", {}, NormSpan.HEAD),
    ):
        attention = read(family, MOE, **keys).grouped[0]
        assert (attention.qk_norm, attention.norm_span) == (True, span), family
    assert not read("Cohere", BARE).grouped[0].qk_norm


def test_ends() -> None:
    for family, first, last in (
        ("Llama", {"embed_tokens.weight"}, {"norm.weight", "lm_head.weight"}),
        ("Olmo", {"embed_tokens.weight"}, {"lm_head.weight"}),
        ("Phi", {"embed_tokens.weight"},
         {"final_layernorm.weight", "final_layernorm.bias", "lm_head.weight"}),
        ("Cohere", {"embed_tokens.weight", "norm.weight"}, {"embed_tokens.weight", "norm.weight"}),
    ):  # fmt: skip
        model = read(family, BARE)
        assert (ends(model, 0, 2), ends(model, 1, 2)) == (first, last), family
    biased = {"embed_tokens.weight", "norm.weight", "norm.bias", "lm_head.weight", "lm_head.bias"}
    assert ends(read("PhiMoE", MOE)) == biased
    assert "wpe.weight" in ends(load_model({**NAMED, "architectures": ["GPT2LMHeadModel"]}))


def test_routers() -> None:
    for family, keys, dtype, corrected in (
        ("Ernie4_5_Moe", {"moe_num_experts": 8}, Dtype.FLOAT32, True),
        ("MiniMaxM2", {"rotary_dim": 8}, Dtype.FLOAT32, False),
        ("MiniMaxM2", {"rotary_dim": 8, "use_routing_bias": True}, Dtype.FLOAT32, True),
        ("ExaoneMoE", {}, None, True),
        ("Olmoe", {}, None, False),
    ):
        found = experts(read(family, MOE, **keys))
        assert (found.router_dtype, found.correction_bias) == (dtype, corrected), family


def test_layers_with_experts() -> None:
    for keys, found in (
        ({}, [0]),
        ({"moe_layer_interval": 2}, [0, 2, 4, 6]),
        ({"moe_layer_start_index": 3, "moe_layer_end_index": 5}, [0, 1, 2, 6, 7]),
        ({"use_moe": False}, list(range(8))),
    ):
        model = read("Ernie4_5_Moe", MOE, moe_num_experts=8, **keys)
        dense = [n for n, k in enumerate(model.pattern) if isinstance(model.kinds[k].mlp, DenseMlp)]
        assert dense == found, keys


def test_gemma_4() -> None:
    shared = read("Gemma4", BARE, num_kv_shared_layers=2, use_double_wide_mlp=True)
    borrows = [shared.kinds[k] for k in shared.pattern]
    assert [getattr(b.attention, "borrows_kv", None) for b in borrows] == [False] * 6 + [True] * 2
    assert [getattr(b.mlp, "intermediate", None) for b in borrows] == [96] * 6 + [192] * 2
    assert "self_attn.q_proj.weight" in names(shared, shared.pattern[-1])
    assert "self_attn.k_norm.weight" not in names(shared, shared.pattern[-1])
    few = read("Gemma4", BARE, attention_k_eq_v=True, num_global_key_value_heads=2,
               num_key_value_heads=8)  # fmt: skip
    assert {(a.kv_heads, a.head_dim) for a in few.grouped} == {(8, 256), (2, 512)}
    listed = read("Gemma4", BARE, per_layer_config={"05": {"head_dim": 128}, "7": {}})
    assert [listed.grouped[n].head_dim for n in range(3)] == [256, 128, 256]
    plain = read("Gemma4", BARE, hidden_size_per_layer_input=0, num_experts=8, top_k_experts=2,
                 moe_intermediate_size=48)  # fmt: skip
    assert experts(plain).shared_intermediate == 96
    assert "embed_tokens_per_layer.weight" not in ends(plain)
    assert "embed_tokens_per_layer.weight" in ends(read("Gemma4", BARE))


def test_nemotron_nas() -> None:
    def block(attention: Config, ffn: Config) -> Config:
        return {"attention": attention, "ffn": ffn}

    whole = block({"n_heads_in_group": 4}, {"ffn_mult": 2.625})
    configs = [whole, block({"no_op": True}, {"ffn_mult": 1.0}),
               block({"n_heads_in_group": 8}, {"no_op": True})]  # fmt: skip
    model = read("DeciLM", BARE, num_hidden_layers=3, block_configs=configs)
    assert [attention.kv_heads for attention in model.grouped] == [4, 2]
    assert [getattr(kind.mlp, "intermediate", None) for kind in model.kinds] == [1024, 512, None]
    assert [len(kind.norms) for kind in model.kinds] == [2, 1, 1]


@pytest.mark.parametrize(
    "family, keys, said",
    [
        ("Phi3", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "positions by 'linear'"),
        ("Phi3", {"rope_scaling": {"type": "su", **LONG}}, "'original_max_position_embeddings'"),
        ("Phi3", {"rope_scaling": {"type": "longrope"}}, "lacks 'short_factor'"),
        ("Phi", {"qk_layernorm": True}, "sets 'qk_layernorm', which is not modelled"),
        ("Glm4", {"hidden_act": "gelu"}, "the activation 'gelu'; vLLM takes silu alone"),
        ("Exaone4", {"sliding_window": None}, "'sliding_window': null"),
        ("SmolLM3", {"pad_token_id": 1000}, "pads with token 1000 of 1000"),
        ("GPTNeoX", {"num_key_value_heads": 4}, "which GPT-NeoX has not"),
        ("MiniMaxM2", {}, "lacks 'rotary_dim'"),
        ("MiniMaxM2", {"model_max_length": 5000}, "more tokens than it has positions"),
        ("Afmoe", {}, "lacks 'score_func'"),
        ("Dbrx", {"tie_word_embeddings": True}, "ties its embeddings"),
        ("GPTJ", {"tie_word_embeddings": True}, "sets 'tie_word_embeddings'"),
        ("OPT", {"word_embed_proj_dim": 64}, "embeddings of another width"),
        ("Gemma4", {"use_bidirectional_attention": "all"}, "attends both ways"),
        ("Gemma4", {"per_layer_config": {"1": {"hidden_size": 3}}}, "for a layer; modelled are"),
        ("DeciLM", {"block_configs": [{}] * 8}, "give its 'attention' and 'ffn'"),
        ("BailingMoeV2", {}, "lacks 'head_dim'"),
        ("MiniCPM", {}, "lacks 'tie_word_embeddings'"),
        ("MiniCPM", {"tie_word_embeddings": True}, "has experts; MiniCPM is modelled without"),
        ("HyperCLOVAX", {}, "lacks 'head_dim'"),
        ("Nemotron", {}, "lacks 'num_key_value_heads'"),
        ("HunYuanDenseV1", {}, "lacks 'head_dim'"),
        ("Dbrx", {}, "lacks 'rope_theta'"),
        ("Granite", {"layer_rope_theta": [5.0]}, "1 layer_rope_theta for 8 layers"),
    ],
)
def test_refusals(family: str, keys: Config, said: str) -> None:
    assert said in refused({**MOE, **keys, "architectures": [f"{family}ForCausalLM"]})


def test_every_family_refuses_a_null_size() -> None:
    """A size of null is an error with the key's name, never a default and never an accident."""
    for architecture in FAMILIES:
        keys = {**MOE, "vocab_size": None, "padded_vocab_size": None}
        said = refused({"architectures": [architecture], **keys})
        assert said.isprintable(), architecture
