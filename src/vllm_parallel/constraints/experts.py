"""Rules of experts that workers meet: counts and widths that the ranks have to divide."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    Test,
    bare_assert,
    divisors,
    load_rule,
)
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import pipeline_bounds

MAX_REDUNDANT_EXPERTS: Final = 1023


def expert_width_uneven(d: Deployment) -> bool:
    """Whether the slices of an expert would not be equal."""
    experts = d.model.experts
    if experts is None or d.layout.expert_parallel:
        return False
    return experts.intermediate % d.layout.expert_width != 0


def stages_without_experts(d: Deployment) -> list[int]:
    """The pipeline stages that hold no MoE layer, where the family wants one on each."""
    if d.model.traits.experts_required is None:
        return []
    moe = {n for n, kind in enumerate(d.model.kinds) if isinstance(kind.mlp, Experts)}
    bounds = pairwise(pipeline_bounds(d.model.layers, d.layout.pp))
    return [n for n, (a, b) in enumerate(bounds) if moe.isdisjoint(d.model.pattern[a:b])]


def on_first_stage(test: Test) -> Test:
    """A test of experts that the first rank makes; without any it stops for want of them."""
    return lambda d: test(d) and 0 not in stages_without_experts(d)


def physical_experts(d: Deployment) -> int:
    """Experts of a layer, redundant ones included."""
    experts = d.model.experts
    return (experts.count if experts else 0) + d.redundant_experts


EXPERT_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    bare_assert(
        name="world-divides-experts",
        broken=lambda d: (
            d.model.traits.world_divides_experts
            and d.model.experts is not None
            and d.model.experts.intermediate % d.layout.ranks != 0
        ),
        says="{layout.ranks} ranks do not divide the expert width of {model.experts.intermediate}.",
        fix="use a number of ranks that divides {model.experts.intermediate}",
        source="vllm/model_executor/models/gpt_oss.py, MLPBlock",
    ),
    load_rule(
        name="experts-at-least-tp",
        broken=on_first_stage(
            lambda d: (
                d.model.traits.experts_at_least_tp
                and d.model.experts is not None
                and d.layout.tp > d.model.experts.count
            )
        ),
        says="Tensor parallel size {layout.tp} is greater than the number of experts "
        "{model.experts.count}.",
        fix="use a --tensor-parallel-size of at most {model.experts.count}",
        source="vllm/model_executor/models/qwen3_moe.py, Qwen3MoeSparseMoeBlock",
        known=Known.RECORDED,
    ),
    load_rule(
        name="redundant-experts-refused",
        broken=lambda d: (
            d.model.traits.refuses_redundant_experts and d.settings.experts.redundant_experts > 0
        ),
        says="Redundant experts are only supported with EPLB.",
        fix="drop num_redundant_experts: the experts of {model.name} are built without EPLB",
        source="vllm/model_executor/layers/fused_moe/layer.py, FusedMoEFactory",
        known=Known.RECORDED,
    ),
    load_rule(
        name="eplb-even-experts",
        broken=on_first_stage(
            lambda d: (
                d.settings.experts.eplb
                and d.model.traits.eplb
                and physical_experts(d) % d.layout.expert_width != 0
            )
        ),
        says="EPLB currently only supports even distribution of experts across ranks. Got "
        "{options} experts and {layout.expert_width} EP ranks.",
        options=physical_experts,
        fix="add redundant experts until {layout.expert_width} divides their number",
        source="vllm/model_executor/layers/fused_moe/layer.py, FusedMoEFactory",
        known=Known.RECORDED,
    ),
    bare_assert(
        name="expert-width-divides",
        broken=on_first_stage(expert_width_uneven),
        says="dp x pcp x tp = {layout.expert_width} does not divide the expert width of "
        "{model.experts.intermediate}.",
        options=lambda d: divisors(d.model.experts.intermediate) if d.model.experts else [],
        fix="add --enable-expert-parallel, or use a product of {options}",
        source="vllm/model_executor/layers/fused_moe/config.py, FusedMoEConfig.__post_init__",
    ),
    load_rule(
        name="stage-without-experts",
        broken=lambda d: bool(stages_without_experts(d)),
        says="{model.traits.experts_required}",
        fix="use fewer pipeline stages, so that each holds a MoE layer",
        source="vllm/model_executor/models/glm4_moe.py, Glm4MoeForCausalLM",
        known=Known.RECORDED,
    ),
)

REDUNDANT_EXPERT_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    bare_assert(
        name="redundant-experts-cap",
        broken=lambda d: d.settings.experts.redundant_experts > MAX_REDUNDANT_EXPERTS,
        says="{settings.experts.redundant_experts} redundant experts are more than "
        f"{MAX_REDUNDANT_EXPERTS}.",
        fix=f"use at most {MAX_REDUNDANT_EXPERTS}",
        source="vllm/distributed/eplb/eplb_state.py, EplbState",
        known=Known.READ,
    ),
)
