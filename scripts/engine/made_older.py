"""Invented configs of older families, and of some whose class comes with the model."""

from __future__ import annotations

from family import BIASED, BOTH, LEFT_OUT, PLAIN_ROPE, SIZED_ELSEWHERE, TIES, Family, left_out
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
            **SIZED_ELSEWHERE,
            **left_out("hidden_act", "model_max_length"),
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
            **left_out("num_key_value_heads", "intermediate_size", "hidden_act"),
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
            **left_out("num_key_value_heads", "head_dim", "intermediate_size"),
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
    "gptj": Family(
        architecture="GPTJForCausalLM",
        model_type="gptj",
        keys={
            **TIES,
            **PLAIN_ROPE,
            "rope_theta": (LEFT_OUT,),
            "n_embd": (512, 768),
            "n_layer": (3, 5),
            "n_head": (4, 8),
            "n_positions": (1024, 3000, LEFT_OUT),
            "n_inner": (960, None, LEFT_OUT),
            "rotary_dim": (32, LEFT_OUT),
            **SIZED_ELSEWHERE,
            **left_out("hidden_act", "model_max_length"),
        },
    ),
    "minicpm": Family(
        architecture="MiniCPMForCausalLM",
        model_type="llama",
        keys={
            "tie_word_embeddings": (False, True),
            "scale_emb": (1,),
            "scale_depth": (1.0,),
            "dim_model_base": (256,),
        },
        head_dim_given=0.2,
    ),
    "hyperclova": Family(
        architecture="HyperCLOVAXForCausalLM",
        model_type="llama",
        keys={
            **TIES,
            "head_dim": (64, 128),
            "attention_bias": (False, True),
            "mlp_bias": (False, True),
            "use_post_norm": (False, True),
            "residual_multiplier": (1.0,),
            "embedding_multiplier": (1.0,),
            "attention_multiplier": (1.0,),
        },
    ),
    "chatglm": Family(
        architecture="ChatGLMModel",
        model_type="chatglm",
        keys={
            **TIES,
            **PLAIN_ROPE,
            "num_layers": (3, 5, 7),
            "padded_vocab_size": (1000, 65024, LEFT_OUT),
            "ffn_hidden_size": WIDTHS,
            "hidden_size": (512, 1024),
            "num_attention_heads": (8, 16),
            "seq_length": (2048, 8192, LEFT_OUT),
            "multi_query_attention": (False, True, True, LEFT_OUT),
            "multi_query_group_num": (2, 4),
            "add_bias_linear": BOTH,
            "add_qkv_bias": BOTH,
            "rmsnorm": BOTH,
            "post_layer_norm": BOTH,
            "original_rope": (True,),
            **left_out(
                "num_key_value_heads",
                "num_hidden_layers",
                "max_position_embeddings",
                "intermediate_size",
                "head_dim",
                "vocab_size",
                "model_max_length",
            ),
        },
    ),
}
