"""Small configs of models whose layers hold caches of several kinds, or none of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dice import Dice
from even_models import EVEN, EXPERT_WIDTHS, EXPERTS, even_base, latent
from shapes import Config

WINDOWS = (128, 512, 1000, 2048, 4096)


def typed(config: Config, *types: str) -> Config:
    """The config with layers of these types in turn."""
    layers = config["num_hidden_layers"]
    return config | {"layer_types": [types[n % len(types)] for n in range(layers)]}


def longer(dice: Dice, config: Config, layers: Sequence[int] = (6, 8, 9, 12, 13)) -> Config:
    """The config with enough layers for its pattern to repeat, some cut short."""
    return config | {"num_hidden_layers": dice.pick(layers)}


def windowed(name: str) -> Callable[[Dice], Config]:
    """A family of `even_models` with every layer windowed."""

    def made(dice: Dice) -> Config:
        return EVEN[name](dice) | {"sliding_window": dice.pick(WINDOWS)}

    return made


def qwen2_windows(dice: Dice) -> Config:
    """Qwen2, its upper or all layers windowed."""
    config = longer(dice, EVEN["qwen2"](dice))
    above = dice.pick((0, config["num_hidden_layers"] // 2))
    window = {"use_sliding_window": True, "sliding_window": dice.pick(WINDOWS)}
    return config | window | {"max_window_layers": above}


def gpt_oss_long(dice: Dice) -> Config:
    """gpt-oss with as many windowed layers as full ones, or twice as many."""
    config = longer(dice, EVEN["gpt-oss"](dice)) | {"sliding_window": dice.pick((128, 1000))}
    full = dice.pick((1, 2))
    return typed(config, *["sliding_attention"] * full, "full_attention")


def llama4_long(dice: Dice) -> Config:
    """Llama 4 with three local layers for a full one."""
    config = longer(dice, EVEN["llama4"](dice))
    layers = config["num_hidden_layers"]
    return config | {"no_rope_layers": [int((n + 1) % 4 != 0) for n in range(layers)]}


def gemma2(dice: Dice) -> Config:
    """Gemma 2: every second layer windowed."""
    return longer(dice, even_base(dice, "Gemma2ForCausalLM", "gemma2")) | {
        "tie_word_embeddings": True,
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": dice.pick(WINDOWS),
        "query_pre_attn_scalar": 128,
        "final_logit_softcapping": 30.0,
        "attn_logit_softcapping": 50.0,
    }


def gemma3(dice: Dice) -> Config:
    """Gemma 3, its text part: five or three windowed layers for a full one."""
    return longer(dice, even_base(dice, "Gemma3ForCausalLM", "gemma3_text")) | {
        "tie_word_embeddings": True,
        "hidden_activation": "gelu_pytorch_tanh",
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "sliding_window": dice.pick(WINDOWS),
        "sliding_window_pattern": dice.pick((4, 6)),
        "query_pre_attn_scalar": 128,
    }


def gemma4(dice: Dice) -> Config:
    """Gemma 4, its text part: wide full layers, and upper layers that share the caches below."""
    config = longer(dice, even_base(dice, "Gemma4ForCausalLM", "gemma4_text"), (10, 12, 15, 20))
    layers = config["num_hidden_layers"]
    config |= {
        "num_attention_heads": 8,
        "num_key_value_heads": dice.pick((1, 2, 4)),
        "head_dim": 256,
        "global_head_dim": 512,
        "tie_word_embeddings": True,
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": dice.pick((512, 1024)),
        "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": config["vocab_size"],
        "num_kv_shared_layers": dice.pick((0, layers // 3, layers // 2)),
        "attention_k_eq_v": False,
        "enable_moe_block": False,
        "use_double_wide_mlp": dice.chance(0.3),
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.25,
                "rope_theta": 1000000.0,
            },
        },
    }
    del config["rope_theta"]
    return typed(config, *["sliding_attention"] * 4, "full_attention")


def olmo3(dice: Dice) -> Config:
    """OLMo 3: three windowed layers for a full one."""
    config = longer(dice, even_base(dice, "Olmo3ForCausalLM", "olmo3"))
    config |= {"head_dim": config["hidden_size"] // 16, "sliding_window": dice.pick(WINDOWS)}
    return typed(config, *["sliding_attention"] * 3, "full_attention")


def exaone4(dice: Dice) -> Config:
    """EXAONE 4: three windowed layers for a full one."""
    config = longer(dice, even_base(dice, "Exaone4ForCausalLM", "exaone4"))
    config |= {"sliding_window": dice.pick(WINDOWS), "sliding_window_pattern": 4}
    return typed(config, *["sliding_attention"] * 3, "full_attention")


def sparse(architecture: str, kind: str) -> Callable[[Dice], Config]:
    """DeepSeek-V3.2 and its like: every layer has a cache of its indexer besides."""

    def made(dice: Dice) -> Config:
        return latent(dice, architecture, kind) | {
            "scoring_func": "sigmoid",
            "topk_method": "noaux_tc",
            "index_head_dim": 128,
            "index_n_heads": dice.pick((32, 64)),
            "index_topk": 2048,
        }

    return made


def jamba(dice: Dice) -> Config:
    """Jamba: Mamba layers, attention on every eighth or fourth, experts on every second."""
    config = longer(dice, even_base(dice, "JambaForCausalLM", "jamba"), (8, 12, 16))
    period = dice.pick((4, 8))
    config |= {
        "head_dim": config["hidden_size"] // 16,
        "attn_layer_period": period,
        "attn_layer_offset": period // 2,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "num_experts": dice.pick((4, 8)),
        "num_experts_per_tok": 2,
        "mamba_d_state": 16,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_dt_rank": config["hidden_size"] // 16,
        "mamba_conv_bias": True,
        "mamba_proj_bias": False,
        "use_mamba_kernels": True,
    }
    return config


def mamba2(dice: Dice, width: int) -> Config:
    """The keys of Mamba 2 layers so wide, as Falcon H1 and Granite have them."""
    head = dice.pick((32, 64))
    return {
        "mamba_d_head": head,
        "mamba_n_heads": width // head,
        "mamba_n_groups": dice.pick((1, 1, 2, 8)),
        "mamba_d_state": dice.pick((64, 128, 256)),
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_chunk_size": 256,
        "mamba_conv_bias": True,
        "mamba_proj_bias": False,
    }


def falcon_h1(dice: Dice) -> Config:
    """Falcon H1: attention and Mamba 2 side by side in every layer."""
    config = longer(dice, even_base(dice, "FalconH1ForCausalLM", "falcon_h1"), (4, 5, 6))
    return config | {
        "mamba_d_ssm": 2048,
        **mamba2(dice, 2048),
        "mamba_norm_before_gate": dice.chance(0.5),
        "mamba_rms_norm": dice.chance(0.5),
    }


def granite_hybrid(dice: Dice) -> Config:
    """Granite 4: Mamba 2 layers, an attention layer among six, experts or a shared MLP alone."""
    config = longer(dice, even_base(dice, "GraniteMoeHybridForCausalLM", "granitemoehybrid"))
    config |= {
        "intermediate_size": dice.pick(EXPERT_WIDTHS),
        "shared_intermediate_size": dice.pick((1024, 2048)),
        "num_local_experts": dice.pick((0, 8, 16)),
        "num_experts_per_tok": 4,
        "head_dim": config["hidden_size"] // 16,
        "position_embedding_type": dice.pick(("rope", "nope")),
        **mamba2(dice, 2 * config["hidden_size"]),
    }
    return typed(config, *["mamba"] * 3, "attention", *["mamba"] * 2)


def linear(dice: Dice) -> Config:
    """The keys of gated delta layers."""
    heads = dice.pick((8, 16))
    return {
        "linear_num_key_heads": heads,
        "linear_num_value_heads": heads * dice.pick((1, 2)),
        "linear_key_head_dim": dice.pick((64, 128)),
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    }


def qwen3_next(dice: Dice) -> Config:
    """Qwen3-Next: three gated delta layers for a gated full one, experts in every layer."""
    config = longer(dice, even_base(dice, "Qwen3NextForCausalLM", "qwen3_next"), (4, 6, 8))
    config |= linear(dice) | {
        "head_dim": dice.pick((128, 256)),
        "partial_rotary_factor": 0.25,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "shared_expert_intermediate_size": dice.pick(EXPERT_WIDTHS),
        "num_experts": dice.pick(EXPERTS),
        "num_experts_per_tok": 4,
        "norm_topk_prob": True,
        "mlp_only_layers": [],
    }
    return typed(config, *["linear_attention"] * 3, "full_attention")


def olmo_hybrid(dice: Dice) -> Config:
    """OLMo Hybrid: three gated delta layers for a full one."""
    config = longer(dice, even_base(dice, "OlmoHybridForCausalLM", "olmo_hybrid"), (4, 6, 8))
    heads = config["num_attention_heads"]
    config |= linear(dice) | {
        "head_dim": config["hidden_size"] // heads,
        "linear_num_key_heads": heads,
        "linear_num_value_heads": heads,
        "linear_allow_neg_eigval": True,
    }
    return typed(config, *["linear_attention"] * 3, "full_attention")


HYBRIDS: dict[str, Callable[[Dice], Config]] = {
    "mistral-windows": windowed("mistral"),
    "phi3-windows": windowed("phi3"),
    "mixtral-windows": windowed("mixtral"),
    "qwen2-windows": qwen2_windows,
    "gpt-oss-long": gpt_oss_long,
    "llama4-long": llama4_long,
    "gemma2": gemma2,
    "gemma3": gemma3,
    "gemma4": gemma4,
    "olmo3": olmo3,
    "exaone4": exaone4,
    "deepseek-v32": sparse("DeepseekV32ForCausalLM", "deepseek_v32"),
    "glm-dsa": sparse("GlmMoeDsaForCausalLM", "glm_moe_dsa"),
    "jamba": jamba,
    "falcon-h1": falcon_h1,
    "granite-hybrid": granite_hybrid,
    "qwen3-next": qwen3_next,
    "olmo-hybrid": olmo_hybrid,
}
