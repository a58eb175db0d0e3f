"""The families of models that are built here, each from its own `config.json` keys.

A key that a config leaves out has the default that the family has in `transformers`, which is
what vLLM sees; a key without a default there is required. A family's module is imported when a
model of it is read, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.model import ModelConfig

__all__ = ["FAMILIES", "Reader", "is_multimodal", "reader_of"]

Reader = Callable[[Keys], ModelConfig]
FAMILIES: Final[Mapping[str, str]] = {  # architecture: module here, and its function
    "LlamaForCausalLM": "dense.read_llama",
    "MistralForCausalLM": "dense.read_mistral",
    "Qwen2ForCausalLM": "dense.read_qwen2",
    "Qwen3ForCausalLM": "dense.read_qwen3",
    "Qwen3MoeForCausalLM": "experts.read_qwen3_moe",
    "MixtralForCausalLM": "experts.read_mixtral",
    "Glm4MoeForCausalLM": "experts.read_glm4_moe",
    "Qwen2MoeForCausalLM": "experts.read_qwen2_moe",
    "PhiForCausalLM": "backend.read_phi",
    "GemmaForCausalLM": "gemma.read_gemma",
    "Gemma2ForCausalLM": "gemma.read_gemma2",
    "Gemma3ForCausalLM": "gemma.read_gemma3",
    "DeepseekV2ForCausalLM": "latent.read_deepseek_v2",
    "DeepseekV3ForCausalLM": "latent.read_deepseek_v3",
    "DeepseekV32ForCausalLM": "sparse.read_deepseek_v32",
    "GlmMoeDsaForCausalLM": "sparse.read_glm_moe_dsa",
    "Glm4MoeLiteForCausalLM": "latent.read_glm4_moe_lite",
    "GptOssForCausalLM": "hybrid.read_gpt_oss",
    "Llama4ForCausalLM": "hybrid.read_llama4",
    "Llama4ForConditionalGeneration": "multimodal.read_llama4",
    "Gemma3ForConditionalGeneration": "multimodal.read_gemma3",
    "LlavaForConditionalGeneration": "multimodal.read_llava",
    "LlavaNextForConditionalGeneration": "multimodal.read_llava_next",
    "Mistral3ForConditionalGeneration": "multimodal.read_mistral3",
    "Qwen2VLForConditionalGeneration": "multimodal.read_qwen2_vl",
    "Qwen2_5_VLForConditionalGeneration": "multimodal.read_qwen2_5_vl",
    "Qwen3VLForConditionalGeneration": "multimodal.read_qwen3_vl",
    "Qwen3VLMoeForConditionalGeneration": "multimodal.read_qwen3_vl_moe",
    "Glm4vForConditionalGeneration": "multimodal.read_glm4v",
    "Glm4vMoeForConditionalGeneration": "multimodal.read_glm4v_moe",
    "KimiVLForConditionalGeneration": "multimodal.read_kimi_vl",
    "FalconH1ForCausalLM": "mamba.read_falcon_h1",
    "GraniteMoeHybridForCausalLM": "mamba.read_granite_hybrid",
    "JambaForCausalLM": "mamba.read_jamba",
    "NemotronHForCausalLM": "nemotron.read_nemotron_h",
    "MambaForCausalLM": "attention_free.read_mamba",
    "FalconMambaForCausalLM": "attention_free.read_mamba",
    "Mamba2ForCausalLM": "attention_free.read_mamba2",
}


def is_multimodal(architecture: str) -> bool:
    """Whether a family joins towers to a language model, and reads a config part by part.

    >>> is_multimodal("Llama4ForCausalLM"), is_multimodal("Llama4ForConditionalGeneration")
    (False, True)
    """
    return FAMILIES[architecture].startswith("multimodal.")


def reader_of(architecture: str) -> Reader | None:
    """The function that reads a config of this architecture, None where it is not modelled.

    >>> reader_of("Qwen3MoeForCausalLM").__name__
    'read_qwen3_moe'
    """
    place = FAMILIES.get(architecture)
    if place is None:
        return None
    module, function = place.split(".")
    reader: Reader = getattr(import_module(f"{__name__}.{module}"), function)
    return reader
