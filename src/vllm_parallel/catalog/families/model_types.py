"""Architectures by `model_type`, for configs that name none. Imported when one is met."""

from __future__ import annotations

from typing import Final

# transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, as far as vLLM registers the class.
NAMES: Final = """
    afmoe:AfmoeForCausalLM apertus:ApertusForCausalLM arcee:ArceeForCausalLM axk1:AXK1ForCausalLM
    bamba:BambaForCausalLM bloom:BloomForCausalLM cohere:CohereForCausalLM
    cohere2:Cohere2ForCausalLM cohere2_moe:Cohere2MoeForCausalLM cwm:CwmForCausalLM
    dbrx:DbrxForCausalLM deepseek_v2:DeepseekV2ForCausalLM deepseek_v3:DeepseekV3ForCausalLM
    deepseek_v32:DeepseekV32ForCausalLM deepseek_v4:DeepseekV4ForCausalLM dots1:Dots1ForCausalLM
    ernie4_5:Ernie4_5ForCausalLM ernie4_5_moe:Ernie4_5_MoeForCausalLM exaone4:Exaone4ForCausalLM
    exaone_moe:ExaoneMoeForCausalLM falcon:FalconForCausalLM falcon_h1:FalconH1ForCausalLM
    falcon_mamba:FalconMambaForCausalLM flex_olmo:FlexOlmoForCausalLM fuyu:FuyuForCausalLM
    gemma:GemmaForCausalLM gemma2:Gemma2ForCausalLM gemma3:Gemma3ForConditionalGeneration
    gemma3_text:Gemma3ForCausalLM gemma3n:Gemma3nForConditionalGeneration
    gemma3n_text:Gemma3nForCausalLM gemma4:Gemma4ForConditionalGeneration
    gemma4_text:Gemma4ForCausalLM gemma4_unified:Gemma4UnifiedForConditionalGeneration
    glm:GlmForCausalLM glm4:Glm4ForCausalLM glm4_moe:Glm4MoeForCausalLM
    glm4_moe_lite:Glm4MoeLiteForCausalLM glm_moe_dsa:GlmMoeDsaForCausalLM gpt-sw3:GPT2LMHeadModel
    gpt2:GPT2LMHeadModel gpt_bigcode:GPTBigCodeForCausalLM gpt_neox:GPTNeoXForCausalLM
    gpt_oss:GptOssForCausalLM gptj:GPTJForCausalLM granite:GraniteForCausalLM
    granite_swa:GraniteSWAForCausalLM granitemoe:GraniteMoeForCausalLM
    granitemoe_swa:GraniteMoeSWAForCausalLM granitemoehybrid:GraniteMoeHybridForCausalLM
    granitemoeshared:GraniteMoeSharedForCausalLM hrm_text:HrmTextForCausalLM
    hunyuan_v1_dense:HunYuanDenseV1ForCausalLM hunyuan_v1_moe:HunYuanMoEV1ForCausalLM
    hy_v3:HYV3ForCausalLM hy_v4:HYV4ForCausalLM hyperclovax:HyperCLOVAXForCausalLM
    inkling_text:InklingForCausalLM jais2:Jais2ForCausalLM jamba:JambaForCausalLM
    kimi_linear:KimiLinearForCausalLM laguna:LagunaForCausalLM lfm2:Lfm2ForCausalLM
    lfm2_moe:Lfm2MoeForCausalLM llama:LlamaForCausalLM llama4:Llama4ForCausalLM
    llama4_text:Llama4ForCausalLM longcat_flash:LongcatFlashForCausalLM mamba:MambaForCausalLM
    mamba2:Mamba2ForCausalLM mellum:MellumForCausalLM mimo_v2_flash:MiMoV2FlashForCausalLM
    minicpm3:MiniCPM3ForCausalLM minimax:MiniMaxForCausalLM minimax_m2:MiniMaxM2ForCausalLM
    ministral3:Ministral3ForCausalLM mistral:MistralForCausalLM mixtral:MixtralForCausalLM
    mpt:MptForCausalLM nemotron:NemotronForCausalLM nemotron_h:NemotronHForCausalLM
    olmo:OlmoForCausalLM olmo2:Olmo2ForCausalLM olmo3:Olmo3ForCausalLM
    olmo_hybrid:OlmoHybridForCausalLM olmoe:OlmoeForCausalLM opt:OPTForCausalLM
    persimmon:PersimmonForCausalLM phi:PhiForCausalLM phi3:Phi3ForCausalLM
    phi4_multimodal:Phi4MultimodalForCausalLM qwen2:Qwen2ForCausalLM qwen2_moe:Qwen2MoeForCausalLM
    qwen3:Qwen3ForCausalLM qwen3_5:Qwen3_5ForCausalLM qwen3_5_moe:Qwen3_5MoeForCausalLM
    qwen3_5_moe_text:Qwen3_5MoeForCausalLM qwen3_5_text:Qwen3_5ForCausalLM
    qwen3_moe:Qwen3MoeForCausalLM qwen3_next:Qwen3NextForCausalLM qwen4_exp:Qwen4ExpForCausalLM
    qwen4_exp_text:Qwen4ExpForCausalLM seed_oss:SeedOssForCausalLM smollm3:SmolLM3ForCausalLM
    stablelm:StableLmForCausalLM starcoder2:Starcoder2ForCausalLM vaultgemma:VaultGemmaForCausalLM
    zamba2:Zamba2ForCausalLM
"""
ARCHITECTURES: Final = dict(pair.split(":") for pair in NAMES.split())


def architecture_of(model_type: str) -> str | None:
    """The class that `transformers` makes of a config of this type.

    Source: vllm/config/vllm.py, with_hf_config (v0.32.0)

    >>> architecture_of("llama")
    'LlamaForCausalLM'
    """
    return ARCHITECTURES.get(model_type)
