"""Invented configs of dense families that the Transformers backend builds."""

from __future__ import annotations

from family import BIASED, BOTH, LEFT_OUT, PLAIN_ROPE, TIES, Family

LIBRARY: dict[str, Family] = {
    "phi": Family(
        architecture="PhiForCausalLM",
        model_type="phi",
        keys=TIES
        | {"hidden_act": ("gelu_new", LEFT_OUT), "partial_rotary_factor": (0.4, 0.5, LEFT_OUT)},
        head_dim_given=0.0,
    ),
    "olmo": Family(
        architecture="OlmoForCausalLM",
        model_type="olmo",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0, LEFT_OUT),
        },
        head_dim_given=0.0,
    ),
    "olmo2": Family(
        architecture="Olmo2ForCausalLM",
        model_type="olmo2",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0, LEFT_OUT),
        },
        head_dim_given=0.3,
    ),
    "olmo3": Family(
        architecture="Olmo3ForCausalLM",
        model_type="olmo3",
        keys={
            **TIES,
            **BIASED,
            "rope_scaling": (
                LEFT_OUT,
                {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 1024},
            ),
            "rope_parameters": (LEFT_OUT,),
            "sliding_window": (512, LEFT_OUT),
        },
        head_dim_given=0.3,
    ),
    "glm": Family(
        architecture="GlmForCausalLM",
        model_type="glm",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0,),
            "partial_rotary_factor": (0.5, 0.25, LEFT_OUT),
        },
    ),
    "seed-oss": Family(
        architecture="SeedOssForCausalLM",
        model_type="seed_oss",
        keys={
            **TIES,
            **BIASED,
            "attention_out_bias": BOTH,
            "mlp_bias": BOTH,
        },
    ),
    "smollm3": Family(
        architecture="SmolLM3ForCausalLM",
        model_type="smollm3",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0, LEFT_OUT),
            "mlp_bias": BOTH,
            "use_sliding_window": BOTH,
            "sliding_window": (512, LEFT_OUT),
            "no_rope_layer_interval": (2, 4, LEFT_OUT),
        },
        head_dim_given=0.0,
    ),
    "starcoder2": Family(
        architecture="Starcoder2ForCausalLM",
        model_type="starcoder2",
        keys={
            **TIES,
            "hidden_act": ("gelu_pytorch_tanh", LEFT_OUT),
            "use_bias": BOTH,
            "sliding_window": (512, LEFT_OUT),
        },
        head_dim_given=0.0,
    ),
    "arcee": Family(
        architecture="ArceeForCausalLM",
        model_type="arcee",
        keys={
            **TIES,
            **BIASED,
            "hidden_act": ("relu2", LEFT_OUT),
            "mlp_bias": BOTH,
        },
    ),
    "gpt-neox": Family(
        architecture="GPTNeoXForCausalLM",
        model_type="gpt_neox",
        keys={
            **TIES,
            **BIASED,
            **PLAIN_ROPE,
            "hidden_act": ("gelu", LEFT_OUT),
            "num_key_value_heads": (LEFT_OUT,),
            "rotary_pct": (0.25, 1.0, LEFT_OUT),
        },
        head_dim_given=0.0,
    ),
    "hunyuan": Family(
        architecture="HunYuanDenseV1ForCausalLM",
        model_type="hunyuan_v1_dense",
        keys={
            **TIES,
            **BIASED,
            "rope_scaling": (LEFT_OUT, {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}),
            "rope_parameters": (LEFT_OUT,),
        },
    ),
    "cwm": Family(
        architecture="CwmForCausalLM",
        model_type="cwm",
        keys={
            **TIES,
            "mlp_bias": BOTH,
            "sliding_window": (512, LEFT_OUT),
            "rope_scaling": (LEFT_OUT,),
            "rope_parameters": (LEFT_OUT,),
        },
    ),
}
