"""The layouts of quantised experts, each made once for its numbers.

Every tensor has the rank's experts as its first dimension, and a twin for the second matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from vllm_parallel.catalog.quantisation.layouts import (
    COLUMNS,
    FLOAT8,
    FLOAT32,
    HALF_COLUMNS,
    INT8,
    MXFP_GROUP,
    NVFP4_GROUP,
    PARTS,
    ROWS,
    UINT8,
    along_columns,
    fixed,
)
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.scheme import Along, Axis, Biases, Kind, Scheme, Tensor, Unit


def twins(tensors: Iterable[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The tensors of the first matrix, and of the second."""
    of_both = tuple(tensors)
    return _named("w13", of_both), _named("w2", of_both)


def _named(matrix: str, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(replace(tensor, name=f"{matrix}_{tensor.name}") for tensor in tensors)


@lru_cache
def fp8_tensor(biases: Biases, *, static: bool, unbalanced: str = "") -> Scheme:
    """One scale for each matrix of an expert, static ones for the inputs too.

    Source: vllm/model_executor/layers/quantization/fp8.py, Fp8MoEMethod (v0.32.0)
    """
    weights, scales = (
        Tensor("weight", (ROWS, COLUMNS), FLOAT8),
        Tensor("weight_scale", (PARTS,), FLOAT32),
    )
    inputs = (Tensor("input_scale", (), FLOAT32),) if static else ()
    up, down = twins((weights, scales, *inputs))
    return Scheme(tensors=up, down=down, biases=biases, unbalanced=unbalanced)


@lru_cache
def channel(dtype: Dtype) -> Scheme:
    """Bytes, one scale for each output: fp8 or int8.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe_w8a8_int8.py and _fp8.py (v0.32.0)
    """
    int8 = dtype is INT8
    up, down = twins(
        (
            Tensor("weight", (ROWS, COLUMNS), dtype),
            Tensor("weight_scale", (ROWS, fixed(1)), FLOAT32),
        )
    )
    return Scheme(
        tensors=up,
        down=down,
        biases=Biases.MODEL if int8 else Biases.NONE,
        unbalanced="CompressedTensorsW8A8Int8MoEMethod" if int8 else "",
    )


@lru_cache
def fp8_block(block: tuple[int, int], scales: str, *, lenient: bool) -> Scheme:
    """One scale for each block; Fp8MoEMethod cuts blocks finer where a share is not whole ones.

    Source: vllm/model_executor/layers/quantization/fp8.py, Fp8MoEMethod (v0.32.0)
    """
    axes = tuple(Axis(along, up=True, unit=Unit.BLOCK) for along in (Along.ROWS, Along.COLUMNS))
    up, down = twins((Tensor("weight", (ROWS, COLUMNS), FLOAT8), Tensor(scales, axes, FLOAT32)))
    return Scheme(
        tensors=up,
        down=down,
        kind=Kind.FP8_BLOCK,
        block=block,
        lenient=lenient,
        biases=Biases.MODEL if lenient else Biases.NONE,
    )


@lru_cache
def nvfp4() -> Scheme:
    """4-bit floats, a scale for 16 inputs and one for each matrix, of weights and of inputs.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe_w4a4_nvfp4.py (v0.32.0)
    """
    up, down = twins(
        (
            Tensor("weight_packed", (ROWS, HALF_COLUMNS), UINT8),
            Tensor("weight_scale", (ROWS, along_columns(NVFP4_GROUP)), FLOAT8),
            Tensor("weight_global_scale", (PARTS,), FLOAT32),
            Tensor("input_global_scale", (PARTS,), FLOAT32),
        )
    )
    return Scheme(tensors=up, down=down, unbalanced="CompressedTensorsW4A4Nvfp4MoEMethod")


@lru_cache
def nvfp4_modelopt(group: int) -> Scheme:
    """The same as ModelOpt names it.

    Source: vllm/model_executor/layers/quantization/modelopt.py, ModelOptNvFp4FusedMoE (v0.32.0)
    """
    up, down = twins(
        (
            Tensor("weight", (ROWS, HALF_COLUMNS), UINT8),
            Tensor("weight_scale", (ROWS, along_columns(group)), FLOAT8),
            Tensor("weight_scale_2", (PARTS,), FLOAT32),
            Tensor("input_scale", (PARTS,), FLOAT32),
        )
    )
    return Scheme(tensors=up, down=down)


@lru_cache
def mxfp4() -> Scheme:
    """4-bit floats, a scale for 32 inputs.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe_w4a4_mxfp4.py (v0.32.0)
    """
    up, down = _mxfp4("weight_packed")
    return Scheme(tensors=up, down=down, unbalanced="CompressedTensorsW4A4Mxfp4MoEMethod")


@lru_cache
def mxfp4_tiled(unbalanced: str = "") -> Scheme:
    """The same, padded to the tile of the GPU's kernel.

    Source: vllm/model_executor/layers/quantization/mxfp4.py, GptOssMxfp4MoEMethod (v0.32.0)
    """
    up, down = _mxfp4("weight")
    return Scheme(tensors=up, down=down, tiled=True, biases=Biases.MODEL, unbalanced=unbalanced)


def _mxfp4(weight: str) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    return twins(
        (
            Tensor(weight, (ROWS, HALF_COLUMNS), UINT8),
            Tensor("weight_scale", (ROWS, along_columns(MXFP_GROUP)), UINT8),
        )
    )


@lru_cache
def mxfp8(kind: Kind, unbalanced: str) -> Scheme:
    """8-bit floats, a scale for 32 inputs.

    Source: vllm/model_executor/layers/quantization/modelopt.py, ModelOptMxFp8FusedMoE (v0.32.0)
    """
    up, down = twins(
        (
            Tensor("weight", (ROWS, COLUMNS), FLOAT8),
            Tensor("weight_scale", (ROWS, along_columns(MXFP_GROUP)), UINT8),
        )
    )
    return Scheme(tensors=up, down=down, kind=kind, unbalanced=unbalanced)
