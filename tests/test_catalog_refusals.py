"""Every bad config ends in one line that names the key and the value, the file or the name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.test_catalog import GIVEN, LLAMA, MODELS, YARN, refused
from vllm_parallel.catalog import is_catalog_name, load_model, model_names

Config = Mapping[str, object]

WIDTHS: Final = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "max_position_embeddings",
)  # fmt: skip
NO_WIDTHS: Final[tuple[tuple[object, str], ...]] = (
    (-1, "-1"), (0, "0"), (True, "true"), (False, "false"), ("8", "'8'"), ("", "''"), ([8], "[8]"),
    ([], "[]"), ({}, "{}"), (1.5, "1.5"), (8.0, "8.0"), (float("nan"), "NaN"),
    (float("inf"), "Infinity"), (2**48, str(2**48)), (10**100, "1000000000000000"),
)  # fmt: skip


@pytest.mark.parametrize("key", WIDTHS)
def test_a_width_is_a_whole_number(key: str) -> None:
    """The line names key and value, whatever stands in the place of a size."""
    for value, shown in NO_WIDTHS:
        assert refused(LLAMA | {key: value}).startswith(f"{GIVEN} has '{key}': {shown}")
    assert refused({**LLAMA, key: -1}).endswith(f"a whole number from 1 to {2**48 - 1}")
    assert refused({**LLAMA, key: "8"}).endswith("; it should be a whole number")


@pytest.mark.parametrize(
    "key", [key for key in LLAMA if key not in ("num_key_value_heads", "torch_dtype")]
)
def test_missing_keys(key: str) -> None:
    """Only the KV heads have a default: as many as there are heads."""
    left_out = {k: v for k, v in LLAMA.items() if k != key}
    for config, problem in (
        (left_out, f"lacks '{key}'"),
        (LLAMA | {key: None}, f"has '{key}': null"),
    ):
        text = refused(config)
        if key == "architectures":
            assert text == f"{GIVEN} names no architecture; add its 'architectures' list"
        else:
            assert text.startswith(f"{GIVEN} {problem}; it should be a ")
    kv_heads = load_model(LLAMA | {"num_key_value_heads": None}).kv_heads
    assert kv_heads == 32


BAD: Final[tuple[tuple[Config, str], ...]] = (
    ({"architectures": "LlamaForCausalLM"}, "has 'architectures': 'LlamaForCausalLM'; it should"),
    ({"architectures": []}, "names no architecture"),
    ({"architectures": [None]}, "names no architecture"),
    ({"architectures": [7]}, "names no architecture"),
    ({"architectures": ["FooForCausalLM"]}, "is a 'FooForCausalLM', which is not modelled; its"),
    ({"architectures": ["A\nB"]}, "is a 'A\\nB', which is not modelled"),
    ({"architectures": ["A" * 500]}, f"is a '{'A' * 37}…', which is not modelled"),
    ({"torch_dtype": "int8"}, "has the dtype 'int8', which is not modelled; modelled are"),
    ({"torch_dtype": 16}, "has 'torch_dtype': 16; it should be a string"),
    ({"num_hidden_layers": 10_001}, "has 10001 layers; at most 10000 are modelled"),
    ({"num_attention_heads": 33}, "has a hidden size of 4096 for 33 heads; the heads have to"),
    ({"tie_word_embeddings": "yes"}, "has 'tie_word_embeddings': 'yes'; it should be true or"),
    ({"tie_word_embeddings": 1}, "has 'tie_word_embeddings': 1; it should be true or false"),
    ({"hidden_act": "gelu"}, "has the activation 'gelu'; vLLM takes silu alone here"),
    ({"layer_types": ["full_attention"] * 3}, "has 3 layer_types for 32 layers; give one for each"),
    ({"layer_types": "full_attention"}, "has 'layer_types': 'full_attention'; it should be a list"),
    ({"layer_types": ["zebra"] * 32}, "has 'zebra' among its layer_types; transformers knows full"),
    (
        {"layer_types": ["attention"] * 32, "mlp_layer_types": ["dense"]},
        "has 1 mlp_layer_types for 32 layers; give one for each layer",
    ),
    (
        {"text_config": {"num_hidden_layers": 1, "layer_types": []}},
        "has 0 layer_types for 1 layers",
    ),
    ({"model_type": "lama"}, "has 'model_type': 'lama', which neither vLLM nor transformers knows"),
    ({"model_type": ""}, "has 'model_type': '', which neither"),
    ({"model_type": ["llama"]}, "has 'model_type': [\"llama\"]; it should be a string"),
    ({"rope_scaling": {"type": "dynamic", "alpha": 2.0}}, "rope_scaling lacks 'factor'; it should"),
    ({"rope_theta": "10000"}, "has 'rope_theta': '10000'; it should be a number"),
    ({"rope_theta": None}, "has 'rope_theta': null; it should be a number"),
    (
        {"rope_scaling": {"rope_theta": [1]}},
        "rope_scaling has 'rope_theta': [1]; it should be a nu",
    ),
    (
        {"rope_scaling": {"partial_rotary_factor": 2.0}},
        "rotates 2 of a head; partial_rotary_factor",
    ),
    (
        {"rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 2.0}},
        "rope_scaling has 'rope_type': 'yarn' and 'type': 'linear'; keep the one that holds",
    ),
    ({"rope_scaling": {"type": "llama3", "factor": 8.0}}, "rope_scaling lacks 'low_freq_factor'"),
    ({"rope_scaling": [1]}, "has 'rope_scaling': [1]; it should be an object"),
    ({"rope_scaling": "yarn"}, "has 'rope_scaling': 'yarn'; it should be an object"),
    ({"rope_scaling": {"rope_type": "zebra"}}, "scales rotary positions by 'zebra', which is not"),
    ({"rope_scaling": {"type": "dynamic"}}, "rope_scaling lacks 'factor'; it should be given"),
    ({"rope_scaling": {"rope_type": 3}}, "rope_scaling has 'rope_type': 3; it should be a string"),
    ({"rope_scaling": YARN | {"factor": None}}, "rope_scaling has 'factor': null; it should"),
    ({"rope_scaling": YARN | {"factor": float("nan")}}, "rope_scaling has 'factor': NaN; it"),
    ({"rope_scaling": YARN | {"factor": float("inf")}}, "rope_scaling has 'factor': Infinity; it"),
    ({"rope_scaling": YARN | {"factor": 0}}, "rope_scaling has 'factor': 0; it should be a posi"),
    ({"rope_scaling": YARN | {"factor": -4.0}}, "rope_scaling has 'factor': -4.0; it should be"),
    ({"rope_scaling": YARN | {"factor": True}}, "rope_scaling has 'factor': true; it should be"),
    ({"rope_scaling": YARN | {"factor": "4"}}, "rope_scaling has 'factor': '4'; it should be a"),
    ({"rope_scaling": {"rope_type": "linear", "factor": 4}}, "by a whole number, of which vLLM"),
    (
        {"rope_scaling": YARN | {"original_max_position_embeddings": 0}},
        "rope_scaling has 'original_max_position_embeddings': 0; it should be a whole number",
    ),
    ({"quantization_config": [4]}, "has 'quantization_config': [4]; it should be an object"),
    ({"quantization_config": {"quant_method": 4}}, "has 'quant_method': 4; it should be a string"),
    ({"quantization_config": {"quant_method": None}}, "has 'quant_method': null; leave it out"),
    ({"text_config": [1]}, "has 'text_config': [1]; it should be an object"),
    ({"text_config": {"hidden_size": -5}}, "has 'hidden_size': -5; it should be a whole number"),
)


@pytest.mark.parametrize("change, says", BAD, ids=[says[:40] for _, says in BAD])
def test_bad_config(change: Config, says: str) -> None:
    assert says in refused({**LLAMA, **change})


def test_what_is_no_fault_of_a_config() -> None:
    """Other layers' kinds are looked at beside `layer_types` alone; code brings its own types."""
    changes: tuple[Config, ...] = (
        {"mlp_layer_types": ["dense"]},
        {"layer_types": None},
        {"model_type": "lama", "auto_map": {"AutoConfig": "configuration_lama.Lama"}},
        {"quantization_config": {}},
    )
    for change in changes:
        assert load_model({**LLAMA, **change}).layers == 32


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_values_that_cannot_be_shown() -> None:
    """Numbers and lists that Python itself refuses to print."""
    for value in (10**5000, -(10**5000), nested(50_000)):
        assert "'vocab_size'" in refused(LLAMA | {"vocab_size": value})
        assert "'rope_scaling'" in refused(LLAMA | {"rope_scaling": value})


