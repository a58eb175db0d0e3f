"""The families of models that are built here, each from its own `config.json` keys.

A key that a config leaves out has the default that the family has in `transformers`, which is
what vLLM sees; a key without a default there is required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vllm_parallel.catalog.families.dense import read_llama, read_mistral, read_qwen2, read_qwen3
from vllm_parallel.catalog.families.experts import read_glm4_moe, read_mixtral, read_qwen3_moe
from vllm_parallel.catalog.families.hybrid import read_gpt_oss, read_llama4
from vllm_parallel.catalog.families.latent import read_deepseek_v2, read_deepseek_v3
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.model import ModelConfig

__all__ = ["FAMILIES"]

FAMILIES: Final[dict[str, Callable[[Keys], ModelConfig]]] = {
    "LlamaForCausalLM": read_llama,
    "MistralForCausalLM": read_mistral,
    "Qwen2ForCausalLM": read_qwen2,
    "Qwen3ForCausalLM": read_qwen3,
    "Qwen3MoeForCausalLM": read_qwen3_moe,
    "MixtralForCausalLM": read_mixtral,
    "Glm4MoeForCausalLM": read_glm4_moe,
    "DeepseekV2ForCausalLM": read_deepseek_v2,
    "DeepseekV3ForCausalLM": read_deepseek_v3,
    "GptOssForCausalLM": read_gpt_oss,
    "Llama4ForCausalLM": read_llama4,
    "Llama4ForConditionalGeneration": read_llama4,
}
