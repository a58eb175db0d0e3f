"""What experts in mxfp4 take once Triton's layout for Hopper has replaced them.

Source: vllm/model_executor/layers/fused_moe/oracle/mxfp4.py and
vllm/model_executor/layers/quantization/utils/mxfp4_utils.py, _swizzle_mxfp4 (v0.32.0)
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.cuts import TRITON_TILE
from vllm_parallel.overhead.coefficients import Coefficients
from vllm_parallel.shard import Shard
from vllm_parallel.units import round_up
from vllm_parallel.weight import Cut, Weight

SCALES: Final = ("w13_weight_scale", "w2_weight_scale")
BIASES: Final = ("w13_bias", "w2_bias")
COLUMNS: Final = {  # what the last axis is padded to
    "w13_weight": 64,
    "w2_weight": 64,
    "w13_weight_scale": 4,
    "w2_weight_scale": 4,
}


def is_repacked(shard: Shard) -> bool:
    """Whether a rank's experts are stored so; they need no scratch then."""
    return shard.cut.expert_tile == TRITON_TILE


def repacked_bytes(shard: Shard, known: Coefficients) -> int:
    """Bytes beyond experts as vLLM creates them: padding, biases in fp32, perhaps scales twice."""
    if not is_repacked(shard):
        return 0
    cut, keeps = shard.cut, known.keeps_scales
    return sum(
        _more(weight, cut, keeps=keeps) * count
        for layer, count in shard.layers.items()
        for weight in layer.weights
    )


def _more(weight: Weight, cut: Cut, *, keeps: bool) -> int:
    name, held = weight.name.rpartition("experts.")[2], weight.bytes(cut)
    if name in BIASES:
        return held  # from two bytes to four
    if name in SCALES and keeps:
        return held  # they stay beside their copy, which has no padding
    if name not in COLUMNS:
        return 0
    length = weight.shape(cut)[-1]
    return held // length * (round_up(length, COLUMNS[name]) - length)
