"""What each family reads, and what it fills in for a key that a config leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_type_hints

import pytest

from tests.test_catalog import refused
from vllm_parallel.block import DenseMlp, Experts, GroupedQueryAttention, LatentAttention
from vllm_parallel.catalog import load_model
from vllm_parallel.catalog.families import FAMILIES, reader_of
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.dtype import Dtype
from vllm_parallel.model import ModelConfig

Config = Mapping[str, object]
BARE: Final[dict[str, object]] = {
    "torch_dtype": "bfloat16",
    "vocab_size": 1000,
    "hidden_size": 512,
    "intermediate_size": 96,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "max_position_embeddings": 4096,
}
MOE: Final[dict[str, object]] = BARE | {
    "num_local_experts": 8,
    "num_experts": 8,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 48,
}
LATENT: Final[dict[str, object]] = MOE | {
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
LLAMA_4: Final[dict[str, object]] = MOE | {"intermediate_size_mlp": 192}


def read(family: str, config: Config, **keys: object) -> ModelConfig:
    head = {"head_dim": 32} if family == "Glm4Moe" else {}  # it has no default there
    return load_model({**head, **config, **keys, "architectures": [f"{family}ForCausalLM"]})


def windows(model: ModelConfig) -> list[int | None]:
    """The window of each layer, by grouped attention."""
    kinds = [kind.attention for kind in model.kinds]
    return [
        a.window if isinstance(a := kinds[n], GroupedQueryAttention) else None
        for n in model.pattern
    ]


def dense_layers(model: ModelConfig) -> list[int]:
    mlps = [kind.mlp for kind in model.kinds]
    return [n for n, kind in enumerate(model.pattern) if isinstance(mlps[kind], DenseMlp)]


def experts(model: ModelConfig) -> Experts:
    assert model.experts is not None
    return model.experts


def test_every_reader_is_there() -> None:
    """The table names functions; each takes keys and gives a model."""
    for architecture, place in FAMILIES.items():
        reader = reader_of(architecture)
        assert reader is not None
        assert f"{reader.__module__}.{reader.__name__}".endswith(f"families.{place}")
        hints = get_type_hints(reader)
        assert hints == {"keys": Keys, "return": ModelConfig}, architecture
    assert reader_of("BertModel") is None


LLAMA_3: Final = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
ALTERNATING: Final = ["full_attention", "sliding_attention"] * 4


@pytest.mark.parametrize(
    "family, keys, found",
    [
        ("Llama", {}, [None] * 8),
        ("Llama", {"sliding_window": 100}, [100] * 8),
        ("Llama", {"sliding_window": 100, "layer_types": ALTERNATING}, [None, 100] * 4),
        ("Llama", {"layer_types": ALTERNATING}, [None] * 8),
        ("Mistral", {}, [4096] * 8),
        ("Mistral", {"sliding_window": None}, [None] * 8),
        ("Mistral", {"sliding_window": 100}, [100] * 8),
        ("Mistral", {"layer_types": ALTERNATING}, [None, 4096] * 4),
        ("Qwen2", {"sliding_window": 100}, [None] * 8),
        ("Qwen2", {"use_sliding_window": True}, [None] * 8),  # from layer 28 on
        ("Qwen2", {"use_sliding_window": True, "max_window_layers": 6}, [None] * 6 + [4096] * 2),
        (
            "Qwen3",
            {"use_sliding_window": True, "max_window_layers": 7, "sliding_window": 100},
            [None] * 7 + [100],
        ),
        ("Qwen3", {"use_sliding_window": True, "layer_types": ALTERNATING}, [None, 4096] * 4),
        ("Qwen3Moe", {"sliding_window": 100}, [None] * 8),
        ("Qwen3Moe", {"sliding_window": 100, "use_sliding_window": True}, [100] * 8),
        ("Mixtral", {}, [None] * 8),
        ("Mixtral", {"sliding_window": 100}, [100] * 8),
        ("GptOss", {}, [128, None] * 4),
        ("GptOss", {"sliding_window": 64}, [64, None] * 4),
        ("GptOss", {"layer_types": ["full_attention"] * 8}, [128, None] * 4),
        ("GptOss", {"layer_types": ["sliding_attention"] * 8}, [128] * 8),
    ],
)
def test_windows(family: str, keys: Config, found: list[int | None]) -> None:
    assert windows(read(family, MOE, **keys)) == found


def test_what_gemma_fills_in() -> None:
    """Sizes, local layers and tables of configs that name an architecture alone."""
    bare = {"dtype": "bfloat16"}
    for family, layers, hidden, vocab, head_dim, window, tables in (
        ("Gemma", 28, 3072, 256_000, 256, [None] * 28, 1),
        ("Gemma2", 26, 2304, 256_000, 256, [4096, None] * 13, 1),
        ("Gemma3", 26, 2304, 262_208, 256, ([4096] * 5 + [None]) * 4 + [4096] * 2, 2),
    ):
        model = read(family, bare)
        assert (model.layers, model.hidden, model.vocab) == (layers, hidden, vocab), family
        assert model.grouped[0].head_dim == head_dim
        assert windows(model) == window, family
        assert len(model.rotaries) == tables
        assert model.tied
    assert read("Gemma2", bare, tie_word_embeddings=False).tied  # it builds no head
    assert not read("Gemma3", bare, tie_word_embeddings=False).tied


def test_rope_of_local_layers() -> None:
    """Gemma 3 scales full layers alone; where both are alike there is one table."""
    linear = {"rope_type": "linear", "factor": 8.0}
    for keys, rows in (
        ({}, [4096, 4096]),
        ({"rope_scaling": linear}, [4096, 32768]),
        ({"rope_parameters": {"full_attention": linear}}, [4096, 32768]),
        ({"rope_theta": 10_000.0}, [4096]),
        ({"rope_theta": 5.0, "rope_local_base_freq": 5.0}, [4096]),
    ):
        model = read("Gemma3", BARE, **keys)
        assert [table.positions for table in model.rotaries] == rows, keys
        assert model.context.tokens == 4096  # the config's positions count the scaling
    both_ways = read("Gemma3", BARE, use_bidirectional_attention=True)
    assert windows(both_ways)[0] == 2049


def test_kinds_of_layers() -> None:
    for keys, said in (
        (
            {"layer_types": ["chunked_attention"] * 8},
            "the kind of layer 'chunked_attention', which",
        ),
        ({"layer_types": ["full_attention"]}, "1 layer_types for 8 layers"),
        ({"hidden_activation": "relu"}, "the activation 'relu'; vLLM takes gelu_pytorch_tanh"),
    ):
        family = "Gemma2" if "hidden_activation" in keys else "Gemma3"
        assert said in refused({**BARE, **keys, "architectures": [f"{family}ForCausalLM"]})


def test_half_precision() -> None:
    """A checkpoint in float16 runs in bfloat16 where vLLM has no other way."""
    for family, dtype in (("Gemma2", Dtype.BFLOAT16), ("Gemma", Dtype.FLOAT16)):
        assert read(family, BARE, torch_dtype="float16").dtype is dtype


def test_late_windows_start_at_28() -> None:
    model = read("Qwen2", BARE, num_hidden_layers=30, use_sliding_window=True)
    assert windows(model) == [None] * 28 + [4096] * 2


def test_heads() -> None:
    """KV heads and head sizes that a config leaves out."""
    for family, kv_heads, head_dim in (
        ("Llama", 16, 32),
        ("Mistral", 8, 32),
        ("Qwen2", 32, 32),
        ("Qwen3", 32, 128),
        ("Qwen3Moe", 4, 32),
        ("Mixtral", 8, 32),
        ("GptOss", 8, 64),
        ("Llama4", 8, 128),
    ):
        model = read(family, LLAMA_4)
        (attention, *_) = model.grouped
        assert (attention.kv_heads, attention.head_dim) == (kv_heads, head_dim), family
        given = read(family, LLAMA_4, num_key_value_heads=2, head_dim=16).grouped[0]
        width = 32 if family == "Qwen2" else 16  # qwen2.py does not look at the key
        assert (given.heads, given.kv_heads, given.head_dim) == (16, 2, width), family


def test_keys_that_a_family_reads_in_its_own_way() -> None:
    """Asked of vLLM: a GLM head of null, norms of Qwen2, gpt-oss without a share of rotation."""
    assert read("Glm4Moe", MOE, head_dim=None).grouped[0].head_dim == 32
    assert read("Qwen2", BARE, qk_norm=True).grouped[0].qk_norm
    for keys in (
        {"partial_rotary_factor": 0.5},
        {"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "partial_rotary_factor": 0.5}},
    ):
        assert read("GptOss", MOE, **keys).rotaries[0].dim == 64, keys


def test_heads_that_do_not_divide() -> None:
    """`transformers` refuses such a Llama, and reads such a Qwen2."""
    odd = {"hidden_size": 520, "num_key_value_heads": 16}
    said = refused(BARE | odd | {"architectures": ["LlamaForCausalLM"]})
    assert "a hidden size of 520 for 16 heads; the heads have to divide it" in said
    assert read("Qwen2", BARE, **odd).hidden == 520


def test_queries_of_a_kv_head() -> None:
    """Floored, as config/model.py does it, where the heads do not share evenly."""
    assert read("Llama", BARE, num_key_value_heads=3).grouped[0].queries_per_kv_head == 5


def test_biases_of_llama() -> None:
    """Under either of two keys."""
    for key in ("attention_bias", "bias"):
        attention = read("Llama", BARE, **{key: True}).grouped[0]
        assert (attention.qkv_bias, attention.output_bias) == (True, True), key


def test_null_heads() -> None:
    """Null is "as many as query heads" where `transformers` says so, an error elsewhere."""
    for family in ("Llama", "Qwen2", "Qwen3"):
        assert read(family, BARE, num_key_value_heads=None).kv_heads == 16
    for family in ("Qwen3Moe", "GptOss"):
        config = {**MOE, "architectures": [f"{family}ForCausalLM"], "num_key_value_heads": None}
        assert "'num_key_value_heads'" in refused(config)
    assert "lacks 'head_dim'" in refused({**MOE, "architectures": ["Glm4MoeForCausalLM"]})
    config = {**MOE, "architectures": ["GptOssForCausalLM"], "head_dim": None}
    assert "'head_dim'" in refused(config)


def test_dense_and_expert_layers() -> None:
    for family, keys, found in (
        ("Mixtral", {}, []),
        ("GptOss", {}, []),
        ("Qwen3Moe", {}, []),
        ("Qwen3Moe", {"mlp_only_layers": [0, 7]}, [0, 7]),
        ("Qwen3Moe", {"decoder_sparse_step": 4}, [0, 1, 2, 4, 5, 6]),
        ("Glm4Moe", {}, [0]),
        ("Glm4Moe", {"first_k_dense_replace": 3}, [0, 1, 2]),
        ("DeepseekV2", {}, []),
        ("DeepseekV3", {}, [0, 1, 2]),
        ("DeepseekV3", {"first_k_dense_replace": 4, "moe_layer_freq": 3}, [0, 1, 2, 3, 4, 5, 7]),
        ("Llama4", {}, []),
        ("Llama4", {"interleave_moe_layer_step": 2}, [0, 2, 4, 6]),
    ):
        model = read(family, LATENT | LLAMA_4, **keys)
        assert dense_layers(model) == found, (family, keys)


def test_shared_experts() -> None:
    for family, keys, shared in (
        ("Glm4Moe", {}, 48),
        ("Glm4Moe", {"n_shared_experts": 0}, 0),
        ("DeepseekV2", {}, 96),
        ("DeepseekV3", {}, 48),
        ("DeepseekV3", {"n_shared_experts": 3}, 144),
        ("Llama4", {}, 96),
        ("Mixtral", {}, 0),
        ("GptOss", {}, 0),
        ("Qwen3Moe", {}, 0),
        ("Qwen3Moe", {"shared_expert_intermediate_size": 80}, 80),
    ):
        model = read(family, LATENT | LLAMA_4, **keys)
        assert experts(model).shared_intermediate == shared, (family, keys)
    assert experts(read("Qwen3Moe", MOE, shared_expert_intermediate_size=80)).shared_gate
    assert not experts(read("Qwen3Moe", MOE)).shared_gate


def test_local_layers_of_llama_4() -> None:
    """Three of four layers rotate and see a chunk; a config may name them one by one."""
    for keys, local in (
        ({}, [1, 1, 1, 0, 1, 1, 1, 0]),
        ({"no_rope_layer_interval": 2}, [1, 0, 1, 0, 1, 0, 1, 0]),
        ({"no_rope_layers": [0, 0, 0, 0, 0, 0, 0, 1]}, [0, 0, 0, 0, 0, 0, 0, 1]),
    ):
        model = read("Llama4", LLAMA_4, **keys)
        kinds = [kind.attention for kind in model.kinds]
        chunks = [getattr(kinds[n], "chunk", None) for n in model.pattern]
        assert chunks == [8192 if one else None for one in local]
    chunked = read("Llama4", LLAMA_4, attention_chunk_size=64)
    assert {a.chunk for a in chunked.grouped} == {64, None}


def test_latent_attention() -> None:
    for keys, rank in (({}, 1536), ({"q_lora_rank": None}, None), ({"q_lora_rank": 64}, 64)):
        attention = read("DeepseekV3", LATENT, **keys).attention
        assert isinstance(attention, LatentAttention)
        assert (attention.q_lora_rank, attention.latent_dim) == (rank, 576)
    corrected = read("DeepseekV3", LATENT, topk_method="noaux_tc")
    assert experts(corrected).correction_bias
    assert not experts(read("DeepseekV3", LATENT)).correction_bias


def test_rotary_tables() -> None:
    """Rows and width of the table, its dtype, and the longest context beside it."""
    half = {"rope_type": "default", "partial_rotary_factor": 0.25}
    scaled = {"rope_type": "linear", "factor": 2.0}
    yarn = {"rope_type": "yarn", "factor": 2.0}
    original, later = ({"original_max_position_embeddings": size} for size in (1024, 512))
    for family, keys, rows, dim, tokens in (
        ("Llama", {}, 4096, 32, 4096),
        ("Llama", {"rope_scaling": scaled}, 8192, 32, 8192),
        ("Llama", {"rope_scaling": LLAMA_3}, 4096, 32, 4096),
        ("Glm4Moe", {}, 4096, 16, 4096),
        ("Glm4Moe", {"partial_rotary_factor": 1.0}, 4096, 32, 4096),
        ("Glm4Moe", {"rope_parameters": half}, 4096, 8, 4096),
        ("DeepseekV3", {}, 4096, 64, 4096),
        ("DeepseekV3", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 16384, 64, 4096),
        ("DeepseekV3", {"rope_scaling": {"type": "longrope", "factor": 2.0}}, 8192, 64, 4096),
        ("DeepseekV3", {"rope_scaling": {"type": "su", "factor": 2.0}}, 8192, 64, 4096),
        ("DeepseekV3", {"rope_scaling": scaled | original}, 2048, 64, 8192),
        ("DeepseekV3", {"rope_scaling": yarn | original}, 2048, 64, 4096),
        ("DeepseekV3", {"rope_scaling": yarn} | original, 2048, 64, 4096),
        ("DeepseekV3", {"rope_scaling": yarn | {"rope_type": "deepseek_yarn"}}, 8192, 64, 4096),
        ("DeepseekV3", {"rope_scaling": scaled | original, **later}, 2048, 64, 8192),
        ("GptOss", {}, 131_072, 64, 4096),
        ("GptOss", {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, 8192, 64, 4096),
    ):
        model = read(family, LATENT, **keys)
        (table,) = model.rotaries
        assert (table.positions, table.dim) == (rows, dim), (family, keys)
        assert table.dtype is (Dtype.FLOAT32 if family == "GptOss" else Dtype.BFLOAT16)
        assert model.context.tokens == tokens, (family, keys)


def test_a_scaling_without_its_length() -> None:
    """Asked: only llama3, yarn and longrope are given one, and these families need it."""
    for kind in ("linear", "dynamic"):
        scaling = {"rope_scaling": {"type": kind, "factor": 2.0}}
        said = refused(LATENT | scaling | {"architectures": ["DeepseekV3ForCausalLM"]})
        assert "lacks 'original_max_position_embeddings'" in said, kind


def test_spellings_of_the_dtype() -> None:
    """Asked: the new key wins, and without any it is bfloat16 once float32 is taken down."""
    old = {key: value for key, value in BARE.items() if key != "torch_dtype"}
    for keys, dtype in (
        ({}, Dtype.BFLOAT16),
        ({"dtype": "float16"}, Dtype.FLOAT16),
        ({"torch_dtype": "float16"}, Dtype.FLOAT16),
        ({"dtype": "float16", "torch_dtype": "bfloat16"}, Dtype.FLOAT16),
        ({"dtype": None, "torch_dtype": "float16"}, Dtype.FLOAT16),
    ):
        assert read("Llama", old, **keys).dtype is dtype, keys


def test_model_max_length() -> None:
    """It stands in the place of the positions, and is named in the refusal."""
    context = read("Llama", BARE, model_max_length=9000).context
    assert (context.key, context.tokens, context.model_max_length) == (
        "model_max_length", 9000, 9000,
    )  # fmt: skip
    assert context.allows(9000)
    assert not context.allows(9001)
    assert read("Llama", BARE).context.key == "max_position_embeddings"


def test_heads_of_the_vocabulary() -> None:
    """Which families tie embedding and head when the config asks for it."""
    tied = {
        family: read(family, LATENT | LLAMA_4, tie_word_embeddings=True).tied
        for family in (
            "Llama", "Mistral", "Qwen2", "Qwen3", "Qwen3Moe", "Mixtral", "Llama4", "Glm4Moe",
            "DeepseekV2", "DeepseekV3", "GptOss",
        )
    }  # fmt: skip
    assert {family for family, is_tied in tied.items() if not is_tied} == {
        "Glm4Moe", "DeepseekV2", "DeepseekV3", "GptOss",
    }  # fmt: skip
    assert not read("Llama", BARE).tied
