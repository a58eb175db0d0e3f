"""What published checkpoints write under `quantization_config`, by kind, with options drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from dice import Dice
from shapes import Config

Draw = Callable[[Dice], Config]

# Modules kept as they are: by name, by pattern, all of a kind, one of two that vLLM fuses.
IGNORED: Sequence[Sequence[str]] = (
    ("lm_head",),
    ("lm_head",),
    ("lm_head", "re:.*mlp.gate$"),
    ("lm_head", "re:.*self_attn.*"),
    ("lm_head", "model.layers.0.mlp.down_proj"),
    ("re:.*down_proj",),
    ("lm_head", "re:.*layers.0.*"),
    ("lm_head", "re:.*shared_experts.*"),
)
KEPT: Sequence[Sequence[str] | None] = (
    None,
    None,
    ("lm_head",),
    ("self_attn",),
    ("model.layers.0.mlp.down_proj",),
    ("down_proj", "o_proj"),
    ("gate",),
)
FP8_CACHE: Config = {
    "num_bits": 8,
    "type": "float",
    "strategy": "tensor",
    "dynamic": False,
    "symmetric": True,
}


def fp8(dice: Dice, *, block: Sequence[int] | None = None, scheme: str = "dynamic") -> Config:
    """DeepSeek's and vLLM's own: fp8, a scale a tensor or a block."""
    config: Config = {"quant_method": "fp8", "activation_scheme": scheme}
    if block is not None:
        config |= {"fmt": "e4m3", "weight_block_size": list(block)}
    kept = dice.pick(KEPT)
    return config | ({} if kept is None else {"modules_to_not_convert": list(kept)})


def fbgemm(dice: Dice) -> Config:
    """Llama 3.1's own fp8: a scale a row, activations by token."""
    kept = dice.pick((["lm_head"], ["lm_head", "model.layers.0.self_attn.o_proj"]))
    return {
        "quant_method": "fbgemm_fp8",
        "activation_scale_ub": 1200.0,
        "modules_to_not_convert": kept,
    }


def awq(dice: Dice, *, zero_point: bool = True) -> Config:
    """AWQ: four bits, a scale and a zero point a group."""
    kept = dice.pick(KEPT)
    return {
        "quant_method": "awq",
        "bits": 4,
        "group_size": dice.pick((128, 128, 64, 32)),
        "version": "gemm",
        "zero_point": zero_point,
        "modules_to_not_convert": None if kept is None else list(kept),
    }


def gptq(dice: Dice, *, bits: int = 4, desc_act: bool = False, sym: bool = True) -> Config:
    """GPTQ: four or eight bits, groups or whole rows."""
    config = {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": dice.pick((128, 128, 64, 32, -1)),
        "desc_act": desc_act,
        "sym": sym,
        "lm_head": dice.chance(0.2),
        "checkpoint_format": dice.pick(("gptq", "gptq", "gptq_v2")),
    }
    if dice.chance(0.2):
        config["dynamic"] = {dice.pick(("-:.*down_proj.*", "-:.*self_attn.*")): {}}
    return config


def modelopt(dice: Dice, *, algo: str) -> Config:
    """ModelOpt: fp8, or four-bit floats with a scale for sixteen of them."""
    kept = dice.pick((["lm_head"], ["lm_head", "*mlp.gate*"], ["lm_head", "*self_attn*"], []))
    config: Config = {"quant_method": "modelopt", "quant_algo": algo, "exclude_modules": kept}
    if dice.chance(0.4):
        config["kv_cache_quant_algo"] = "FP8"
    return config | ({"group_size": 16} if "FP4" in algo else {})


