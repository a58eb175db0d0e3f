"""Small model configs that 2, 4 and 8 cut evenly, so that groups of quantised weights fit."""

from __future__ import annotations

from collections.abc import Callable

from dice import Dice
from shapes import Config

EXPERTS = (8, 16, 32)
EXPERT_WIDTHS = (256, 512, 768, 1024)


def even_base(dice: Dice, architecture: str, kind: str) -> Config:
    """The keys that every family has."""
    dim = dice.pick((64, 128, 128))
    return {
        "architectures": [architecture],
        "model_type": kind,
        "num_hidden_layers": dice.pick((2, 3, 4, 5, 7)),
        "hidden_size": dice.pick((1024, 1536, 2048)),
        "intermediate_size": dice.pick((1536, 2048, 3072, 4096, 5632)),
        "num_attention_heads": 16,
        "num_key_value_heads": dice.pick((2, 4, 8, 16)),
        "head_dim": dim,
        "vocab_size": dice.pick((32000, 32064, 50304)),
        "max_position_embeddings": dice.pick((8192, 16384, 32768)),
        "hidden_act": "silu",
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "tie_word_embeddings": dice.chance(0.25),
        "torch_dtype": "bfloat16",
    }


def even_llama(dice: Dice) -> Config:
    """Llama."""
    return even_base(dice, "LlamaForCausalLM", "llama") | {"attention_bias": dice.chance(0.2)}


def even_mistral(dice: Dice) -> Config:
    """Mistral, full attention."""
    return even_base(dice, "MistralForCausalLM", "mistral") | {"sliding_window": None}


def even_qwen2(dice: Dice) -> Config:
    """Qwen2: biases, and heads as wide as they fill the hidden size."""
    config = even_base(dice, "Qwen2ForCausalLM", "qwen2")
    return config | {"head_dim": config["hidden_size"] // 16}


def even_qwen3(dice: Dice) -> Config:
    """Qwen3: norms of queries and keys."""
    return even_base(dice, "Qwen3ForCausalLM", "qwen3") | {"attention_bias": False}


def even_phi3(dice: Dice) -> Config:
    """Phi-3: queries, keys and values as one weight of the checkpoint, and gate and up as one."""
    config = even_base(dice, "Phi3ForCausalLM", "phi3")
    return config | {"head_dim": config["hidden_size"] // 16, "sliding_window": None}


def even_qwen3_moe(dice: Dice) -> Config:
    """Qwen3 with experts in every layer, or a dense one among them."""
    return even_base(dice, "Qwen3MoeForCausalLM", "qwen3_moe") | {
        "num_experts": dice.pick(EXPERTS),
        "num_experts_per_tok": 4,
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": dice.pick(([], [], [0])),
    }


def even_mixtral(dice: Dice) -> Config:
    """Mixtral."""
    return even_base(dice, "MixtralForCausalLM", "mixtral") | {
        "num_local_experts": dice.pick((4, 8)),
        "num_experts_per_tok": 2,
        "intermediate_size": dice.pick(EXPERT_WIDTHS),
        "sliding_window": None,
    }


def even_glm4_moe(dice: Dice) -> Config:
    """GLM-4.5: a leading dense layer and shared experts."""
    return even_base(dice, "Glm4MoeForCausalLM", "glm4_moe") | {
        "n_routed_experts": dice.pick(EXPERTS),
        "n_shared_experts": dice.pick((1, 1, 2)),
        "num_experts_per_tok": 4,
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "first_k_dense_replace": dice.pick((0, 1, 1)),
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
        "use_qk_norm": dice.chance(0.5),
        "attention_bias": dice.chance(0.5),
        "partial_rotary_factor": 0.5,
    }


def latent(dice: Dice, architecture: str, kind: str) -> Config:
    """DeepSeek's keys: latent attention, leading dense layers, shared experts."""
    config = even_base(dice, architecture, kind) | {
        "num_key_value_heads": 16,
        "q_lora_rank": 512,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "n_routed_experts": dice.pick(EXPERTS),
        "n_shared_experts": dice.pick((1, 1, 2)),
        "num_experts_per_tok": 4,
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "first_k_dense_replace": dice.pick((0, 1, 1, 2)),
        "moe_layer_freq": 1,
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
        "attention_bias": False,
    }
    del config["head_dim"]
    return config


def even_deepseek_v2(dice: Dice) -> Config:
    """DeepSeek-V2, some without a query rank."""
    return latent(dice, "DeepseekV2ForCausalLM", "deepseek_v2") | {
        "q_lora_rank": dice.pick((None, 512)),
        "scoring_func": "softmax",
        "topk_method": "greedy",
    }


def even_deepseek_v3(dice: Dice) -> Config:
    """DeepSeek-V3: sigmoid scores with a bias."""
    return latent(dice, "DeepseekV3ForCausalLM", "deepseek_v3") | {
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
    }


def even_gpt_oss(dice: Dice) -> Config:
    """gpt-oss: sinks, biases, and a window on every second layer."""
    config = even_base(dice, "GptOssForCausalLM", "gpt_oss")
    layers = config["num_hidden_layers"]
    return config | {
        "head_dim": 64,
        "hidden_size": dice.pick((1440, 2048, 2880)),
        "intermediate_size": dice.pick((1440, 2048, 2880)),
        "num_key_value_heads": 8,
        "num_local_experts": dice.pick(EXPERTS),
        "num_experts_per_tok": 4,
        "sliding_window": 128,
        "layer_types": [("sliding_attention", "full_attention")[n % 2] for n in range(layers)],
        "attention_bias": True,
        "swiglu_limit": 7.0,
    }


def even_llama4(dice: Dice) -> Config:
    """Llama 4, its text part: local layers in chunks, experts on every second or each layer."""
    config = even_base(dice, "Llama4ForCausalLM", "llama4_text")
    return config | {
        "intermediate_size": dice.pick(EXPERT_WIDTHS),
        "intermediate_size_mlp": config["intermediate_size"],
        "num_local_experts": dice.pick((4, 8, 16)),
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": dice.pick((1, 2)),
        "no_rope_layers": [int((n + 1) % 4 != 0) for n in range(config["num_hidden_layers"])],
        "attention_chunk_size": dice.pick((1024, 8192)),
        "use_qk_norm": dice.chance(0.5),
        "attn_temperature_tuning": False,
        "attention_bias": False,
    }


EVEN: dict[str, Callable[[Dice], Config]] = {
    "llama": even_llama,
    "mistral": even_mistral,
    "qwen2": even_qwen2,
    "qwen3": even_qwen3,
    "phi3": even_phi3,
    "qwen3-moe": even_qwen3_moe,
    "mixtral": even_mixtral,
    "glm4-moe": even_glm4_moe,
    "deepseek-v2": even_deepseek_v2,
    "deepseek-v3": even_deepseek_v3,
    "gpt-oss": even_gpt_oss,
    "llama4": even_llama4,
}
