"""Model configs of invented shapes of the many families that are a table of keys each.

A key's options are drawn with equal chance; `LEFT_OUT` drops it, so that the class fills it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dice import Dice
from shapes import EXPERT_WIDTHS, EXPERTS, WIDTHS, Config, base_of, grouped_of

LEFT_OUT = object()
Options = dict[str, Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An architecture, its type, and what its configs say."""

    architecture: str
    model_type: str
    keys: Options = field(default_factory=dict)
    head_dim_given: float = 0.6
    rope: bool = True  # False: no scaling drawn

    def config(self, dice: Dice) -> Config:
        """One config."""
        config = base_of(dice, self.architecture, self.model_type)
        if not self.rope:
            config = {
                k: v for k, v in config.items() if k not in ("rope_scaling", "rope_parameters")
            }
        config |= grouped_of(dice, head_dim_given=self.head_dim_given)
        config["intermediate_size"] = dice.pick(WIDTHS)
        config |= {key: dice.pick(options) for key, options in self.keys.items()}
        return {key: value for key, value in config.items() if value is not LEFT_OUT}


BOTH = (False, True, LEFT_OUT)
TIES: Options = {"tie_word_embeddings": BOTH}
WINDOW: Options = {"sliding_window": (96, 1000, LEFT_OUT, LEFT_OUT)}
BIASED: Options = {"attention_bias": BOTH}
MOE: Options = {
    "moe_intermediate_size": EXPERT_WIDTHS,
    "num_experts": EXPERTS,
    "num_experts_per_tok": (1, 2),
}

FAMILIES: dict[str, Family] = {
    "gemma": Family(
        architecture="GemmaForCausalLM",
        model_type="gemma",
        keys=TIES
        | {"hidden_act": (LEFT_OUT, "gelu_pytorch_tanh"), "sliding_window": (LEFT_OUT, 512)},
    ),
    "gemma2": Family(
        architecture="Gemma2ForCausalLM",
        model_type="gemma2",
        keys={**TIES, **WINDOW, **BIASED, "hidden_act": (LEFT_OUT,)},
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
    "phi": Family(
        architecture="PhiForCausalLM",
        model_type="phi",
        keys=TIES
        | {"hidden_act": ("gelu_new", LEFT_OUT), "partial_rotary_factor": (0.4, 0.5, LEFT_OUT)},
        head_dim_given=0.0,
    ),
    "qwen2-moe": Family(
        architecture="Qwen2MoeForCausalLM",
        model_type="qwen2_moe",
        keys={
            **TIES,
            **MOE,
            "num_experts": (*EXPERTS, LEFT_OUT),
            "shared_expert_intermediate_size": (0, 840, 1680, LEFT_OUT),
            "decoder_sparse_step": (1, 1, 2, LEFT_OUT),
            "mlp_only_layers": ([], [0], [1, 2], LEFT_OUT),
            "use_sliding_window": BOTH,
            "sliding_window": (512, LEFT_OUT),
        },
        head_dim_given=0.3,
    ),
}


def made_families(count: int) -> dict[str, Config]:
    """So many configs of each family, by name."""
    return {
        f"{name}-{number:02}": family.config(Dice(f"{name} {number}"))
        for name, family in FAMILIES.items()
        for number in range(count)
    }