def weights(bits: int, kind: str, strategy: str, **more: object) -> Config:
    """A number format of compressed-tensors."""
    base = {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": None}
    return base | {"symmetric": True, "dynamic": False, "actorder": None} | more


def compressed(
    dice: Dice, layout: str, stored: Config, activations: Config | None = None
) -> Config:
    """compressed-tensors: one group of all linear layers, some with a scheme of the cache."""
    group = {"targets": ["Linear"], "weights": stored, "input_activations": activations}
    config: Config = {
        "quant_method": "compressed-tensors",
        "format": layout,
        "quantization_status": "compressed",
        "ignore": list(dice.pick(IGNORED)),
        "config_groups": {"group_0": group},
    }
    return config | ({"kv_cache_scheme": FP8_CACHE} if dice.chance(0.25) else {})


def ct_fp8(dice: Dice, *, strategy: str) -> Config:
    """Eight-bit floats, a scale a tensor, a row or a block."""
    block = {"block_structure": [128, 128]} if strategy == "block" else {}
    static = strategy == "tensor" and dice.chance(0.5)
    inputs = {"tensor": "tensor", "channel": "token", "block": "group"}[strategy]
    more: Config = {"dynamic": not static} | ({"group_size": 128} if block else {})
    stored = weights(8, "float", strategy, **block)
    return compressed(dice, "float-quantized", stored, weights(8, "float", inputs, **more))


def ct_int8(dice: Dice) -> Config:
    """Eight-bit whole numbers, activations by tensor or by token."""
    strategy = dice.pick(("tensor", "channel"))
    static = strategy == "tensor" and dice.chance(0.5)
    how = {"dynamic": not static, "symmetric": dice.chance(0.8)}
    inputs = weights(8, "int", "tensor" if static else "token", **how)
    return compressed(dice, "int-quantized", weights(8, "int", strategy), inputs)


def ct_packed(dice: Dice, *, bits: int, actorder: str | None = None) -> Config:
    """Four or eight bits in words, activations as they are."""
    size = dice.pick((128, 128, 64, 32, None))
    strategy = "channel" if size is None else "group"
    how = {"group_size": size, "symmetric": dice.chance(0.8), "actorder": actorder}
    return compressed(dice, "pack-quantized", weights(bits, "int", strategy, **how))


def ct_nvfp4(dice: Dice, *, inputs: bool) -> Config:
    """Four-bit floats, a scale for sixteen of them and one for all."""
    stored = weights(4, "float", "tensor_group", group_size=16)
    local = weights(4, "float", "tensor_group", group_size=16, dynamic="local")
    return compressed(dice, "nvfp4-pack-quantized", stored, local if inputs else None)


def ct_mixed(dice: Dice) -> Config:
    """Two groups: attention in eight bits, MLPs in four."""
    config = compressed(dice, "mixed-precision", {})
    config["ignore"] = ["lm_head"]
    token = weights(8, "float", "token", dynamic=True)
    config["config_groups"] = {
        "group_0": {
            "targets": ["re:.*self_attn.*"],
            "weights": weights(8, "float", "channel"),
            "input_activations": token,
            "format": "float-quantized",
        },
        "group_1": {
            "targets": ["re:.*mlp.*"],
            "weights": weights(4, "int", "group", group_size=128),
            "input_activations": None,
            "format": "pack-quantized",
        },
    }
    return config


def mxfp4(dice: Dice) -> Config:
    """gpt-oss's own: four-bit floats with a scale for 32 of them, experts alone."""
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]
    return {"quant_method": "mxfp4"} | dice.pick(({}, {"modules_to_not_convert": kept}))


# What vLLM refuses whatever the model is.
REFUSED = frozenset({"gptq-ordered", "gptq-asymmetric", "ct-w4a16-ordered"})
QUANTISATIONS: dict[str, Draw] = {
    "fp8": fp8,
    "fp8-static": partial(fp8, scheme="static"),
    "fp8-block": partial(fp8, block=(128, 128)),
    "fbgemm": fbgemm,
    "awq": awq,
    "awq-symmetric": partial(awq, zero_point=False),
    "gptq": gptq,
    "gptq-8bit": partial(gptq, bits=8),
    "gptq-ordered": partial(gptq, desc_act=True),
    "gptq-asymmetric": partial(gptq, sym=False),
    "modelopt-fp8": partial(modelopt, algo="FP8"),
    "modelopt-nvfp4": partial(modelopt, algo="NVFP4"),
    "ct-fp8-tensor": partial(ct_fp8, strategy="tensor"),
    "ct-fp8-channel": partial(ct_fp8, strategy="channel"),
    "ct-fp8-block": partial(ct_fp8, strategy="block"),
    "ct-int8": ct_int8,
    "ct-w4a16": partial(ct_packed, bits=4),
    "ct-w8a16": partial(ct_packed, bits=8),
    "ct-w4a16-ordered": partial(ct_packed, bits=4, actorder="group"),
    "ct-w4a16-static": partial(ct_packed, bits=4, actorder="weight"),
    "ct-nvfp4": partial(ct_nvfp4, inputs=True),
    "ct-nvfp4-weights": partial(ct_nvfp4, inputs=False),
    "ct-mixed": ct_mixed,
    "mxfp4": mxfp4,
}
