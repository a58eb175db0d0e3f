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
MULTIMODAL: Final = ("multimodal.", "image_encoders.")
FAMILIES: Final[Mapping[str, str]] = {  # architecture: module here, and its function
    "LlamaForCausalLM": "dense.read_llama",
    "MistralForCausalLM": "dense.read_mistral",
    "Qwen2ForCausalLM": "dense.read_qwen2",
    "Qwen3ForCausalLM": "dense.read_qwen3",
    "Qwen3MoeForCausalLM": "experts.read_qwen3_moe",
    "MixtralForCausalLM": "experts.read_mixtral",
    "Glm4MoeForCausalLM": "experts.read_glm4_moe",
    "Qwen2MoeForCausalLM": "experts.read_qwen2_moe",
    "PhiForCausalLM": "from_library.read_phi",
    "OlmoForCausalLM": "from_library.read_olmo",
    "Olmo2ForCausalLM": "from_library.read_olmo2",
    "Olmo3ForCausalLM": "from_library.read_olmo3",
    "GlmForCausalLM": "from_library.read_glm",
    "SeedOssForCausalLM": "from_library.read_seed_oss",
    "SmolLM3ForCausalLM": "from_library.read_smollm3",
    "Starcoder2ForCausalLM": "from_library.read_starcoder2",
    "ArceeForCausalLM": "from_library.read_arcee",
    "GPTNeoXForCausalLM": "from_library.read_gpt_neox",
    "HunYuanDenseV1ForCausalLM": "from_library.read_hunyuan",
    "HunYuanMoEV1ForCausalLM": "library_experts.read_hunyuan_moe",
    "FlexOlmoForCausalLM": "library_experts.read_flex_olmo",
    "CwmForCausalLM": "from_library.read_cwm",
    "LLaMAForCausalLM": "dense.read_llama",
    "InternLM3ForCausalLM": "dense.read_llama",
    "MiMoForCausalLM": "dense.read_qwen2",
    "Phi3ForCausalLM": "llama_like.read_phi3",
    "Ernie4_5ForCausalLM": "llama_like.read_ernie",
    "Ministral3ForCausalLM": "llama_like.read_ministral3",
    "Glm4ForCausalLM": "llama_like.read_glm4",
    "NemotronForCausalLM": "llama_like.read_nemotron",
    "ApertusForCausalLM": "llama_like.read_apertus",
    "StableLmForCausalLM": "llama_like.read_stablelm",
    "GraniteForCausalLM": "granite.read_granite",
    "GraniteSWAForCausalLM": "granite.read_granite_windows",
    "GraniteMoeForCausalLM": "granite.read_granite_moe",
    "GraniteMoeSharedForCausalLM": "granite.read_granite_moe_shared",
    "GraniteMoeSWAForCausalLM": "granite.read_granite_moe_windows",
    "CohereForCausalLM": "cohere.read_cohere",
    "Cohere2ForCausalLM": "cohere.read_cohere2",
    "Exaone4ForCausalLM": "exaone.read_exaone4",
    "ExaoneMoeForCausalLM": "exaone.read_exaone_moe",
    "ExaoneMoEForCausalLM": "exaone.read_exaone_moe",
    "Ernie4_5_MoeForCausalLM": "many_experts.read_ernie_moe",
    "OlmoeForCausalLM": "many_experts.read_olmoe",
    "MiniMaxM2ForCausalLM": "many_experts.read_minimax_m2",
    "PhiMoEForCausalLM": "many_experts.read_phi_moe",
    "AfmoeForCausalLM": "many_experts.read_afmoe",
    "BailingMoeForCausalLM": "bailing.read_bailing",
    "BailingMoeV2ForCausalLM": "bailing.read_bailing",
    "ExaoneForCausalLM": "remote.read_exaone",
    "SolarForCausalLM": "remote.read_solar",
    "InternLM2ForCausalLM": "remote.read_internlm2",
    "OrionForCausalLM": "remote.read_orion",
    "DeciLMForCausalLM": "remote.read_decilm",
    "MiniCPMForCausalLM": "remote.read_minicpm",
    "HyperCLOVAXForCausalLM": "remote.read_hyperclova",
    "ChatGLMModel": "remote.read_chatglm",
    "ChatGLMForConditionalGeneration": "remote.read_chatglm",
    "IQuestCoderForCausalLM": "dense.read_llama",
    "GPTJForCausalLM": "older.read_gptj",
    "GPT2LMHeadModel": "older.read_gpt2",
    "OPTForCausalLM": "older.read_opt",
    "FalconForCausalLM": "older.read_falcon",
    "DbrxForCausalLM": "many_experts.read_dbrx",
    "GemmaForCausalLM": "gemma.read_gemma",
    "Gemma2ForCausalLM": "gemma.read_gemma2",
    "Gemma3ForCausalLM": "gemma.read_gemma3",
    "Gemma4ForCausalLM": "gemma4.read_gemma4",
    "DeepseekV2ForCausalLM": "latent.read_deepseek_v2",
    "DeepseekV3ForCausalLM": "latent.read_deepseek_v3",
    "DeepseekV32ForCausalLM": "sparse.read_deepseek_v32",
    "GlmMoeDsaForCausalLM": "sparse.read_glm_moe_dsa",
    "Glm4MoeLiteForCausalLM": "latent.read_glm4_moe_lite",
    "GptOssForCausalLM": "hybrid.read_gpt_oss",
    "Llama4ForCausalLM": "hybrid.read_llama4",
    "Llama4ForConditionalGeneration": "multimodal.read_llama4",
    "Gemma3ForConditionalGeneration": "image_encoders.read_gemma3",
    "LlavaForConditionalGeneration": "image_encoders.read_llava",
    "LlavaNextForConditionalGeneration": "image_encoders.read_llava_next",
    "Mistral3ForConditionalGeneration": "image_encoders.read_mistral3",
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
    "Zamba2ForCausalLM": "zamba2.read_zamba2",
    "Qwen3NextForCausalLM": "delta.read_qwen3_next",
    "Qwen3_5ForCausalLM": "delta.read_qwen3_5",
    "Qwen3_5MoeForCausalLM": "delta.read_qwen3_5_moe",
    "OlmoHybridForCausalLM": "delta.read_olmo_hybrid",
    "Lfm2ForCausalLM": "lfm2.read_lfm2",
    "Lfm2MoeForCausalLM": "lfm2.read_lfm2_moe",
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
    return FAMILIES[architecture].startswith(MULTIMODAL)


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
