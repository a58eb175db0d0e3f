"""Shapes that quantised layers do not take: widths that cut a block, a group or a packed word."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from vllm_parallel.constraints.kernels import HOPPER, MARLIN_GROUPS, WORD, Machine, Shape, kernels
from vllm_parallel.cuts import cut_of
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import UnevenSplitError
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layers.experts import LEAST_BLOCK, Routed, halved_group, refined_block
from vllm_parallel.layers.quantised import Linear
from vllm_parallel.model import ModelConfig
from vllm_parallel.ranks import Rank
from vllm_parallel.scheme import Kind
from vllm_parallel.weight import Cut, Layer, Split

W4A8_TILE: Final = 128
MARLIN_HIDDEN: Final = 128
MXFP8_COLUMNS: Final = 32
AWQ_ROWS: Final = 8
MULTIPLES: Final = {  # which rule wants the columns of a layer to be a multiple of what
    Kind.NVFP4: ("nvfp4-columns", 16),
    Kind.MXFP8: ("mxfp8-columns", MXFP8_COLUMNS),
    Kind.BLOCK_WEIGHT_ONLY: ("modelopt-block-columns", 128),
}


class Misfit(NamedTuple):
    """A layer whose shape its method does not take: in which way, and the two numbers."""

    rule: str
    name: str
    amount: int
    by: int


def first_misfit(d: Deployment) -> Misfit | None:
    """The first layer that vLLM refuses to build on the first rank."""
    gpu = d.cluster.gpu
    known = gpu is not None and gpu.architecture.isdigit()
    machine = Machine(
        capability=int(gpu.architecture) if gpu is not None and known else HOPPER,
        dtype=d.model.dtype,
    )
    return _first(d.model, cut_of(d, Rank.of(d.layout, 0)), machine)


@lru_cache(maxsize=1024)
def _first(model: ModelConfig, cut: Cut, machine: Machine) -> Misfit | None:
    graph = ModelGraph.of(model)
    layers = [
        (f"model.layers.{model.pattern.index(kind)}.", layer)
        for kind, layer in enumerate(graph.kinds)
    ]
    try:
        for prefix, layer in (*layers, ("", graph.head)):
            for owner in owners(layer):
                found = (
                    of_linear(owner, cut, machine)
                    if isinstance(owner, Linear)
                    else of_experts(owner, cut)
                )
                if found is not None:
                    return found._replace(name=f"{prefix}{found.name}")
    except UnevenSplitError:  # another rule's matter
        return None
    return None


def unbalanced(d: Deployment) -> str:
    """The class of the model's quantised experts if EPLB does not know it, else empty."""
    for layer in ModelGraph.of(d.model).kinds:
        for owner in owners(layer):
            if isinstance(owner, Routed) and owner.scheme.unbalanced:
                return owner.scheme.unbalanced
    return ""


def owners(layer: Layer) -> list[Linear | Routed]:
    """The quantised layers of a block, in the order in which they are built."""
    pieces = (
        getattr(piece, "layer", None)
        for weight in layer.weights
        for dimension in weight.dimensions
        for piece in dimension
    )
    found = dict.fromkeys(owner for owner in pieces if isinstance(owner, Linear | Routed))
    return sorted(found, key=lambda owner: isinstance(owner, Routed))  # after shared experts


def of_linear(linear: Linear, cut: Cut, machine: Machine) -> Misfit | None:
    """What is wrong with a linear layer on a rank."""
    shape, kind = Shape.of(linear, cut), linear.scheme.kind
    if kind in MULTIPLES:
        return _multiple(MULTIPLES[kind], linear, shape.columns)
    if kind is Kind.FP8_BLOCK:
        return _fp8_block(linear, shape, cut)
    if kind is Kind.AWQ:
        return _awq(linear, shape)
    return _integers(linear, shape, machine)


def _multiple(of: tuple[str, int], linear: Linear, amount: int) -> Misfit | None:
    rule, by = of
    return Misfit(rule, linear.name, amount, by) if amount % by else None


def _fp8_block(linear: Linear, shape: Shape, cut: Cut) -> Misfit | None:
    """A rank's columns, and the rows of each fused layer, have to be whole blocks.

    Source: vllm/model_executor/layers/quantization/utils/fp8_utils.py,
    validate_fp8_block_shape (v0.32.0)
    """
    by_rows, by_columns = linear.scheme.block
    fused = len(shape.outputs) > 1
    if linear.scheme.lenient and fused and any(rows % by_rows for rows in shape.outputs):
        return None
    shared = cut.tp > 1 and shape.all_columns // shape.columns == cut.tp
    if shared and shape.columns % by_columns:
        return Misfit("fp8-block-columns", linear.name, shape.columns, by_columns)
    split = cut.tp > 1 and any(
        part.split is not Split.COPY and cut.width(part.split) == cut.tp for part in linear.rows
    )
    checked = shape.outputs if split else shape.outputs[:-1]
    uneven = next((rows for rows in checked if rows % by_rows), None)
    return None if uneven is None else Misfit("fp8-block-rows", linear.name, uneven, by_rows)


