"""What a `quantization_config` gives which layer, and what vLLM refuses of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from vllm_parallel.catalog import load_model
from vllm_parallel.errors import CatalogError
from vllm_parallel.model import ModelConfig

Config = Mapping[str, Any]

LLAMA: Final = {
    "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "hidden_size": 512,
    "intermediate_size": 1024, "num_hidden_layers": 3, "num_attention_heads": 8,
    "num_key_value_heads": 4, "vocab_size": 1024, "max_position_embeddings": 4096,
}  # fmt: skip
MIXTRAL: Final = LLAMA | {
    "architectures": ["MixtralForCausalLM"], "num_local_experts": 4, "num_experts_per_tok": 2,
}  # fmt: skip
QWEN3_MOE: Final = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 256,
}  # fmt: skip
PHI: Final = LLAMA | {"architectures": ["PhiForCausalLM"], "num_key_value_heads": 8}
FP8: Final = {"quant_method": "fp8", "activation_scheme": "dynamic"}
AWQ: Final = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ: Final = {
    "quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True,
}  # fmt: skip
INT4: Final = {"num_bits": 4, "type": "int"}
NO_SUCH: Final = "Cannot find any of {} in the model's quantization config."


def compressed(weights: Config, targets: list[str] | None = None, **keys: object) -> Config:
    group = {"targets": targets or ["Linear"], "weights": weights, "input_activations": None}
    config = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
    return config | {"config_groups": {"group_0": group}} | keys


def read(quantisation: Config, base: Config = LLAMA) -> ModelConfig:
    return load_model(dict(base) | {"quantization_config": dict(quantisation)})


def stored(model: ModelConfig, layer: int) -> dict[str, list[str]]:
    """Quantised layers of a block and the names of their tensors."""
    block = model.kinds[model.pattern[layer]]
    return {name: [tensor.name for tensor in scheme.tensors] for name, scheme in block.schemes}


@pytest.mark.parametrize(
    "config, says",
    [
        ({"quant_method": "fp8"}, NO_SUCH.format("['activation_scheme']")),
        (FP8 | {"activation_scheme": "often"}, "Unsupported activation scheme often"),
        (
            FP8 | {"weight_block_size": [128]},
            "The quantization block size of weight must have 2 dimensions, but got 1 dimensions",
        ),
        ({"quant_method": "awq"}, NO_SUCH.format("['w_bit', 'bits']")),
        (
            {"quant_method": "awq", "bits": 4, "group_size": 128},
            NO_SUCH.format("['zero_point']"),
        ),
        (
            AWQ | {"bits": 8},
            (
                "Unsupported num_bits = 8. Supported: 4. For 8-bit AWQ, use Marlin backend by "
                "setting backend='awq:marlin' or backend='marlin'."
            ),
        ),
        (GPTQ | {"bits": 3}, "Unsupported quantization config: bits=3, sym=True"),
        (GPTQ | {"sym": False}, "Unsupported quantization config: bits=4, sym=False"),
        (
            GPTQ | {"dynamic": {".*down.*": {"desc_act": True}}},
            (
                "GPTQ group activation ordering (desc_act=True) is no longer supported, but is "
                "enabled by dynamic rule '.*down.*'. Use a checkpoint with static activation "
                "ordering or desc_act=False."
            ),
        ),
        ({"quant_method": "modelopt"}, "Missing 'quant_algo' in quantization config"),
        (
            {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4"}},
            (
                "NVFP4 quantization requires the following fields in hf_quant_config.json: "
                "['group_size', 'kv_cache_quant_algo', 'exclude_modules']"
            ),
        ),
        (
            compressed(INT4 | {"group_size": 128, "actorder": "group"}),
            (
                "Compressed-tensors group/dynamic activation ordering (actorder='group') is no "
                "longer supported. Use a checkpoint with static/weight activation ordering or "
                "without activation ordering."
            ),
        ),
        (
            compressed(INT4 | {"strategy": "channel", "actorder": "group"}),
            (
                "Must use group or tensor_group quantization strategy in order to apply group "
                "activation ordering"
            ),
        ),
    ],
)
def test_refused_configs(config: Config, says: str) -> None:
    quantisation = read(config).quantisation
    assert quantisation is not None
    assert quantisation.refused_at_config == says


def test_strategies_are_inferred() -> None:
    """From the group size, as QuantizationArgs does: groups, channels."""
    found = {}
    for size in (128, -1):
        model = read(compressed(INT4 | {"group_size": size}))
        found[size] = {scheme.group for _, scheme in model.kinds[0].schemes if scheme.bits}
    assert found == {128: {128}, -1: {-1}}


def test_projections_of_mixtral() -> None:
    """Its experts are w1, w2 and w3; a pattern of one of them is at odds with the others."""
    every = compressed(INT4 | {"group_size": 128}, ["re:.*experts.*w[123]$"])
    assert "mlp.experts" in stored(read(every, MIXTRAL), 0)
    one = read(compressed(INT4 | {"group_size": 128}, ["re:.*experts.*w2$"]), MIXTRAL)
    assert one.quantisation is not None
    assert one.quantisation.refused_at_load == (
        "All MoE projections need to have same quantization scheme but found multiple"
    )


def test_gates() -> None:
    """Qwen3's gate is built with the method, Mixtral's without."""
    assert "mlp.gate" in stored(read(FP8, QWEN3_MOE), 0)
    assert "mlp.gate" not in stored(read(FP8, MIXTRAL), 0)


def test_layers_differ() -> None:
    """Layer 1 has no quantised attention, so it is a kind of its own."""
    ignored = [f"model.layers.1.self_attn.{name}" for name in ("qkv_proj", "o_proj")]
    model = read(FP8 | {"modules_to_not_convert": ignored})
    assert model.pattern == (0, 1, 0)
    assert "self_attn.qkv_proj" in stored(model, 0)
    assert "self_attn.qkv_proj" not in stored(model, 1)


@pytest.mark.parametrize("name", ["decoder.layers.0.fc1", "model.decoder.layers.0.fc1"])
def test_beginnings_of_names_are_mapped(name: str) -> None:
    """OPT's checkpoints call it `decoder`, vLLM calls it `model.decoder`."""
    opt = {"architectures": ["OPTForCausalLM"], "ffn_dim": 1024, "word_embed_proj_dim": 512}
    model = read(FP8 | {"modules_to_not_convert": [name]}, LLAMA | opt)
    assert [("fc1" in stored(model, layer)) for layer in (0, 1)] == [False, True]


def test_mxfp4_of_the_transformers_backend() -> None:
    quantisation = read({"quant_method": "mxfp4"}, PHI).quantisation
    assert quantisation is not None
    assert quantisation.refused_at_load == (
        "Transformers modeling backend does not support MXFP4 quantization yet."
    )


@pytest.mark.parametrize(
    "config, says",
    [
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "mixes algorithms"),
        ({"quant_method": "quark"}, "is quantised with 'quark', which is not modelled"),
        (AWQ | {"group_size": 0}, "has groups of 0"),
        (compressed({"strategy": "hash"}), "has the strategy 'hash'"),
        (compressed(INT4, ["re:("]), "has the pattern 're:('"),
        (compressed(INT4, transform_config={"a": 1}), "has a transform_config"),
        (FP8 | {"modules_to_not_convert": [4]}, "it should be a list of names"),
        (FP8 | {"weight_block_size": ["a", 2]}, "it should be two sizes"),
    ],
)
def test_not_modelled(config: Config, says: str) -> None:
    with pytest.raises(CatalogError) as refused:
        read(config)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
