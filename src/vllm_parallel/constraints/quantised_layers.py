"""Rules that quantised layers bring: what a width may cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from vllm_parallel.constraints.constraint import Constraint, Known, Stage
from vllm_parallel.constraints.quantisation import when_quantised
from vllm_parallel.deployment import Deployment

if TYPE_CHECKING:
    from vllm_parallel.constraints.shapes import Misfit

LAYERS: Final = "vllm/model_executor/layers/quantization"
FP8_UTILS: Final = f"{LAYERS}/utils/fp8_utils.py"
WNA16_EXPERTS: Final = (
    f"{LAYERS}/compressed_tensors/compressed_tensors_moe/compressed_tensors_moe_wna16.py"
)
NARROWER: Final = "use a smaller --tensor-parallel-size"
WHOLE_EXPERTS: Final = f"{NARROWER}, or add --enable-expert-parallel"


class _Latest:
    """The deployment that was looked at last: every rule about shapes asks of it in turn."""

    deployment: Deployment | None = None
    found: Misfit | None = None


def misfit(d: Deployment) -> Misfit | None:
    """The first layer whose shape on a rank its method does not take."""
    if _Latest.deployment is not d:
        from vllm_parallel.constraints.shapes import first_misfit  # noqa: PLC0415  # few need it

        _Latest.found = first_misfit(d)
        _Latest.deployment = d
    return _Latest.found


def misfits(name: str) -> Callable[[Deployment], bool]:
    """Whether the first layer that does not fit does so in this way."""

    def broken(d: Deployment) -> bool:
        if d.model.quantisation is None:
            return False
        found = misfit(d)
        return found is not None and found.rule == name

    return broken


def shape_rule(  # noqa: PLR0913  # the columns of a row, each by its name
    *, name: str, says: str, source: str, fix: str = NARROWER, bare: bool = False
) -> Constraint[Deployment]:
    """A rule about the shape of a layer on a rank."""
    return Constraint(
        name=name,
        stage=Stage.LOAD,
        broken=misfits(name),
        says=says,
        options=misfit,
        fix=fix,
        source=source,
        known=Known.RAISED,
        bare=bare,
    )


def cannot_balance(d: Deployment) -> str:
    """The class of quantised experts that EPLB does not know, empty where it knows them."""
    from vllm_parallel.constraints.shapes import unbalanced  # noqa: PLC0415  # as above

    return unbalanced(d)


QUANTISED_LOAD_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    Constraint(
        name="quantised-layers",
        stage=Stage.LOAD,
        broken=when_quantised(lambda _, q: q.refused_at_load is not None),
        says="{model.quantisation.refused_at_load}",
        fix="use a checkpoint with another quantization_config",
        source=f"{LAYERS}/utils/quant_utils.py, is_layer_skipped",
        known=Known.RAISED,
    ),
    shape_rule(
        name="fp8-block-columns",
        says="Weight input_size_per_partition = {options.amount} is not divisible by weight "
        "quantization block_k = {options.by}.",
        source=f"{FP8_UTILS}, validate_fp8_block_shape",
    ),
    shape_rule(
        name="fp8-block-rows",
        says="Weight output_partition_size = {options.amount} is not divisible by weight "
        "quantization block_n = {options.by}.",
        source=f"{FP8_UTILS}, validate_fp8_block_shape",
    ),
    Constraint(
        name="eplb-quantised-experts",
        stage=Stage.LOAD,
        broken=when_quantised(lambda d, _: d.settings.experts.eplb and cannot_balance(d) != ""),
        says="EPLB is not supported {options}.",
        options=cannot_balance,
        fix="drop --enable-eplb",
        source="vllm/model_executor/layers/fused_moe/routed_experts.py, RoutedExperts",
        known=Known.RAISED,
    ),
    shape_rule(
        name="fp8-block-experts",
        says="The output_size of gate's and up's weight = {options.amount} is not divisible by "
        "weight quantization block_n = {options.by}.",
        source=f"{FP8_UTILS}, validate_fp8_block_shape_moe",
        fix=WHOLE_EXPERTS,
    ),
    shape_rule(
        name="fp8-block-experts-down",
        says="The input_size of down's weight = {options.amount} is not divisible by weight "
        "quantization block_k = {options.by}.",
        source=f"{FP8_UTILS}, validate_fp8_block_shape_moe",
        fix=WHOLE_EXPERTS,
    ),
    shape_rule(
        name="modelopt-block-columns",
        says="FP8_PB_WO requires in divisible by {options.by}, got {options.amount}",
        source=f"{LAYERS}/modelopt.py, KFp8Block128",
    ),
    shape_rule(
        name="awq-columns",
        says="The input size is not aligned with the quantized weight shape. This can be caused "
        "by too large tensor parallel size.",
        source=f"{LAYERS}/auto_awq.py, BaseAWQLinearMethod",
        fix="use a --tensor-parallel-size that leaves {options.name} whole groups of {options.by}",
    ),
    shape_rule(
        name="awq-rows",
        says="The output size is not aligned with the quantized weight shape. This can be caused "
        "by too large tensor parallel size.",
        source=f"{LAYERS}/auto_awq.py, BaseAWQLinearMethod",
    ),
    shape_rule(
        name="gptq-group-size",
        says="Marlin does not support group_size = {options.amount}. Only group_sizes = "
        "[-1, 32, 64, 128] are supported.",
        source=f"{LAYERS}/utils/marlin_utils.py, verify_marlin_supported",
        fix="use a checkpoint with other groups",
    ),
    shape_rule(
        name="packed-kernel",
        says="Failed to find a kernel that can implement the WNA16 linear layer.",
        source="vllm/model_executor/kernels/linear/__init__.py, choose_mp_linear_kernel",
        fix=f"{NARROWER}: {{options.name}} has {{options.amount}} columns on a rank",
        bare=True,
    ),
    shape_rule(
        name="packed-groups",
        says="Weight input_size_per_partition={options.amount} for layer '{options.name}' is not "
        "divisible by group_size={options.by}. This happens when tensor_parallel_size splits the "
        "layer input into shards that are not a whole number of quant groups. Consider reducing "
        "tensor_parallel_size.",
        source="vllm/distributed/utils.py, verify_group_size_divides_partition",
    ),
    shape_rule(
        name="packed-experts-hidden",
        says="CompressedTensors WNA16 MoE requires hidden_size ({options.amount}) to be divisible "
        "by group_size ({options.by}).",
        source=WNA16_EXPERTS,
        fix="use a checkpoint with other groups",
    ),
    shape_rule(
        name="packed-experts-width",
        says="CompressedTensors WNA16 MoE with static group scales requires the MoE intermediate "
        "size per tensor-parallel partition ({options.amount}) to be divisible by group_size "
        "({options.by}). Scale groups would otherwise cross TP shard boundaries; use a compatible "
        "TP size or enable expert parallelism.",
        source=WNA16_EXPERTS,
        fix=WHOLE_EXPERTS,
    ),
    shape_rule(
        name="packed-experts-zero-points",
        says="CompressedTensors WNA16 MoE: gate+up output channels per TP rank (2 * "
        "intermediate_size_per_partition = {options.amount}) must be divisible by packed_factor "
        "({options.by}). Use a TP size where 2 * intermediate_size is divisible by {options.by}.",
        source=WNA16_EXPERTS,
        fix=WHOLE_EXPERTS,
    ),
    shape_rule(
        name="packed-experts-kernel",
        says="Without Marlin, packed experts need group scales.",
        source=WNA16_EXPERTS,
        fix="use a checkpoint with groups",
        bare=True,
    ),
    shape_rule(
        name="halved-groups",
        says="No group of at least 32 divides {options.amount} columns of an expert.",
        source=f"{LAYERS}/moe_wna16.py, create_weights",
        fix=WHOLE_EXPERTS,
        bare=True,
    ),
    shape_rule(
        name="experts-unbuildable",
        says="Trying to create tensor with negative dimension",
        source=f"{LAYERS}/auto_awq.py, AutoAWQMoEMethod",
        fix="use a checkpoint with groups",
        bare=True,
    ),
    shape_rule(
        name="nvfp4-columns",
        says="Unsupported model when in features size is not multiple of {options.by}",
        source=f"{LAYERS}/modelopt.py, KNvfp4Static",
    ),
    shape_rule(
        name="mxfp8-columns",
        says="MXFP8 requires input size divisible by {options.by}, got {options.amount}",
        source=f"{LAYERS}/modelopt.py, KMxfp8Static",
    ),
    shape_rule(
        name="mxfp8-experts",
        says="MXFP8 MoE requires intermediate_size_per_partition divisible by {options.by}, got "
        "{options.amount}.",
        source=f"{LAYERS}/modelopt.py, ModelOptMxFp8FusedMoE",
        fix=WHOLE_EXPERTS,
    ),
)