MOE: Final = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_experts": 16,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 512,
}


@pytest.mark.parametrize("key", ["num_experts", "num_experts_per_tok", "moe_intermediate_size"])
def test_expert_keys(key: str) -> None:
    assert f"lacks '{key}'" in refused({k: v for k, v in MOE.items() if k != key})
    values = ((0, "0"), (-1, "-1"), (True, "true"), ("16", "'16'"), (2**60, str(2**60)))
    for value, shown in values:
        assert f"has '{key}': {shown}" in refused(MOE | {key: value})
    assert load_model(MOE).is_moe


@pytest.mark.parametrize("key", ["kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim"])
def test_latent_keys(key: str) -> None:
    latent = MOE | {
        "architectures": ["DeepseekV3ForCausalLM"],
        "n_routed_experts": 16,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    }
    assert load_model(latent).is_latent
    assert f"lacks '{key}'" in refused({k: v for k, v in latent.items() if k != key})


def test_llama_4_layers() -> None:
    config = json.loads((MODELS / "llama-4-maverick.json").read_text("utf-8"))
    config.pop("vision_config", None)
    short = config | {"text_config": config["text_config"] | {"no_rope_layers": [1, 0]}}
    assert "has 2 no_rope_layers for 48 layers" in refused(short)


# Files.

