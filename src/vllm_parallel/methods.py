"""The words of `--quantization`."""

from __future__ import annotations

from typing import Final

METHODS: Final = (  # vllm/model_executor/layers/quantization/__init__.py, QuantizationMethods
    "awq", "auto_awq", "fp8", "fbgemm_fp8", "fp_quant", "modelopt", "modelopt_fp4",
    "modelopt_mxfp8", "modelopt_mixed", "auto_gptq", "gptq", "gptq_marlin", "awq_marlin",
    "humming", "compressed-tensors", "experts_int8", "quark", "moe_wna16", "torchao", "inc",
    "mxfp4", "gpt_oss_mxfp4", "deepseek_v4_fp8", "online", "fp8_per_tensor", "fp8_per_block",
    "fp8_per_channel", "int8_per_channel_weight_only", "nvfp4_per_token", "mxfp8",
)  # fmt: skip
DEPRECATED: Final = ("fbgemm_fp8", "fp_quant")
DEPRECATION: Final = (  # printed as it stands, with the name after it
    "The quantization method %s is deprecated and will be removed in future versions of vLLM. To "
    "bypass, set `--allow-deprecated-quantization`."
)
ONLINE: Final = (  # quantise an unquantised checkpoint while it loads
    "fp8", "fp8_per_tensor", "fp8_per_channel", "fp8_per_block", "mxfp4", "mxfp8",
    "int8_per_channel_weight_only",
)  # fmt: skip
UNMODELLED: Final = (
    "moe_wna16", "humming", "experts_int8", "deepseek_v4_fp8", "gpt_oss_mxfp4", "nvfp4_per_token",
)  # fmt: skip
TAKES_OVER: Final = {  # the same, where a checkpoint is quantised with another method
    "awq": ("moe_wna16", "humming"),
    "gptq": ("moe_wna16", "humming"),
    "fp8": ("deepseek_v4_fp8", "humming"),
}
ALIASES: Final = {  # of a checkpoint's method, beside vLLM's own name of it
    "awq": ("awq", "auto_awq", "awq_marlin", "marlin"),
    "gptq": ("gptq", "auto_gptq", "gptq_marlin", "marlin"),
}
WITHOUT_CONFIG: Final = {  # what vLLM dies of where no checkpoint says more
    "compressed-tensors": "CompressedTensorsConfig.__init__() missing 3 required positional "
    "arguments: 'target_scheme_map', 'ignore', and 'quant_format'",
    "quark": "QuarkConfig.__init__() missing 1 required positional argument: 'quant_config'",
    "torchao": "TorchAOConfig.__init__() missing 1 required positional argument: 'torchao_config'",
    "online": "OnlineQuantizationConfig.__init__() missing 1 required positional argument: 'args'",
}
