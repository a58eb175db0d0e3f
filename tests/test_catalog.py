"""Every model and GPU of the catalog loads; every bad config ends in one line that says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

import vllm_parallel.catalog
from vllm_parallel.block import GroupedQueryAttention, LatentAttention
from vllm_parallel.catalog import (
    gpu_names,
    is_catalog_name,
    load_gpu,
    load_model,
    model_names,
    read_config,
    with_dtype,
)
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, VllmParallelError
from vllm_parallel.provenance import Provenance
from vllm_parallel.units import GIB, MIB

MODELS: Final = Path(vllm_parallel.catalog.__file__).with_name("models")
GIVEN: Final = "the given config"
LLAMA: Final[dict[str, object]] = {
    "architectures": ["LlamaForCausalLM"],
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 4096,
}


def refused(config: object, *, as_bf16: bool = False) -> str:
    """The one line that a config ends in."""
    with pytest.raises(CatalogError) as caught:
        load_model(config, as_bf16=as_bf16)  # type: ignore[arg-type]  # on purpose
    text = str(caught.value)
    assert text == f"{caught.value.subject} {caught.value.problem}; {caught.value.fix}"
    assert len(text.splitlines()) == 1
    assert isinstance(caught.value, VllmParallelError)
    return text


# What the catalog has.


@pytest.mark.parametrize("name", model_names())
def test_every_model(name: str) -> None:
    """The nouns say what the published keys say, read here without the package."""
    config: dict[str, Any] = json.loads((MODELS / f"{name}.json").read_text("utf-8"))
    config |= config.get("text_config") or {}
    quantisation, method = load_model(name).quantisation, config.get("quantization_config")
    assert (quantisation and quantisation.checkpoint) == (method and method["quant_method"])
    if method is None:
        assert load_model(name) == load_model(name, as_bf16=True)
    model = load_model(name, as_bf16=True)
    assert (model.name, model.architecture) == (name, config["architectures"][0])
    assert model.layers == config["num_hidden_layers"]
    assert (model.hidden, model.vocab) == (config["hidden_size"], config["vocab_size"])
    assert model.heads == config["num_attention_heads"]
    assert model.dtype == config.get("torch_dtype", config.get("dtype"))
    if "kv_lora_rank" in config:
        assert isinstance(model.attention, LatentAttention)
        assert model.attention.latent_dim == config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        assert isinstance(model.attention, GroupedQueryAttention)
        assert model.kv_heads == config["num_key_value_heads"]
    counts = ("num_experts", "n_routed_experts", "num_local_experts")
    if declared := [config[key] for key in counts if config.get(key)]:  # or the class's default
        assert model.declared_experts == max(declared)
    assert model.is_moe or model.experts is None  # a hybrid may declare experts and use none
    assert model.context.tokens == config["max_position_embeddings"]


def test_the_catalog_is_not_empty() -> None:
    assert model_names() == sorted(model_names())
    assert len(model_names()) >= 60


@pytest.mark.parametrize("name", gpu_names())
def test_every_gpu(name: str) -> None:
    gpu = load_gpu(name)
    assert gpu.name == name
    assert gpu.label
    assert gpu.source
    assert gpu.provenance in Provenance
    assert 16 * GIB < gpu.runtime_memory_bytes < 512 * GIB
    if gpu.smi_memory_bytes is not None:
        assert gpu.smi_memory_bytes % MIB == 0
        assert gpu.runtime_memory_bytes <= gpu.smi_memory_bytes
    assert gpu.architecture.isdigit() or gpu.architecture.startswith("gfx")


def test_gpus_that_questions_name() -> None:
    wanted = "h100-80gb h200 a100-80gb b200 l40s mi300x rtx-4090"
    assert set(wanted.split()) <= set(gpu_names())
    assert len(gpu_names()) >= 17


def test_gpus_of_the_same_chip_agree() -> None:
    """A part of the same memory chips differs by what its driver keeps, not by gigabytes."""
    sizes = {name: load_gpu(name).runtime_memory_bytes / GIB for name in gpu_names()}
    for one, other in (("h100-80gb", "h100-pcie-80gb"), ("h100-80gb", "a100-80gb")):
        assert abs(sizes[one] - sizes[other]) < 0.5
    assert sizes["a100-40gb"] < sizes["l40s"] < sizes["a100-80gb"] < sizes["h100-nvl-94gb"]
    assert sizes["b200"] < sizes["gb200"] < sizes["mi300x"] < sizes["mi325x"] < sizes["b300"]


@pytest.mark.parametrize("name", ["", "H100", "h100", "h100-80gb ", "\0", "x" * 300, "a\nb"])
def test_unknown_gpu(name: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load_gpu(name)
    assert str(caught.value).startswith("GPU '")
    assert str(caught.value).endswith(f"; it has {', '.join(gpu_names())}")
    assert len(str(caught.value).splitlines()) == 1


# Spellings.

LLAMA_3: Final = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
YARN: Final = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}


@pytest.mark.parametrize(
    "old, new",
    [
        ({"torch_dtype": "float16"}, {"dtype": "float16"}),
        ({"rope_scaling": YARN}, {"rope_parameters": YARN}),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
        ),
        ({"rope_scaling": None}, {"rope_parameters": {"rope_type": "default"}}),
        ({}, {"rope_parameters": None, "rope_scaling": None}),
        ({"tie_word_embeddings": True}, {"tie_word_embeddings": True, "quantization_config": None}),
    ],
)
def test_old_and_new_keys(old: dict[str, object], new: dict[str, object]) -> None:
    bare = {key: value for key, value in LLAMA.items() if key != "torch_dtype"}
    dtype: dict[str, object] = {} if "torch_dtype" in old else {"torch_dtype": "bfloat16"}
    assert load_model(bare | dtype | old) == load_model(bare | dtype | new)


def test_text_config() -> None:
    """The text part of a multimodal config counts, whatever stands around it."""
    whole = load_model(LLAMA)
    wrapped = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 1,
        "image_token_id": 5,
        "text_config": {key: value for key, value in LLAMA.items() if key != "architectures"},
    }
    assert load_model(wrapped) == whole
    assert load_model(LLAMA | {"text_config": None}) == whole


def test_dtypes() -> None:
    for word, dtype in (
        ("bfloat16", Dtype.BFLOAT16),
        ("float16", Dtype.FLOAT16),
        ("half", Dtype.FLOAT16),
        ("float32", Dtype.BFLOAT16),  # vLLM takes such checkpoints down
        ("float", Dtype.BFLOAT16),
    ):
        assert load_model(LLAMA | {"torch_dtype": word}).dtype is dtype
    model = load_model(LLAMA)
    assert with_dtype(model, "auto") is model
    assert with_dtype(model, "nonsense") is model
    halved = with_dtype(model, "half")
    assert (halved.dtype, halved.rotaries[0].dtype) == (Dtype.FLOAT16, Dtype.FLOAT16)
    assert with_dtype(model, "float32").dtype is Dtype.FLOAT32


def test_positions_and_lengths() -> None:
    """Rotary rows and the longest context, by kind of scaling."""
    for scaling, rows, tokens in (
        (None, 4096, 4096),
        ({"rope_type": "default"}, 4096, 4096),
        (LLAMA_3, 4096, 4096),
        (YARN, 4096, 4096),
        ({"rope_type": "yarn", "factor": 4.0}, 16_384, 4096),
        ({"rope_type": "linear", "factor": 2.5}, 10_240, 10_240),
        ({"rope_type": "linear", "factor": 1.0001}, 4097, 4096),
    ):
        model = load_model(LLAMA | {"rope_scaling": scaling})
        assert (model.rotaries[0].positions, model.context.max_model_len) == (rows, tokens)


def test_quantised() -> None:
    config = LLAMA | {"quantization_config": {"quant_method": "quark"}}
    for one in (
        config, LLAMA | {"text_config": {"quantization_config": {"quant_method": "quark"}}},
    ):  # fmt: skip
        assert refused(one) == (
            f"{GIVEN} is quantised with 'quark', which is not modelled; ask for its unquantised "
            "twin with --as-bf16"
        )
        assert load_model(one, as_bf16=True).layers == 32
    assert load_model(LLAMA | {"quantization_config": {}}).quantisation is None


def test_names_and_paths(tmp_path: Path) -> None:
    """A folder, a file and the config itself are the same model under other names."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    file = folder / "config.json"
    file.write_text(json.dumps(LLAMA), "utf-8")
    by_folder, by_file = load_model(str(folder)), load_model(str(file))
    assert by_folder.kinds == by_file.kinds == load_model(LLAMA).kinds
    assert is_catalog_name("llama-3.1-8b")
    assert not is_catalog_name(str(file))
    assert read_config(LLAMA, "mine", as_bf16=False).name == "mine"
