"""Rules that workers meet while mixers are built, and the head of a model that has them."""

from __future__ import annotations

from typing import Final

from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    divisors,
    raised_at_load,
)
from vllm_parallel.deployment import Deployment
from vllm_parallel.extras import Over
from vllm_parallel.mixer import Mamba2

MIXER: Final = "vllm/model_executor/layers/mamba/mamba_mixer2.py, MambaMixer2"


def mamba2(d: Deployment) -> list[Mamba2]:
    """The kinds of Mamba 2 in the model."""
    return [mixer for mixer in d.model.mixers if isinstance(mixer, Mamba2)]


def copies_group(d: Deployment, mixer: Mamba2) -> bool:
    """Whether tp does not divide the groups."""
    return mixer.groups % d.layout.tp != 0


def uneven_widths(d: Deployment) -> list[int]:
    """Widths of mixers that tp cuts and does not divide."""
    widths = [width for mixer in d.model.mixers for width in mixer.tp_widths]
    return [width for width in widths if width % d.layout.tp]


def widths_of_groups(d: Deployment) -> list[int]:
    """Every tp that the groups of the first mixer admit."""
    return divisors(mamba2(d)[0].groups)


def uneven_extras(d: Deployment) -> list[int]:
    """Rows and columns of the family's own tensors that tp cuts and does not divide."""
    held = [extra for kind in d.model.kinds for extra in kind.extras]
    if d.model.ends is not None:
        held += d.model.ends.everywhere
    cut = [
        width
        for extra in held
        for width, over in ((extra.rows, extra.over), (extra.columns, extra.columns_over))
        if over is Over.TENSOR
    ]
    return [width for width in cut if width % d.layout.tp]


MIXER_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    raised_at_load(
        name="mixer-heads-divide-by-tp",
        broken=lambda d: any(mixer.heads % d.layout.tp for mixer in mamba2(d)),
        says="Tensor parallel world size must divide num heads.",
        options=lambda d: divisors(mamba2(d)[0].heads),
        fix="use a --tensor-parallel-size of {options}",
        source=MIXER,
    ),
    raised_at_load(
        name="mixer-groups-divide-by-tp",
        broken=lambda d: any(copies_group(d, m) and m.groups > 1 for m in mamba2(d)),
        says="If tensor parallel world size does not divide num_groups, then num_groups must "
        "equal 1.",
        options=widths_of_groups,
        fix="use a --tensor-parallel-size of {options}",
        source=MIXER,
    ),
    raised_at_load(
        name="mixer-copies-need-bias",
        broken=lambda d: any(copies_group(d, m) and not m.conv_bias for m in mamba2(d)),
        says="'NoneType' object has no attribute 'weight_loader'",
        fix="use --tensor-parallel-size 1: the convolution of {model.name} has no bias, which "
        "vLLM deals out with the copies of the group",
        source=MIXER,
    ),
    raised_at_load(
        name="mixer-divides-by-tp",
        broken=lambda d: bool(uneven_widths(d)),
        says="tp={layout.tp} does not divide the mixer width of {options}.",
        options=lambda d: uneven_widths(d)[0],
        fix="use a --tensor-parallel-size that divides {options}",
        source="vllm/model_executor/layers/linear.py, ColumnParallelLinear",
        bare=True,
    ),
    raised_at_load(
        name="own-tensors-divide-by-tp",
        broken=lambda d: bool(uneven_extras(d)),
        says="tp={layout.tp} does not divide a width of {options}.",
        options=lambda d: uneven_extras(d)[0],
        fix="use a --tensor-parallel-size that divides {options}",
        source="vllm/model_executor/layers/linear.py, ColumnParallelLinear",
        bare=True,
        known=Known.RECORDED,
    ),
    raised_at_load(
        name="tied-head-without-embedding",
        broken=lambda d: (
            d.layout.pp > 1 and d.model.tied and d.model.traits.tied_head_wants is not None
        ),
        says="'PPMissingLayer' object has no attribute '{model.traits.tied_head_wants}'",
        fix="use --pipeline-parallel-size 1: no stage has both the embedding and the tied head",
        source="vllm/model_executor/models/falcon_h1.py, FalconH1ForCausalLM",
        known=Known.RECORDED,
    ),
)
