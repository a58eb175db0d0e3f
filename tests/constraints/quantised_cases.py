"""Rules of quantised weights: what a config may say, and what a width may cut."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, latent, llama
from vllm_parallel.catalog import load_model
from vllm_parallel.methods import METHODS
from vllm_parallel.model import ModelConfig

DESC_ACT: Final = (
    "GPTQ group activation ordering (desc_act=True) is no longer supported. Use a checkpoint with "
    "static activation ordering or desc_act=False."
)
ANOTHER: Final = "use a checkpoint with another quantization_config"
NARROWER: Final = "use a smaller --tensor-parallel-size"
WHOLE_EXPERTS: Final = f"{NARROWER}, or add --enable-expert-parallel"
FP8: Final = {"quant_method": "fp8", "activation_scheme": "dynamic"}
BLOCKS: Final = FP8 | {"weight_block_size": [128, 128]}
AWQ: Final = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ: Final = {
    "quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True,
}  # fmt: skip
INTEGERS: Final = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
CHANNELS: Final = {"num_bits": 4, "type": "int", "strategy": "channel"}
FP8_BLOCKS: Final = {
    "num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128],
}  # fmt: skip
PER_GROUP: Final = {
    "num_bits": 8, "type": "float", "strategy": "group", "group_size": 128, "dynamic": True,
}  # fmt: skip


def compressed(weights: object, inputs: object = None, layout: str = "pack-quantized") -> object:
    """The config of compressed-tensors with one group for linear layers outside attention."""
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors",
        "format": layout,
        "ignore": ["lm_head", "re:.*self_attn.*"],
        "config_groups": {"group_0": group},
    }


def modelopt(algorithm: str) -> object:
    """The config of ModelOpt."""
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"]}


def dense(quantisation: object, **keys: object) -> ModelConfig:
    return llama("dense", quantization_config=quantisation, **keys)


def experts(quantisation: object, **keys: object) -> ModelConfig:
    """Latent attention is left out of what shapes decide: its widths divide by far."""
    return latent("experts", quantization_config=quantisation, **keys)


def mixtral(quantisation: object, **keys: object) -> ModelConfig:
    config = {
        "architectures": ["MixtralForCausalLM"],
        "torch_dtype": "bfloat16",
        "vocab_size": 32000,
        "hidden_size": 2048,
        "intermediate_size": 1536,
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "max_position_embeddings": 8192,
    }
    return load_model(config | {"quantization_config": quantisation} | keys)


QUANTISED_CONFIG_CASES: Final = (
    Case(
        rule="quantization-matches",
        model=dense(AWQ),
        fails={"quantization": "gptq"},
        passes=({"quantization": "awq"}, {"quantization": "marlin"}, {}),
        says="Quantization method specified in the model config (awq) does not match the "
        "quantization method specified in the `quantization` argument (gptq).",
        fix="drop --quantization",
    ),
    Case(
        rule="quantization-known",
        model="llama-3.1-8b",
        fails={"quantization": "bitsandbytes"},
        passes=({"quantization": "fp8"}, {"quantization": "mxfp4"}, {}),
        says=f"Unknown quantization method: bitsandbytes. Must be one of {list(METHODS)}.",
        fix="drop --quantization",
    ),
    Case(
        rule="quantization-deprecated",
        model="llama-3.1-8b",
        fails={"quantization": "fp_quant"},
        passes=({"quantization": "fp8_per_block"},),
        says="('The quantization method %s is deprecated and will be removed in future versions "
        "of vLLM. To bypass, set `--allow-deprecated-quantization`.', 'fp_quant')",
        fix="drop --quantization",
    ),
    Case(
        rule="quantization-without-config",
        model="llama-3.1-8b",
        fails={"quantization": "awq"},
        passes=({"quantization": "fp8_per_tensor"},),
        says="Cannot find the config file for awq",
        fix="drop --quantization, or use a checkpoint that is quantised so",
    ),
    Case(
        rule="quantised-by-a-method-that-is-taken",
        model=dense({"quant_method": "fbgemm_fp8"}),
        fails={"eplb_config": {"num_redundant_experts": 2}},  # refused too, but later
        passing_model=dense(AWQ),
        passes=({}, {"tp": 2}),
        says="('The quantization method %s is deprecated and will be removed in future versions of "
        "vLLM. To bypass, set `--allow-deprecated-quantization`.', 'fbgemm_fp8')",
        fix=ANOTHER,
    ),
    Case(
        rule="quantization-config",
        model=dense(GPTQ | {"desc_act": True}),
        fails={},
        passing_model=dense(GPTQ | {"desc_act": True, "group_size": -1}),
        passes=({},),
        says=DESC_ACT,
        fix=ANOTHER,
    ),
    Case(
        rule="quantization-dtype",
        model=dense(AWQ),
        fails={"dtype": "float32"},
        passes=({"dtype": "float16"}, {}),
        says="torch.float32 is not supported for quantization method auto_awq. Supported dtypes: "
        "[torch.float16, torch.bfloat16]",
        fix="use a --dtype of [torch.float16, torch.bfloat16]",
    ),
)
QUANTISED_LOAD_CASES: Final = (
    Case(
        rule="quantised-layers",
        model=dense(FP8 | {"ignored_layers": ["model.layers.0.self_attn.q_proj"]}),
        fails={},
        passing_model=dense(
            FP8 | {"ignored_layers": [f"model.layers.0.self_attn.{x}_proj" for x in "qkv"]}
        ),
        passes=({},),
        says="Detected some but not all shards of model.layers.0.self_attn.qkv_proj are "
        "quantized. All shards of fused layers to have the same precision.",
        fix=ANOTHER,
    ),
    Case(
        rule="fp8-block-columns",
        model=dense(BLOCKS, intermediate_size=8000),
        fails={"tp": 2},
        passes=({"tp": 1},),
        says="Weight input_size_per_partition = 4000 is not divisible by weight quantization "
        "block_k = 128.",
        fix=NARROWER,
    ),
    Case(
        rule="fp8-block-rows",
        model=dense(compressed(FP8_BLOCKS, PER_GROUP, "float-quantized"), intermediate_size=8000),
        fails={"tp": 1},
        passing_model=dense(compressed(FP8_BLOCKS, PER_GROUP, "float-quantized")),
        passes=({"tp": 2},),
        says="Weight output_partition_size = 8000 is not divisible by weight quantization "
        "block_n = 128.",
        fix=NARROWER,
    ),
    Case(
        rule="fp8-block-experts",
        model=mixtral(BLOCKS, intermediate_size=784),
        fails={"tp": 2},
        passing_model=mixtral(BLOCKS),
        passes=({"tp": 8}, {"tp": 16, "ep": True}),
        says="The output_size of gate's and up's weight = 392 is not divisible by weight "
        "quantization block_n = 128.",
        fix=WHOLE_EXPERTS,
    ),
    Case(
        rule="fp8-block-experts-down",
        model=mixtral(BLOCKS | {"weight_block_size": [16, 128]}, intermediate_size=1504),
        fails={"tp": 2},
        passes=({"tp": 1},),
        says="The input_size of down's weight = 752 is not divisible by weight quantization "
        "block_k = 128.",
        fix=WHOLE_EXPERTS,
    ),
    Case(
        rule="eplb-quantised-experts",
        model=mixtral(AWQ),
        fails={"tp": 2, "ep": True, "enable_eplb": True},
        passing_model=mixtral(FP8),
        passes=({"tp": 2, "ep": True, "enable_eplb": True},),
        says="EPLB is not supported AutoAWQMoEMethod.",
        fix="drop --enable-eplb",
    ),
    Case(
        rule="modelopt-block-columns",
        model=dense(modelopt("FP8_PB_WO"), intermediate_size=8000),
        fails={"tp": 1},
        passing_model=dense(modelopt("FP8_PB_WO")),
        passes=({"tp": 2},),
        says="FP8_PB_WO requires in divisible by 128, got 8000",
        fix=NARROWER,
    ),
    Case(
        rule="awq-columns",
        model=dense(AWQ),
        fails={"tp": 4},
        passes=({"tp": 2},),
        says="The input size is not aligned with the quantized weight shape. This can be caused "
        "by too large tensor parallel size.",
        fix="use a --tensor-parallel-size that leaves "
        "model.layers.0.mlp.down_proj whole groups of 128",
    ),
    Case(
        rule="awq-rows",
        model=dense(AWQ | {"zero_point": False}, intermediate_size=14337, attention_bias=True),
        fails={},
        passing_model=dense(AWQ | {"zero_point": False}),
        passes=({"tp": 2},),
        says="The output size is not aligned with the quantized weight shape. This can be caused "
        "by too large tensor parallel size.",
        fix=NARROWER,
    ),
    Case(
        rule="gptq-group-size",
        model=dense(GPTQ | {"group_size": 256}),
        fails={},
        passing_model=dense(GPTQ | {"group_size": 64}),
        passes=({"tp": 4},),
        says="Marlin does not support group_size = 256. Only group_sizes = [-1, 32, 64, 128] are "
        "supported.",
        fix="use a checkpoint with other groups",
    ),
    Case(
        rule="packed-kernel",
        model=dense(GPTQ, intermediate_size=16064),
        fails={"tp": 2},
        passes=({"tp": 1},),
        says="Failed to find a kernel that can implement the WNA16 linear layer.",
        fix="use a smaller --tensor-parallel-size: model.layers.0.mlp.down_proj "
        "has 8032 columns on a rank",
    ),
    Case(
        rule="packed-groups",
        model=dense(compressed(INTEGERS)),
        fails={"tp": 4},
        passing_model=dense(compressed(INTEGERS | {"group_size": 64})),
        passes=({"tp": 4},),
        says="Weight input_size_per_partition=4032 for layer 'model.layers.0.mlp.down_proj' "
        "is not divisible by "
        "group_size=128. This happens when tensor_parallel_size splits the layer input into "
        "shards that are not a whole number of quant groups. Consider reducing "
        "tensor_parallel_size.",
        fix=NARROWER,
    ),
    Case(
        rule="packed-experts-hidden",
        model=mixtral(compressed(INTEGERS | {"group_size": 96})),
        fails={},
        passing_model=mixtral(compressed(INTEGERS)),
        passes=({"tp": 4},),
        says="CompressedTensors WNA16 MoE requires hidden_size (2048) to be divisible by "
        "group_size (96).",
        fix="use a checkpoint with other groups",
    ),
    Case(
        rule="packed-experts-width",
        model=mixtral(compressed(INTEGERS)),
        fails={"tp": 8},
        passes=({"tp": 4}, {"tp": 8, "ep": True}),
        says="CompressedTensors WNA16 MoE with static group scales requires the MoE intermediate "
        "size per tensor-parallel partition (192) to be divisible by group_size (128). Scale "
        "groups would otherwise cross TP shard boundaries; use a compatible TP size or enable "
        "expert parallelism.",
        fix=WHOLE_EXPERTS,
    ),
    Case(
        rule="packed-experts-zero-points",
        model=mixtral(
            compressed(INTEGERS | {"symmetric": False, "group_size": 2}), intermediate_size=1540
        ),
        fails={"tp": 2},
        passing_model=mixtral(compressed(INTEGERS | {"symmetric": False})),
        passes=({"tp": 4},),
        says="CompressedTensors WNA16 MoE: gate+up output channels per TP rank (2 * "
        "intermediate_size_per_partition = 1540) must be divisible by packed_factor (8). Use a TP "
        "size where 2 * intermediate_size is divisible by 8.",
        fix=WHOLE_EXPERTS,
    ),
    Case(
        rule="packed-experts-kernel",
        model=mixtral(compressed(CHANNELS), hidden_size=2000),
        fails={},
        passing_model=mixtral(compressed(CHANNELS)),
        passes=({"tp": 4},),
        says="Without Marlin, packed experts need group scales.",
        fix="use a checkpoint with groups",
    ),
    Case(
        rule="halved-groups",
        model=mixtral(AWQ),
        fails={"tp": 16, "dp": 2},
        passing_model=mixtral(AWQ),
        passes=({"tp": 8, "dp": 2}, {"tp": 16, "dp": 2, "ep": True}),
        says="No group of at least 32 divides 48 columns of an expert.",
        fix=WHOLE_EXPERTS,
    ),
    Case(
        rule="experts-unbuildable",
        model=mixtral(AWQ | {"group_size": -1}),
        fails={},
        passing_model=mixtral(AWQ),
        passes=({},),
        says="Trying to create tensor with negative dimension",
        fix="use a checkpoint with groups",
    ),
    Case(
        rule="nvfp4-columns",
        model=dense(modelopt("NVFP4"), intermediate_size=8040),
        fails={},
        passing_model=dense(modelopt("NVFP4")),
        passes=({"tp": 8},),
        says="Unsupported model when in features size is not multiple of 16",
        fix=NARROWER,
    ),
    Case(
        rule="mxfp8-columns",
        model=dense(modelopt("MXFP8"), intermediate_size=8016),
        fails={},
        passing_model=dense(modelopt("MXFP8")),
        passes=({"tp": 8},),
        says="MXFP8 requires input size divisible by 32, got 8016",
        fix=NARROWER,
    ),
    Case(
        rule="mxfp8-experts",
        model=mixtral(modelopt("MXFP8")),
        fails={"tp": 16, "dp": 2},
        passes=({"tp": 8}, {"tp": 16, "dp": 2, "ep": True}),
        says="MXFP8 MoE requires intermediate_size_per_partition divisible by 32, got 48.",
        fix=WHOLE_EXPERTS,
    ),
)
