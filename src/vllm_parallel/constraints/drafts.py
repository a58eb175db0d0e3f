"""Rules of speculation, which are tested as its config is read."""

from __future__ import annotations

from typing import Final

from vllm_parallel.constraints.constraint import Constraint, Known, Stage
from vllm_parallel.deployment import MTP_METHODS, Deployment

DRAFT_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    Constraint(
        name="mtp-tokens-given",
        stage=Stage.CONFIG,
        broken=lambda d: (
            d.settings.speculative_method in MTP_METHODS and d.settings.speculative_tokens is None
        ),
        says="num_speculative_tokens must be provided with speculative model unless the draft "
        "model config contains an n_predict parameter.",
        fix="add num_speculative_tokens to --speculative-config",
        source="vllm/config/speculative.py, SpeculativeConfig.__post_init__",
        known=Known.RAISED,
    ),
)