BAD_FILES: Final[tuple[tuple[str, bytes, str], ...]] = (
    ("empty", b"", "is not JSON (line 1, column 1: a value is expected)"),
    ("cut", json.dumps(LLAMA).encode()[:-9], "is not JSON (line 1, column "),
    ("list", b"[1]", "is [1]; a config is one JSON object"),
    ("number", b"5", "is 5; a config is one JSON object"),
    ("null", b"null", "is null; a config is one JSON object"),
    ("zeros", b"\0" * 16, "is not JSON ("),
    ("latin-1", '{"name": "é"}'.encode("latin-1"), "is not JSON (byte 10 is not UTF-8)"),
    ("binary", bytes(range(128, 256)), "is not JSON (byte 0 is not UTF-8)"),
    ("deep", b"[" * 200_000, "is not JSON (it is nested more than 64 deep)"),
    ("deep-object", b'{"a":' * 200_000, "is not JSON (it is nested more than 64 deep)"),
    ("digits", b'{"vocab_size": ' + b"9" * 5000 + b"}", "is not JSON (a number has 5000 digits)"),
)


@pytest.mark.parametrize("name, text, says", BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_bad_file(tmp_path: Path, name: str, text: bytes, says: str) -> None:
    """The line starts with the path."""
    file = tmp_path / f"{name}.json"
    file.write_bytes(text)
    assert refused(str(file)).startswith(f"{file} {says}")


def test_large_file(tmp_path: Path) -> None:
    """50 MB are refused by their size, unread."""
    file = tmp_path / "large.json"
    with file.open("wb") as stream:
        stream.truncate(50 * 2**20)
    says = f"{file} has {50 * 2**20} bytes; a config.json has at most 4194304"
    assert refused(str(file)) == says


def test_largest_file(tmp_path: Path) -> None:
    for size in (4 * 2**20, 4 * 2**20 + 1):
        file = tmp_path / f"{size}.json"
        file.write_bytes(json.dumps(LLAMA).encode().ljust(size))
        if size == 4 * 2**20:
            assert load_model(str(file)).layers == 32
        else:
            assert f"has {size} bytes" in refused(str(file))


def test_file_with_a_number_that_is_none(tmp_path: Path) -> None:
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        file = tmp_path / f"{word}.json"
        text = json.dumps(LLAMA).replace('"vocab_size": 32000', f'"vocab_size": {word}')
        file.write_text(text, "utf-8")
        shown = "Infinity" if word == "1e999" else word
        assert refused(str(file)) == (
            f"{word} has 'vocab_size': {shown}; it should be a whole number"
        )


def test_encodings_that_json_allows(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        file = tmp_path / f"{encoding}.json"
        file.write_bytes(json.dumps(LLAMA).encode(encoding))
        assert load_model(str(file)).layers == 32


def test_folder_without_a_config(tmp_path: Path) -> None:
    text = refused(str(tmp_path))
    assert text.startswith("model '/")
    assert f"the catalog has {len(model_names())}" in text


def test_line_break_in_a_file_name(tmp_path: Path) -> None:
    for text in (b"", b"{}", b"[]", json.dumps(LLAMA | {"vocab_size": 0}).encode()):
        file = tmp_path / f"two\nlines {len(text)}.json"
        file.write_bytes(text)
        assert "two" in refused(str(file))


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "~", "/", "//", "\\", "nope", "a/b", "a\\b", "a\0b", "\0", "../llama-3.1-8b",
        "models/llama-3.1-8b", "..\\models\\llama-3.1-8b", "llama-3.1-8b.json", "llama-3.1-8b\0",
        "LLAMA-3.1-8B", " llama-3.1-8b", "llama-3.1-8b/", "x" * 300, "x" * 100_000, "é" * 300,
        "a\nb", "/dev/null", "/proc/self/mem", "\ud800", "%2e%2e", "*",
    ],
)  # fmt: skip
def test_unknown_names(name: str) -> None:
    """No name reaches a file of the package but the models, and each ends in one line."""
    assert not is_catalog_name(name)
    refused(name)
