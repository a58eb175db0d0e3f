"""The layouts of quantised linear layers, each made once for its numbers.

Names, shapes and dtypes are those of vLLM's `create_weights`; a dtype of None is the model's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.dtype import Dtype
from vllm_parallel.scheme import Along, Axis, Kind, Scheme, Tensor

FLOAT8, FLOAT32 = Dtype.FLOAT8_E4M3, Dtype.FLOAT32
INT8, UINT8, INT32, INT64 = Dtype.INT8, Dtype.UINT8, Dtype.INT32, Dtype.INT64
ROWS, COLUMNS, PARTS = Axis(Along.ROWS), Axis(Along.COLUMNS), Axis(Along.PARTS)
HALF_COLUMNS: Final = Axis(Along.COLUMNS, per=2)  # two 4-bit numbers to a byte
WORD: Final = 32  # bits of the integers that weights are packed into
ALL: Final = -1  # a group of all columns
NVFP4_GROUP: Final = 16
MXFP_GROUP: Final = 32
MODELOPT_BLOCK: Final = 128


def fixed(count: int) -> Axis:
    """An axis of a given length."""
    return Axis(Along.FIXED, times=count)


def along_rows(per: int) -> Axis:
    """One element for so many outputs."""
    return Axis(Along.ROWS, per=per)


def along_columns(per: int) -> Axis:
    """One element for so many inputs."""
    return Axis(Along.COLUMNS, per=per)


def groups(group: int) -> Axis:
    """One element for each group of inputs; one for all where the group is -1."""
    return fixed(1) if group == ALL else along_columns(group)


INPUT_SCALES: Final = Tensor("input_scale", (PARTS,), FLOAT32)


@lru_cache
def fp8_tensor(*, static: bool) -> Scheme:
    """One scale for each fused layer; static ones for the inputs too.

    Source: vllm/model_executor/layers/quantization/fp8.py, Fp8LinearMethod (v0.32.0)
    """
    scales = (Tensor("weight_scale", (PARTS,), FLOAT32),)
    return Scheme(tensors=(Tensor("weight", (ROWS, COLUMNS), FLOAT8), *scales, *_input(static)))


@lru_cache
def fp8_channel(*, static: bool) -> Scheme:
    """One scale for each output.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_w8a8_fp8.py (v0.32.0)
    """
    scales = (Tensor("weight_scale", (ROWS, fixed(1)), FLOAT32),)
    return Scheme(tensors=(Tensor("weight", (ROWS, COLUMNS), FLOAT8), *scales, *_input(static)))


@lru_cache
def fp8_block(block: tuple[int, int], scales: str, *, lenient: bool) -> Scheme:
    """One scale for each block, cut ones included.

    Source: vllm/model_executor/layers/quantization/utils/fp8_utils.py, create_fp8_scale_parameter
    (v0.32.0)
    """
    rows, columns = (
        Axis(along, per=size, up=True)
        for along, size in zip((Along.ROWS, Along.COLUMNS), block, strict=True)
    )
    tensors = (
        Tensor("weight", (ROWS, COLUMNS), FLOAT8),
        Tensor(scales, (rows, columns), FLOAT32),
    )
    return Scheme(tensors=tensors, kind=Kind.FP8_BLOCK, block=block, lenient=lenient)


@lru_cache
def fp8_weight_blocks() -> Scheme:
    """ModelOpt's blocks of 128, whose columns have to be whole.

    Source: vllm/model_executor/layers/quantization/modelopt.py, KFp8Block128 (v0.32.0)
    """
    size = MODELOPT_BLOCK
    blocks = (Axis(Along.ROWS, per=size, up=True), along_columns(size))
    tensors = (
        Tensor("weight", (ROWS, COLUMNS), FLOAT8),
        Tensor("weight_scale", blocks, FLOAT32),
    )
    return Scheme(tensors=tensors, kind=Kind.BLOCK_WEIGHT_ONLY, block=(size, size))


@lru_cache
def int8(*, channel: bool, static: bool, symmetric: bool) -> Scheme:
    """Whole bytes, a scale for each output or fused layer.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_w8a8_int8.py (v0.32.0)
    """
    axes = (ROWS, fixed(1)) if channel else (PARTS,)
    tensors = [
        Tensor("weight", (ROWS, COLUMNS), INT8),
        Tensor("weight_scale", axes, FLOAT32),
    ]
    if static:
        tensors.append(Tensor("input_scale", (fixed(1),), FLOAT32))
        if not symmetric:
            tensors.append(Tensor("input_zero_point", (fixed(1),), INT8))
    return Scheme(tensors=tuple(tensors))


@lru_cache
def awq(group: int, *, zero_points: bool) -> Scheme:
    """AutoAWQ: packed along the outputs, zero points always there.

    Source: vllm/model_executor/layers/quantization/auto_awq.py, AutoAWQMarlinLinearMethod
    (v0.32.0)
    """
    packed = along_rows(WORD // 4)
    each = Axis(Along.ALL_COLUMNS) if group == ALL else along_columns(group)
    tensors = (
        Tensor("qweight", (COLUMNS, packed), INT32),
        Tensor("qzeros", (each, packed), INT32),
        Tensor("scales", (each, ROWS), None),
    )
    return Scheme(tensors=tensors, kind=Kind.AWQ, bits=4, group=group, zero_points=zero_points)


@lru_cache
def gptq(bits: int, group: int) -> Scheme:
    """GPTQModel: packed along the inputs, zero points always there.

    Source: vllm/model_executor/layers/quantization/auto_gptq.py, AutoGPTQLinearMethod (v0.32.0)
    """
    each = groups(group)
    tensors = (
        Tensor("qweight", (along_columns(WORD // bits), ROWS), INT32),
        Tensor("scales", (each, ROWS), None),
        Tensor("qzeros", (each, along_rows(WORD // bits)), INT32),
    )
    return Scheme(tensors=tensors, kind=Kind.GPTQ, bits=bits, group=group)


@lru_cache
def packed(bits: int, group: int, *, symmetric: bool) -> Scheme:
    """compressed-tensors' integers of 2 to 8 bits, packed along the inputs.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_wNa16.py (v0.32.0)
    """
    each = groups(group)
    words, zeros = (
        Axis(along, times=bits, per=WORD, up=True) for along in (Along.COLUMNS, Along.ROWS)
    )
    tensors = [
        Tensor("weight_packed", (ROWS, words), INT32),
        Tensor("weight_scale", (ROWS, each), None),
        Tensor("weight_shape", (fixed(2),), INT64),
    ]
    if not symmetric:
        tensors.append(Tensor("weight_zero_point", (zeros, each), INT32))
    return Scheme(
        tensors=tuple(tensors),
        kind=Kind.PACKED,
        bits=bits,
        group=group,
        zero_points=not symmetric,
    )


@lru_cache
def int4_fp8(group: int) -> Scheme:
    """Packed 4-bit integers for fp8 inputs.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_w4a8_fp8.py (v0.32.0)
    """
    tensors = (
        Tensor("weight_packed", (ROWS, along_columns(WORD // 4)), INT32),
        Tensor("weight_scale", (ROWS, groups(group)), None),
        Tensor("weight_shape", (fixed(2),), INT64),
    )
    return Scheme(tensors=tensors, kind=Kind.INT4_FP8, bits=4, group=group)


@lru_cache
def nvfp4(*, static: bool) -> Scheme:
    """4-bit floats of compressed-tensors, a scale for 16 inputs and one for each fused layer.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_w4a4_nvfp4.py (v0.32.0)
    """
    tensors = (
        Tensor("weight_packed", (ROWS, HALF_COLUMNS), UINT8),
        Tensor("weight_global_scale", (PARTS,), FLOAT32),
        Tensor("weight_scale", (ROWS, along_columns(NVFP4_GROUP)), FLOAT8),
    )
    scales = (Tensor("input_global_scale", (PARTS,), FLOAT32),) if static else ()
    return Scheme(tensors=(*tensors, *scales))


@lru_cache
def nvfp4_modelopt(group: int, *, static: bool) -> Scheme:
    """4-bit floats of ModelOpt; scales of inputs are there even where nothing reads them.

    Source: vllm/model_executor/layers/quantization/modelopt.py, KNvfp4Static (v0.32.0)
    """
    tensors = (
        Tensor("weight", (ROWS, HALF_COLUMNS), UINT8),
        Tensor("weight_scale_2", (PARTS,), FLOAT32),
        Tensor("weight_scale", (ROWS, along_columns(group)), FLOAT8),
        INPUT_SCALES if static else Tensor("input_scale", (PARTS,), None),
    )
    return Scheme(tensors=tensors, kind=Kind.NVFP4)


@lru_cache
def mxfp4() -> Scheme:
    """4-bit floats, a scale for 32 inputs.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/schemes/
    compressed_tensors_w4a4_mxfp4.py (v0.32.0)
    """
    tensors = (
        Tensor("weight_packed", (ROWS, HALF_COLUMNS), UINT8),
        Tensor("weight_scale", (ROWS, along_columns(MXFP_GROUP)), UINT8),
    )
    return Scheme(tensors=tensors)


@lru_cache
def mxfp8(kind: Kind) -> Scheme:
    """8-bit floats, a scale for 32 inputs.

    Source: vllm/model_executor/layers/quantization/modelopt.py, KMxfp8Static (v0.32.0)
    """
    tensors = (
        Tensor("weight", (ROWS, COLUMNS), FLOAT8),
        Tensor("weight_scale", (ROWS, along_columns(MXFP_GROUP)), UINT8),
    )
    return Scheme(tensors=tensors, kind=kind)


@lru_cache
def cache_scales() -> Scheme:
    """Scales of queries, keys, values and probabilities.

    Source: vllm/model_executor/layers/quantization/kv_cache.py, BaseKVCacheMethod (v0.32.0)
    """
    names = ("q_scale", "k_scale", "v_scale", "prob_scale")
    return Scheme(tensors=tuple(Tensor(name, (), None) for name in names))


@lru_cache
def cache_scales_and_zeros(*, heads: bool) -> Scheme:
    """Scales and zero points of keys, values and queries, for all heads or for each KV head.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py,
    CompressedTensorsKVCacheMethod (v0.32.0)
    """
    axis = ROWS if heads else fixed(1)
    scales = tuple(Tensor(f"{of}_scale", (axis,), FLOAT32) for of in "kvq")
    zeros = tuple(Tensor(f"{of}_zero_point", (axis,), None) for of in "kvq")
    return Scheme(tensors=scales + zeros)


def _input(static: bool) -> tuple[Tensor, ...]:
    return (INPUT_SCALES,) if static else ()