def _awq(linear: Linear, shape: Shape) -> Misfit | None:
    """Marlin's layout, or AutoAWQ's own where Marlin does not know the numbers.

    Source: vllm/model_executor/layers/quantization/auto_awq.py, get_quant_method (v0.32.0)
    """
    scheme = linear.scheme
    if scheme.zero_points and scheme.group in MARLIN_GROUPS and not shape.cuts_group(scheme.group):
        return None
    group = shape.all_columns if scheme.group < 0 else scheme.group
    if shape.columns % group:
        return Misfit("awq-columns", linear.name, shape.columns, group)
    return _multiple(("awq-rows", AWQ_ROWS), linear, shape.rows)


def _integers(linear: Linear, shape: Shape, machine: Machine) -> Misfit | None:
    """Packed integers, of which each kernel takes other groups and shapes.

    Source: vllm/model_executor/layers/quantization/auto_gptq.py and compressed_tensors/schemes/
    compressed_tensors_wNa16.py (v0.32.0)
    """
    kind, group = linear.scheme.kind, linear.scheme.group
    if kind is Kind.INT4_FP8:
        return _int4_fp8(linear, shape, machine)
    if kind not in (Kind.GPTQ, Kind.PACKED):
        return None
    if kind is Kind.GPTQ and group not in MARLIN_GROUPS:
        return Misfit("gptq-group-size", linear.name, group, 0)
    if not any(kernels(linear, shape, machine)):
        return Misfit("packed-kernel", linear.name, shape.columns, group)
    groups = ("packed-groups", group)
    return _multiple(groups, linear, shape.columns) if kind is Kind.PACKED and group > 0 else None


def _int4_fp8(linear: Linear, shape: Shape, machine: Machine) -> Misfit | None:
    takes = (
        machine.capability == HOPPER
        and machine.dtype is Dtype.BFLOAT16
        and shape.columns % W4A8_TILE == 0
        and shape.rows % W4A8_TILE == 0
    )
    return None if takes else Misfit("packed-kernel", linear.name, shape.columns, W4A8_TILE)


def of_experts(experts: Routed, cut: Cut) -> Misfit | None:
    """What is wrong with experts on a rank."""
    share, scheme = experts.width.length(cut), experts.scheme
    if scheme.otherwise is not None and share % scheme.group:
        return None  # stored in the other layout, which comes next
    if scheme.kind is Kind.FP8_BLOCK:
        return _expert_blocks(experts, share, cut)
    if scheme.kind is Kind.PACKED:
        return _packed_experts(experts, share)
    if scheme.kind is Kind.MXFP8 and (share % MXFP8_COLUMNS or experts.hidden % MXFP8_COLUMNS):
        return Misfit("mxfp8-experts", experts.name, share, MXFP8_COLUMNS)
    return _unbuildable(experts, share)


def _unbuildable(experts: Routed, share: int) -> Misfit | None:
    group = experts.scheme.group
    if experts.scheme.kind is Kind.UNBUILDABLE:
        return Misfit("experts-unbuildable", experts.name, share, group)
    halved = experts.scheme.kind is Kind.HALVED
    if halved and halved_group(group, share, experts.hidden) < LEAST_BLOCK:
        return Misfit("halved-groups", experts.name, share, group)
    return None


def _expert_blocks(experts: Routed, share: int, cut: Cut) -> Misfit | None:
    rows, columns = experts.scheme.block
    if refined_block(experts, cut) != (rows, columns):
        return None
    if share % rows:
        return Misfit("fp8-block-experts", experts.name, share, rows)
    if cut.tp > 1 and share % columns:
        return Misfit("fp8-block-experts-down", experts.name, share, columns)
    return None


def _packed_experts(experts: Routed, share: int) -> Misfit | None:
    """Groups of scales and words of zero points have to be whole.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe_wna16.py (v0.32.0)
    """
    scheme, hidden, name = experts.scheme, experts.hidden, experts.name
    if scheme.group < 0:
        return Misfit("packed-experts-kernel", name, hidden, 0) if hidden % MARLIN_HIDDEN else None
    if hidden % scheme.group:
        return Misfit("packed-experts-hidden", name, hidden, scheme.group)
    if share % scheme.group:
        return Misfit("packed-experts-width", name, share, scheme.group)
    factor = WORD // scheme.bits
    if scheme.zero_points and 2 * share % factor:
        return Misfit("packed-experts-zero-points", name, 2 * share, factor)
    return None
