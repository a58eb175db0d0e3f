"""Invented configs of dense families that vLLM builds with layers of its own."""

from __future__ import annotations

from family import BIASED, BOTH, LEFT_OUT, LONG_FACTORS, PLAIN_ROPE, TIES, WINDOW, Family

DENSE: dict[str, Family] = {
    "gemma": Family(
        architecture="GemmaForCausalLM",
        model_type="gemma",
        keys=TIES
        | {"hidden_act": (LEFT_OUT, "gelu_pytorch_tanh"), "sliding_window": (LEFT_OUT, 512)},
    ),
    "gemma2": Family(
        architecture="Gemma2ForCausalLM",
        model_type="gemma2",
        keys={
            **TIES,
            **WINDOW,
            **BIASED,
            "hidden_act": (LEFT_OUT,),
        },
    ),
    "gemma3": Family(
        architecture="Gemma3ForCausalLM",
        model_type="gemma3_text",
        keys={
            **TIES,
            **WINDOW,
            **BIASED,
            "hidden_act": (LEFT_OUT,),
            "rope_scaling": (LEFT_OUT, {"rope_type": "linear", "factor": 8.0}),
            "rope_parameters": (LEFT_OUT,),
            "rope_local_base_freq": (LEFT_OUT, 10000.0, 500000.0),
            "sliding_window_pattern": (LEFT_OUT, 2, 3),
            "use_bidirectional_attention": (LEFT_OUT, LEFT_OUT, False),
        },
    ),
    "phi3": Family(
        architecture="Phi3ForCausalLM",
        model_type="phi3",
        keys={
            **TIES,
            **BIASED,
            **PLAIN_ROPE,
            "pad_token_id": (0,),
            "rope_scaling": LONG_FACTORS,
            "num_attention_heads": (4, 8, 12),
            "num_key_value_heads": (2, 4, LEFT_OUT),
            "hidden_size": (768,),
            "head_dim": (LEFT_OUT,),
            "original_max_position_embeddings": (2048, 4096, LEFT_OUT),
            "sliding_window": (LEFT_OUT, 1000, 2047),
        },
    ),
    "ernie": Family(
        architecture="Ernie4_5ForCausalLM",
        model_type="ernie4_5",
        keys={
            **TIES,
            "use_bias": BOTH,
        },
    ),
    "ministral3": Family(
        architecture="Ministral3ForCausalLM",
        model_type="ministral3",
        keys={
            **TIES,
            "sliding_window": (LEFT_OUT, 512),
            "rope_scaling": (LEFT_OUT,),
            "rope_parameters": (LEFT_OUT, LEFT_OUT, {"rope_type": "default", "rope_theta": 5000.0}),
            "max_position_embeddings": (8192, LEFT_OUT),
        },
    ),
    "glm4": Family(
        architecture="Glm4ForCausalLM",
        model_type="glm4",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0,),
            "partial_rotary_factor": (0.5, 0.25, LEFT_OUT),
        },
    ),
    "nemotron": Family(
        architecture="NemotronForCausalLM",
        model_type="nemotron",
        keys={
            **TIES,
            **BIASED,
            "hidden_act": ("relu2", LEFT_OUT),
            "mlp_bias": BOTH,
            "partial_rotary_factor": (0.5, LEFT_OUT),
        },
    ),
    "apertus": Family(
        architecture="ApertusForCausalLM",
        model_type="apertus",
        keys={
            **TIES,
            **BIASED,
            "pad_token_id": (0,),
            "hidden_act": ("xielu", LEFT_OUT),
            "mlp_bias": BOTH,
            "rope_scaling": (LEFT_OUT,),
            "rope_parameters": (LEFT_OUT,),
        },
    ),
    "stablelm": Family(
        architecture="StableLmForCausalLM",
        model_type="stablelm",
        keys={
            **TIES,
            "use_qkv_bias": BOTH,
            "partial_rotary_factor": (0.25, 0.5, LEFT_OUT),
        },
        head_dim_given=0.2,
    ),
    "granite": Family(
        architecture="GraniteForCausalLM",
        model_type="granite",
        keys={
            **TIES,
            **BIASED,
            "mlp_bias": BOTH,
        },
    ),
    "granite-swa": Family(
        architecture="GraniteSWAForCausalLM",
        model_type="granite_swa",
        keys={
            **TIES,
            **BIASED,
            "sliding_window": (64, 512, LEFT_OUT),
            "num_hidden_layers": (8,),
            "rope_scaling": (LEFT_OUT,),
            "rope_parameters": (LEFT_OUT,),
            "layer_rope_theta": (LEFT_OUT, [10000.0, 0.0] * 4, [10000.0, 500000.0] * 4),
        },
    ),
    "cohere": Family(
        architecture="CohereForCausalLM",
        model_type="cohere",
        keys={
            **TIES,
            "use_qk_norm": BOTH,
        },
        head_dim_given=0.0,
    ),
    "cohere2": Family(
        architecture="Cohere2ForCausalLM",
        model_type="cohere2",
        keys={
            **TIES,
            "use_qk_norm": BOTH,
            "sliding_window": (512, 1000, LEFT_OUT),
            "sliding_window_pattern": (LEFT_OUT, 2, 3),
        },
        head_dim_given=0.2,
    ),
    "exaone4": Family(
        architecture="Exaone4ForCausalLM",
        model_type="exaone4",
        keys={
            **TIES,
            **BIASED,
            "mlp_bias": BOTH,
            "sliding_window": (512, LEFT_OUT),
            "sliding_window_pattern": (LEFT_OUT, 2, 3),
        },
    ),
    "mimo": Family(
        architecture="MiMoForCausalLM",
        model_type="qwen2",
        keys={
            **TIES,
        },
        head_dim_given=0.2,
    ),
}
