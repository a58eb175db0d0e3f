"""Rules of speculation, which are tested as its config is read."""

from __future__ import annotations

from typing import Final

from vllm_parallel.constraints.constraint import Constraint, Known, Stage
from vllm_parallel.deployment import MTP_METHODS, Deployment

# Families that vLLM has a draft model for, made of the checkpoint's own last layers.
WITH_MTP: Final = frozenset(
    {
        "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM",
        "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM", "MiMoForCausalLM",
        "Ernie4_5_MoeForCausalLM", "NemotronHForCausalLM", "Qwen3NextForCausalLM",
        "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "ExaoneMoEForCausalLM",
        "ExaoneMoeForCausalLM", "BailingMoeV2ForCausalLM",
    }
)  # fmt: skip


def has_no_mtp(d: Deployment) -> bool:
    """Whether a module is asked for that vLLM knows in no checkpoint of the family."""
    named, method = d.model.architecture, d.settings.speculative_method
    alone = named.endswith("ForCausalLM")  # with towers, it is the text's own type that counts
    return method in MTP_METHODS and alone and named not in WITH_MTP


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
    Constraint(
        name="mtp-of-the-family",
        stage=Stage.CONFIG,
        broken=has_no_mtp,
        says="Unsupported speculative method: 'mtp'",
        fix="use ngram, or drop --speculative-config: {model.name} predicts no second token",
        source="vllm/config/speculative.py, SpeculativeConfig.hf_config_override",
        known=Known.RAISED,
    ),
)
