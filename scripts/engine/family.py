"""A family of models as a table of keys, from which configs of invented shapes are drawn.

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


def left_out(*keys: str) -> Options:
    """Keys that no config of the family has."""
    return dict.fromkeys(keys, (LEFT_OUT,))


BOTH = (False, True, LEFT_OUT)
SIZED_ELSEWHERE = left_out(  # by families with names of their own
    "num_attention_heads", "num_key_value_heads", "hidden_size", "num_hidden_layers",
    "max_position_embeddings", "intermediate_size", "head_dim",
)  # fmt: skip
TIES: Options = {"tie_word_embeddings": BOTH}
WINDOW: Options = {"sliding_window": (96, 1000, LEFT_OUT, LEFT_OUT)}
BIASED: Options = {"attention_bias": BOTH}
PLAIN_ROPE: Options = {"rope_scaling": (LEFT_OUT,), "rope_parameters": (LEFT_OUT,)}
LONG_FACTORS = (
    LEFT_OUT,
    *(
        {"type": kind, "short_factor": [1.0] * half, "long_factor": [4.0] * half}
        for kind, half in (("longrope", 32), ("su", 32), ("longrope", 48), ("longrope", 96))
    ),
)
MOE: Options = {
    "moe_intermediate_size": EXPERT_WIDTHS,
    "num_experts": EXPERTS,
    "num_experts_per_tok": (1, 2),
}
