"""Configs with one oddity each: a key left out that transformers fills, one that vLLM ignores."""

from __future__ import annotations

from dice import Dice
from family import LEFT_OUT
from made_models import FAMILIES
from shapes import Config

# Name: family, and what is changed in the config that its dice give.
CHANGES: dict[str, tuple[str, Config]] = {
    "odd-qwen3-head-dim": ("qwen3", {"head_dim": LEFT_OUT}),
    "odd-qwen3-moe-head-dim": ("qwen3-moe", {"head_dim": LEFT_OUT}),
    "odd-qwen3-moe-window": ("qwen3-moe", {"sliding_window": 512, "use_sliding_window": True}),
    "odd-qwen2-window-off": (
        "qwen2",
        {"sliding_window": 512, "max_window_layers": 0, "use_sliding_window": LEFT_OUT},
    ),
    "odd-mistral-window": ("mistral", {"sliding_window": LEFT_OUT}),
    "odd-mixtral-kv-heads": ("mixtral", {"num_key_value_heads": LEFT_OUT}),
    "odd-llama-kv-heads": ("llama", {"num_key_value_heads": LEFT_OUT}),
    "odd-llama-window": ("llama", {"sliding_window": 512}),
    "odd-llama-untied": ("llama", {"tie_word_embeddings": LEFT_OUT}),
    "odd-deepseek-v3": (
        "deepseek",
        {
            "architectures": ["DeepseekV3ForCausalLM"],
            "model_type": "deepseek_v3",
            "num_hidden_layers": 5,
            "n_shared_experts": LEFT_OUT,
            "first_k_dense_replace": LEFT_OUT,
            "q_lora_rank": LEFT_OUT,
            "topk_method": LEFT_OUT,
        },
    ),
    "odd-deepseek-v2": (
        "deepseek",
        {
            "architectures": ["DeepseekV2ForCausalLM"],
            "model_type": "deepseek_v2",
            "n_shared_experts": LEFT_OUT,
            "first_k_dense_replace": LEFT_OUT,
        },
    ),
    "odd-deepseek-alone": ("deepseek", {"n_shared_experts": 0}),
    "odd-glm4-moe": (
        "glm4-moe",
        {
            "n_shared_experts": LEFT_OUT,
            "first_k_dense_replace": LEFT_OUT,
            "use_qk_norm": LEFT_OUT,
            "partial_rotary_factor": LEFT_OUT,
        },
    ),
    "odd-gpt-oss-windows": (
        "gpt-oss",
        {"num_hidden_layers": 4, "layer_types": ["sliding_attention"] * 4},
    ),
    "odd-gpt-oss-layers": ("gpt-oss", {"layer_types": LEFT_OUT}),
    "odd-llama4-experts": (
        "llama4",
        {"num_hidden_layers": 4, "no_rope_layers": LEFT_OUT, "moe_layers": [0, 1]},
    ),
    "odd-llama4-full": ("llama4", {"attention_chunk_size": None}),
    "odd-gpt-oss-full": ("gpt-oss", {"sliding_window": None}),
    "odd-llama-rotary": ("llama", {"partial_rotary_factor": 0.5}),
    "odd-qwen3-moe-rotary": (
        "qwen3-moe",
        {
            "rope_theta": LEFT_OUT,
            "rope_scaling": LEFT_OUT,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "partial_rotary_factor": 0.25,
            },
        },
    ),
    "odd-qwen3-moe-shared": ("qwen3-moe", {"shared_expert_intermediate_size": 840}),
    "odd-mistral-yarn": (
        "mistral",
        {"rope_parameters": LEFT_OUT, "rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
    ),
    "odd-qwen3-kv-heads": ("qwen3", {"num_key_value_heads": None}),
    "odd-queries-llama": ("llama", {"num_attention_heads": 12, "num_key_value_heads": 8}),
    "odd-queries-qwen2": ("qwen2", {"num_attention_heads": 10, "num_key_value_heads": 4}),
    "odd-queries-mixtral": ("mixtral", {"num_attention_heads": 12, "num_key_value_heads": 8}),
}


def odd_models() -> dict[str, Config]:
    """The configs by name."""
    return {name: odd_model(name, family, changes) for name, (family, changes) in CHANGES.items()}


def odd_model(name: str, family: str, changes: Config) -> Config:
    """One config; a head count is given with a hidden size that it divides, as Llama's must."""
    config = FAMILIES[family](Dice(name)) | changes
    if "num_attention_heads" in changes:
        config["hidden_size"] = 64 * changes["num_attention_heads"]
    return {key: value for key, value in config.items() if value is not LEFT_OUT}
