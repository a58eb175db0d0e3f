"""Rules of multimodal models, whose towers are built before their language model."""

from __future__ import annotations

from typing import Final

from vllm_parallel.constraints.constraint import NOT_DIVISIBLE, Constraint, raised_at_load
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import pipeline_bounds


def uneven_units(d: Deployment) -> int | None:
    """Heads or columns of a tower that tp does not divide, None if it divides them all."""
    tp = d.layout.tp
    if tp == 1 or not d.model.towers:
        return None
    from vllm_parallel.tower import Spread  # noqa: PLC0415  # only such models pay for it

    cut = (Spread.TENSOR,) if d.deals_inputs else (Spread.TOWER, Spread.TENSOR)
    for tower in d.towers:
        if tower.heads % tp and Spread.TOWER in cut:
            return tower.heads
        for stack in tower.stacks:
            for matrix in stack.matrices:
                spans = (matrix.into,) if matrix.row else matrix.out
                for span in spans:
                    if matrix.spread in cut and span.count % tp:
                        return span.count
    return None


def starts_too_early(d: Deployment) -> bool:
    """Whether a later stage would begin among the layers that take features from a tower."""
    needed = max((tower.first_layers for tower in d.model.towers), default=0)
    if not needed or d.layout.pp == 1:
        return False
    return pipeline_bounds(d.model.layers, d.layout.pp)[1] < needed


TOWER_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    raised_at_load(
        name="tower-divides-by-tp",
        broken=lambda d: uneven_units(d) is not None,
        says=NOT_DIVISIBLE,
        options=uneven_units,
        fix="use a --tensor-parallel-size that divides the tower, --language-model-only, or where "
        "the model supports it --mm-encoder-tp-mode data",
        source="vllm/distributed/utils.py, divide",
    ),
)

# Once the language model is built.
LATE_TOWER_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    raised_at_load(
        name="stage-after-deepstack",
        broken=starts_too_early,
        says="start_layer should be greater than or equal to len(deepstack_visual_indexes)",
        fix="use fewer pipeline stages: the first has to hold every layer that takes features",
        source="vllm/model_executor/models/qwen3_vl.py, Qwen3VLForConditionalGeneration",
    ),
)
