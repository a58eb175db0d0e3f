"""Parts of invented model configs: small, and odd where real models are even."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dice import Dice

Config = dict[str, Any]

HEADS = (4, 5, 6, 7, 8, 12, 12, 14, 16, 16, 20, 24, 28, 30, 32, 32, 40, 48, 56, 60, 64, 96)
HEAD_DIMS = (64, 64, 80, 96, 112, 128, 128, 256)
LAYERS = (2, 3, 4, 5, 5, 6, 7, 7, 8, 9, 11, 11, 13, 13, 17, 19, 23)
WIDTHS = (960, 1000, 1680, 1920, 2520, 2816, 3072, 3360, 3584, 5040, 5632, 6720, 8192, 11008)
EXPERT_WIDTHS = (96, 192, 360, 384, 420, 504, 512, 704, 720, 840, 1008, 1408, 1680)
EXPERTS = (2, 3, 4, 5, 6, 7, 8, 8, 10, 12, 15, 16, 16, 20, 24, 31, 32, 60, 64)
VOCABULARIES = (1000, 4096, 12345, 32000, 32003, 49157, 50257, 100277, 128256, 151665)
SMOOTH_VOCABULARIES = (6720, 20160, 20111, 40320, 53760, 53701, 129024, 129000)  # padded: × 3 5 7
LENGTHS = (2048, 4096, 4096, 5000, 8192, 8192, 16384, 32768, 40960, 131072)


def divisors(number: int) -> list[int]:
    """Every whole number that divides this one."""
    return [width for width in range(1, number + 1) if number % width == 0]


def rope_of(dice: Dice, positions: int) -> Config:
    """The keys of a rotary setting, in old and new spellings; half of the models have none."""
    theta = dice.pick((10000.0, 500000.0, 1000000.0))
    scaled: tuple[Config, ...] = (
        {"rope_type": "linear", "factor": dice.pick((2.0, 4.0, 2.5))},
        {"type": "linear", "factor": dice.pick((1.5, 8.0))},
        {
            "rope_type": "yarn",
            "factor": dice.pick((2.0, 4.0, 1.5)),
            "original_max_position_embeddings": dice.pick((positions // 4, positions // 2, 4096)),
        },
        {
            "rope_type": "llama3",
            "factor": dice.pick((8.0, 32.0)),
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": max(positions // 8, 512),
        },
    )
    kind = dice.pick(("none", "none", "none", "old", "old", "new"))
    if kind == "none":
        return {"rope_theta": theta} | dice.pick(({}, {"rope_scaling": None}))
    if kind == "old":
        return {"rope_theta": theta, "rope_scaling": dice.pick(scaled)}
    plain: Config = {"rope_type": "default"}
    chosen = dice.pick((plain, *(each for each in scaled if "rope_type" in each)))
    return {"rope_parameters": chosen | {"rope_theta": theta}}


def yarn_of(dice: Dice, positions: int) -> Config:
    """No scaling or complete yarn: DeepSeek and gpt-oss die of any other kind."""
    if dice.chance(0.4):
        return {"rope_theta": 10000.0}
    yarn = {
        "factor": dice.pick((2.0, 4.0, 1.5, 40.0)),
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "original_max_position_embeddings": dice.pick((positions // 4, positions // 2, 4096)),
    }
    name = dice.pick(("type", "rope_type"))
    return {"rope_theta": 10000.0, "rope_scaling": {name: "yarn"} | yarn}


def base_of(
    dice: Dice, architecture: str, kind: str, rope: Callable[[Dice, int], Config] = rope_of
) -> Config:
    """The keys that every family has."""
    positions = dice.pick(LENGTHS)
    config = {
        "architectures": [architecture],
        "model_type": kind,
        "num_hidden_layers": dice.pick(LAYERS),
        "vocab_size": dice.pick(dice.pick((VOCABULARIES, SMOOTH_VOCABULARIES))),
        "max_position_embeddings": positions,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-05,
        "tie_word_embeddings": dice.chance(0.3),
        "torch_dtype": "bfloat16",
    }
    if dice.chance(0.1):
        config["model_max_length"] = dice.pick((positions // 2, positions * 2))
    return config | rope(dice, positions)


def grouped_of(dice: Dice, *, head_dim_given: float = 0.6) -> Config:
    """Heads of grouped-query attention: MHA, GQA or MQA, the head's width perhaps left out."""
    heads, dim = dice.pick(HEADS), dice.pick(HEAD_DIMS)
    kv_heads = dice.pick([*divisors(heads), 1, heads])
    config = {"num_attention_heads": heads, "num_key_value_heads": kv_heads}
    if dice.chance(head_dim_given):
        hidden = heads * dice.pick((16, 32, 48, 64))
        return config | {"head_dim": dim, "hidden_size": hidden}
    return config | {"hidden_size": heads * dim}


def windows_of(dice: Dice, config: Config) -> Config:
    """Qwen's keys of sliding windows: none, turned off, or on for no, all or the upper layers."""
    layers = config["num_hidden_layers"]
    on = {"sliding_window": dice.pick((512, 1000, 2048)), "use_sliding_window": True}
    return dice.pick(
        (
            {},
            {},
            {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": layers},
            on | {"max_window_layers": layers},
            on | {"max_window_layers": 0},
            on | {"max_window_layers": layers // 2},
        )
    )


def latent_of(dice: Dice) -> Config:
    """Heads of latent attention, with and without a query rank."""
    heads = dice.pick(HEADS)
    return {
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "hidden_size": heads * dice.pick((32, 48, 64)),
        "q_lora_rank": dice.pick((None, None, 96, 256, 384, 1000)),
        "kv_lora_rank": dice.pick((64, 192, 256, 512, 512)),
        "qk_nope_head_dim": dice.pick((32, 64, 96, 128, 128, 192)),
        "qk_rope_head_dim": dice.pick((16, 32, 64, 64)),
        "v_head_dim": dice.pick((32, 64, 96, 128, 128, 256)),
    }
