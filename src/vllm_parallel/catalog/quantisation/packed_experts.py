"""The layouts of experts whose integers are packed: AWQ, GPTQ, compressed-tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.quantisation.experts import twins
from vllm_parallel.catalog.quantisation.layouts import (
    ALL,
    COLUMNS,
    INT32,
    ROWS,
    UINT8,
    WORD,
    along_columns,
    along_rows,
    fixed,
    groups,
)
from vllm_parallel.scheme import Along, Axis, Biases, Kind, Scheme, Tensor, Unit

MARLIN_GROUPS: Final = (ALL, 32, 64, 128)
MARLIN_HIDDEN: Final = 128
BYTE: Final = 8


@lru_cache
def awq(group: int, hidden: int, *, zero_points: bool) -> Scheme:
    """AutoAWQ, or MoeWNA16's bytes where Marlin cannot.

    Source: vllm/model_executor/layers/quantization/auto_awq.py, AutoAWQMoEMethod (v0.32.0)
    """
    spare = _bytes(4, group, zero_points=zero_points)
    if hidden % MARLIN_HIDDEN or group not in MARLIN_GROUPS:
        return spare
    if group == ALL:
        return Scheme(tensors=spare.tensors, kind=Kind.UNBUILDABLE)
    packed, each = along_rows(WORD // 4), along_columns(group)
    up, down = twins(
        (
            Tensor("qweight", (COLUMNS, packed), INT32),
            Tensor("scales", (each, ROWS), None),
            Tensor("qzeros", (each, packed), INT32),
        )
    )
    return Scheme(
        tensors=up,
        down=down,
        kind=Kind.AWQ,
        group=group,
        unbalanced="AutoAWQMoEMethod",
        otherwise=spare,
    )


@lru_cache
def gptq(bits: int, group: int, hidden: int) -> Scheme:
    """GPTQModel, or MoeWNA16's bytes where Marlin cannot; biases in case a checkpoint has them.

    Source: vllm/model_executor/layers/quantization/auto_gptq.py, AutoGPTQMoEMethod (v0.32.0)
    """
    spare = _bytes(bits, group, zero_points=False)
    if hidden % MARLIN_HIDDEN or group not in MARLIN_GROUPS:
        return spare
    each = groups(group)
    up, down = twins(
        (
            Tensor("qweight", (along_columns(WORD // bits), ROWS), INT32),
            Tensor("scales", (each, ROWS), None),
            Tensor("qzeros", (each, along_rows(WORD // bits)), INT32),
        )
    )
    return Scheme(
        tensors=up,
        down=down,
        kind=Kind.GPTQ,
        group=group,
        biases=Biases.ALWAYS,
        unbalanced="AutoGPTQMoEMethod",
        otherwise=None if group == ALL else spare,
    )


@lru_cache
def gptq_left_out(bits: int, group: int, hidden: int) -> Scheme | None:
    """What a rule leaves out stays as it is, but MoeWNA16 does not look at the rules."""
    quantised = gptq(bits, group, hidden)
    if quantised.kind is not Kind.GPTQ or quantised.otherwise is None:
        return None if quantised.kind is Kind.GPTQ else quantised
    up, down = twins((Tensor("weight", (ROWS, COLUMNS), None),))
    return Scheme(
        tensors=up, down=down, group=group, biases=Biases.MODEL, otherwise=quantised.otherwise
    )


@lru_cache
def _bytes(bits: int, group: int, *, zero_points: bool) -> Scheme:
    """Packed into bytes, groups halved until they fit.

    Source: vllm/model_executor/layers/quantization/moe_wna16.py, MoeWNA16Method (v0.32.0)
    """
    packed = BYTE // bits
    each = Axis(Along.COLUMNS, unit=Unit.GROUP)
    tensors = [
        Tensor("qweight", (ROWS, along_columns(packed)), UINT8),
        Tensor("scales", (ROWS, each), None),
    ]
    if zero_points:
        tensors.append(Tensor("qzeros", (along_rows(packed), each), UINT8))
    up, down = twins(tensors)
    kind = Kind.UNBUILDABLE if group == ALL else Kind.HALVED
    return Scheme(
        tensors=up, down=down, kind=kind, bits=bits, group=group, unbalanced="MoeWNA16Method"
    )


@lru_cache
def packed(bits: int, group: int, *, symmetric: bool) -> Scheme:
    """compressed-tensors' packed integers.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe_wna16.py (v0.32.0)
    """
    each = groups(group)
    tensors = [
        Tensor("weight_packed", (ROWS, Axis(Along.COLUMNS, times=bits, per=WORD)), INT32),
        Tensor("weight_scale", (ROWS, each), None),
        Tensor("weight_shape", (fixed(2),), None),
    ]
    if not symmetric:
        zeros = Axis(Along.ROWS, times=bits, per=WORD)
        tensors.append(Tensor("weight_zero_point", (zeros, each), INT32))
    up, down = twins(tensors)
    return Scheme(
        tensors=up,
        down=down,
        kind=Kind.PACKED,
        bits=bits,
        group=group,
        zero_points=not symmetric,
        biases=Biases.MODEL,
        unbalanced="CompressedTensorsWNA16MoEMethod",
    )
