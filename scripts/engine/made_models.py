"""Model configs of invented shapes, a number of them for each family."""

from __future__ import annotations

from collections.abc import Callable

from dice import Dice
from shapes import (
    EXPERT_WIDTHS,
    EXPERTS,
    WIDTHS,
    Config,
    base_of,
    grouped_of,
    latent_of,
    windows_of,
    yarn_of,
)


def made_llama(dice: Dice) -> Config:
    """Llama, with and without biases."""
    config = base_of(dice, "LlamaForCausalLM", "llama") | grouped_of(dice)
    config["intermediate_size"] = dice.pick(WIDTHS)
    for key in dice.some(("attention_bias", "mlp_bias"), 0.35):
        config[key] = True
    return config


def made_mistral(dice: Dice) -> Config:
    """Mistral, most with a sliding window."""
    config = base_of(dice, "MistralForCausalLM", "mistral") | grouped_of(dice)
    config["intermediate_size"] = dice.pick(WIDTHS)
    config["sliding_window"] = dice.pick((None, 96, 1000, 1024, 2048))
    return config


def made_qwen2(dice: Dice) -> Config:
    """Qwen2, some with windows on the upper layers."""
    config = base_of(dice, "Qwen2ForCausalLM", "qwen2") | grouped_of(dice, head_dim_given=0.0)
    config |= {"intermediate_size": dice.pick(WIDTHS)} | windows_of(dice, config)
    return config


def made_qwen3(dice: Dice) -> Config:
    """Qwen3, the width of a head always given: without it transformers takes 128."""
    config = base_of(dice, "Qwen3ForCausalLM", "qwen3") | grouped_of(dice, head_dim_given=1.0)
    config |= {"intermediate_size": dice.pick(WIDTHS), "attention_bias": dice.chance(0.4)}
    return config | windows_of(dice, config)


def made_qwen3_moe(dice: Dice) -> Config:
    """Qwen3 with experts in each or every second layer, some layers named dense."""
    config = base_of(dice, "Qwen3MoeForCausalLM", "qwen3_moe")
    config |= grouped_of(dice, head_dim_given=1.0)
    experts = dice.pick(EXPERTS)
    return config | {
        "intermediate_size": dice.pick(WIDTHS),
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "num_experts": experts,
        "num_experts_per_tok": min(experts, dice.pick((1, 2, 4))),
        "norm_topk_prob": True,
        "decoder_sparse_step": dice.pick((1, 1, 1, 2)),
        "mlp_only_layers": dice.pick(([], [], [0], [0, 2])),
        "attention_bias": dice.chance(0.4),
    }


def made_mixtral(dice: Dice) -> Config:
    """Mixtral, some with a window."""
    config = base_of(dice, "MixtralForCausalLM", "mixtral") | grouped_of(dice)
    experts = dice.pick(EXPERTS)
    return config | {
        "intermediate_size": dice.pick(EXPERT_WIDTHS),
        "num_local_experts": experts,
        "num_experts_per_tok": min(experts, dice.pick((1, 2))),
        "sliding_window": dice.pick((None, None, None, 1024)),
    }


def made_glm4_moe(dice: Dice) -> Config:
    """GLM-4.5: leading dense layers, shared experts, half-rotated heads."""
    config = base_of(dice, "Glm4MoeForCausalLM", "glm4_moe") | grouped_of(dice, head_dim_given=1.0)
    experts = dice.pick(EXPERTS)
    return config | {
        "intermediate_size": dice.pick(WIDTHS),
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "n_routed_experts": experts,
        "n_shared_experts": dice.pick((0, 1, 1, 2, 3)),
        "num_experts_per_tok": min(experts, dice.pick((1, 2, 4))),
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": dice.pick((0, 1, 1, 2, 3)),
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
        "use_qk_norm": dice.chance(0.5),
        "attention_bias": dice.chance(0.5),
        "partial_rotary_factor": dice.pick((0.5, 0.5, 0.25, 1.0)),
    }


def made_deepseek(dice: Dice) -> Config:
    """DeepSeek-V2 and V3: latent attention; one in ten has no layer with experts."""
    name, kind = dice.pick((("V2", "deepseek_v2"), ("V3", "deepseek_v3")))
    config = base_of(dice, f"Deepseek{name}ForCausalLM", kind, yarn_of) | latent_of(dice)
    experts = dice.pick(EXPERTS)
    return config | {
        "intermediate_size": dice.pick(WIDTHS),
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "n_routed_experts": experts,
        "n_shared_experts": dice.pick((1, 1, 2, 3)),
        "num_experts_per_tok": min(experts, dice.pick((1, 2, 4))),
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": dice.pick((0, 0, 1, 1, 1, 2, 2, 3, 3, 30)),
        "moe_layer_freq": dice.pick((1, 1, 1, 2)),
        "routed_scaling_factor": 1.0,
        "scoring_func": dice.pick(("softmax", "sigmoid")),
        "topk_method": dice.pick(("greedy", "group_limited_greedy", "noaux_tc", "noaux_tc")),
        "norm_topk_prob": True,
        "attention_bias": False,
    }


def made_gpt_oss(dice: Dice) -> Config:
    """gpt-oss: sinks, biases, windows on every second layer or where the config says."""
    config = base_of(dice, "GptOssForCausalLM", "gpt_oss", yarn_of)
    config |= grouped_of(dice, head_dim_given=1.0)
    layers, experts = config["num_hidden_layers"], dice.pick(EXPERTS)
    every = ["full_attention" if n % 2 else "sliding_attention" for n in range(layers)]
    third = ["full_attention" if n % 3 == 2 else "sliding_attention" for n in range(layers)]
    return config | {
        "intermediate_size": dice.pick((360, 720, 960, 1440, 2520, 2880)),
        "num_local_experts": experts,
        "num_experts_per_tok": min(experts, dice.pick((1, 2, 4))),
        "sliding_window": dice.pick((96, 128, 128, 1000)),
        "layer_types": dice.pick((every, every, third)),
        "attention_bias": True,
        "swiglu_limit": 7.0,
    }


def made_llama4(dice: Dice) -> Config:
    """Llama 4, its text part: chunked local layers, experts on every second or each layer."""
    config = base_of(dice, "Llama4ForCausalLM", "llama4_text")
    config |= grouped_of(dice, head_dim_given=1.0)
    layers = config["num_hidden_layers"]
    return config | {
        "intermediate_size": dice.pick(EXPERT_WIDTHS),
        "intermediate_size_mlp": dice.pick(WIDTHS),
        "num_local_experts": dice.pick(EXPERTS),
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": dice.pick((1, 2, 2, 3)),
        "no_rope_layers": [int((n + 1) % 4 != 0) for n in range(layers)],
        "attention_chunk_size": dice.pick((512, 1000, 2048, 8192)),
        "use_qk_norm": dice.chance(0.5),
        "attn_temperature_tuning": False,
        "attention_bias": dice.chance(0.3),
    }


FAMILIES: dict[str, Callable[[Dice], Config]] = {
    "llama": made_llama,
    "mistral": made_mistral,
    "qwen2": made_qwen2,
    "qwen3": made_qwen3,
    "qwen3-moe": made_qwen3_moe,
    "mixtral": made_mixtral,
    "glm4-moe": made_glm4_moe,
    "deepseek": made_deepseek,
    "gpt-oss": made_gpt_oss,
    "llama4": made_llama4,
}


def made_models(count: int) -> dict[str, Config]:
    """So many configs of each family, by name."""
    return {
        f"{family}-{number:02}": make(Dice(f"{family} {number}"))
        for family, make in FAMILIES.items()
        for number in range(count)
    }
