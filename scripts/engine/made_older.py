"""Invented configs of older families, and of some whose class comes with the model."""

from __future__ import annotations

from family import BIASED, BOTH, LEFT_OUT, PLAIN_ROPE, TIES, Family
from shapes import WIDTHS

OLDER: dict[str, Family] = {
    "gpt2": Family(
        architecture="GPT2LMHeadModel",
        model_type="gpt2",
        keys={
            **TIES,
            **PLAIN_ROPE,
            "rope_theta": (LEFT_OUT,),
            "n_embd": (512, 768, LEFT_OUT),
            "n_layer": (3, 5, LEFT_OUT),
            "n_head": (4, 8),
            "n_positions": (1024, 3000, LEFT_OUT),
            "n_inner": (960, None, LEFT_OUT),
            "num_attention_heads": (LEFT_OUT,),
            "num_key_value_heads": (LEFT_OUT,),
            "hidden_size": (LEFT_OUT,),
            "num_hidden_layers": (LEFT_OUT,),
            "max_position_embeddings": (LEFT_OUT,),
            "intermediate_size": (LEFT_OUT,),
            "head_dim": (LEFT_OUT,),
            "hidden_act": (LEFT_OUT,),
            "model_max_length": (LEFT_OUT,),
        },
    ),
    "opt": Family(
        architecture="OPTForCausalLM",
        model_type="opt",
        keys={
            **TIES,
            **PLAIN_ROPE,
            "rope_theta": (LEFT_OUT,),
            "ffn_dim": WIDTHS,
            "enable_bias": BOTH,
            "layer_norm_elementwise_affine": BOTH,
            "do_layer_norm_before": BOTH,
            "num_key_value_heads": (LEFT_OUT,),
            "intermediate_size": (LEFT_OUT,),
            "hidden_act": (LEFT_OUT,),
        },
        head_dim_given=0.0,
    ),
    "falcon": Family(
        architecture="FalconForCausalLM",
        model_type="falcon",
        keys={
            **TIES,
            "new_decoder_architecture": BOTH,
            "multi_query": BOTH,
            "parallel_attn": BOTH,
            "bias": BOTH,
            "alibi": BOTH,
            "num_kv_heads": (2, 4, LEFT_OUT),
            "num_attention_heads": (8, 16),
            "hidden_size": (512, 1024),
            "num_key_value_heads": (LEFT_OUT,),
            "head_dim": (LEFT_OUT,),
            "intermediate_size": (LEFT_OUT,),
        },
    ),
    "exaone": Family(
        architecture="ExaoneForCausalLM",
        model_type="llama",
        keys={
            **TIES,
            **BIASED,
            "mlp_bias": BOTH,
            "activation_function": ("silu",),
            "layer_norm_epsilon": (1e-05,),
            "sliding_window": (LEFT_OUT, 512),
        },
    ),
    "solar": Family(
        architecture="SolarForCausalLM",
        model_type="llama",
        keys={
            **TIES,
            **BIASED,
            "mlp_bias": BOTH,
        },
    ),
    "internlm2": Family(
        architecture="InternLM2ForCausalLM",
        model_type="llama",
        keys={
            **TIES,
        },
        head_dim_given=0.2,
    ),
    "internlm3": Family(
        architecture="InternLM3ForCausalLM",
        model_type="llama",
        keys={
            **TIES,
            "bias": BOTH,
            "qkv_bias": BOTH,
        },
    ),
    "orion": Family(
        architecture="OrionForCausalLM",
        model_type="llama",
        keys={
            **TIES,
        },
        head_dim_given=0.2,
    ),
    "decilm": Family(
        architecture="DeciLMForCausalLM",
        model_type="nemotron-nas",
        keys={
            **TIES,
            **BIASED,
            "num_hidden_layers": (4,),
            "num_attention_heads": (8, 16),
            "hidden_size": (512, 768),
            "num_key_value_heads": (LEFT_OUT,),
            "head_dim": (LEFT_OUT,),
            "block_configs": (
                [
                    {
                        "attention": {"no_op": False, "n_heads_in_group": 2},
                        "ffn": {"no_op": False, "ffn_mult": 2.625},
                    },
                    {"attention": {"no_op": True}, "ffn": {"no_op": False, "ffn_mult": 1.0}},
                    {"attention": {"no_op": False, "n_heads_in_group": 2}, "ffn": {"no_op": True}},
                    {
                        "attention": {"no_op": False, "n_heads_in_group": 2},
                        "ffn": {"no_op": False, "ffn_mult": 5.25},
                    },
                ],
            ),
        },
    ),
}
