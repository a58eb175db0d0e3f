"""The layouts that vLLM makes of compressed-tensors' numbers."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.quantisation import experts, layouts, packed_experts
from vllm_parallel.catalog.quantisation.keys import ASK_FOR_TWIN
from vllm_parallel.catalog.quantisation.method import Refused
from vllm_parallel.catalog.quantisation.strategy import Args, Target
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.scheme import Biases, Kind, Scheme

ACTIVATION_FORMATS: Final = (
    "naive-quantized", "int-quantized", "float-quantized", "nvfp4-pack-quantized",
)  # fmt: skip
PACKED_BITS: Final = [2, 3, 4, 5, 6, 7, 8]
MARLIN_BITS: Final = (4, 8)
CUTLASS_GROUP: Final = 128


def linear_scheme(target: Target, name: str) -> Scheme:
    """The layout of a linear layer.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py,
    _get_scheme_from_parts (v0.32.0)

    Raises:
        Refused: vLLM has no scheme for it.
        CatalogError: it has one that is not modelled.
    """
    w, i = target.weights, target.inputs
    if w.is_microscaled:
        return _microscaled(w, i)
    if target.is_int4_fp8:
        if w.group != CUTLASS_GROUP:
            raise Refused("W4A8 kernels require group quantization with group size 128")
        return layouts.int4_fp8(w.group)
    if i is not None and w.type == i.type == "int" and (target.is_packed or w.bits == 4):
        raise _not_modelled(name, "4-bit integers for integer inputs")
    if target.is_weight_only and target.is_packed:
        if w.bits not in PACKED_BITS:
            raise Refused(f"Unsupported num_bits = {w.bits}. Supported num_bits = {PACKED_BITS}")
        return layouts.packed(w.bits, w.columns, symmetric=w.symmetric)
    found = _bytes(target) if target.format in ACTIVATION_FORMATS else None
    if found is None:
        raise Refused(f"No compressed-tensors compatible scheme was found for layer_name={name!r}")
    return found


def _microscaled(w: Args, i: Args | None) -> Scheme:
    """Floats whose scales are stored with them."""
    if w.is_mxfp4:
        return layouts.mxfp4()
    if w.is_mxfp8:
        return layouts.mxfp8(Kind.ANY)
    if i is not None and not i.is_nvfp4:
        raise Refused(
            "For NVFP4 weights, input quantization must also be NVFP4 format, None for NVFP4A16"
        )
    return layouts.nvfp4(static=i is not None)


def _bytes(target: Target) -> Scheme | None:
    """fp8 or int8, for inputs of 8 or 16 bits."""
    w, i = target.weights, target.inputs
    static = i is not None and not i.dynamic
    if w.is_static_float:
        if w.block is not None:
            return layouts.fp8_block(w.block, "weight_scale", lenient=False)
        make = layouts.fp8_tensor if w.strategy == "tensor" else layouts.fp8_channel
        return make(static=static)
    if target.is_int8 and i is not None:
        channel = w.strategy == "channel"
        return layouts.int8(channel=channel, static=static, symmetric=i.symmetric)
    return None


def expert_scheme(target: Target) -> Scheme:
    """The layout of experts.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/
    compressed_tensors_moe.py, get_moe_method (v0.32.0)

    Raises:
        Refused: vLLM has no scheme for it.
        CatalogError: it has one that is not modelled.
    """
    w, i = target.weights, target.inputs
    if w.is_microscaled:
        return _microscaled_experts(w, i)
    if target.is_weight_only:
        return _packed_experts(target)
    if i is not None and target.is_fp8:
        return _fp8_experts(w, i)
    if i is not None and target.is_int8 and i.dynamic:
        if w.strategy != "channel":
            raise Refused(
                "For INT8 Fused MoE layers, we require channelwise, dynamic per token quantization."
            )
        return experts.channel(Dtype.INT8)
    if w.bits == 4:
        raise _not_modelled("the experts", "4-bit integers for 8-bit inputs")
    raise Refused("Unsupported FusedMoe scheme")


def _microscaled_experts(w: Args, i: Args | None) -> Scheme:
    if w.is_mxfp8:
        return experts.mxfp8(Kind.ANY, "CompressedTensorsW8A8Mxfp8MoEMethod")
    if w.is_nvfp4:
        if i is not None and not i.is_nvfp4:
            raise Refused("For NVFP4 weights, input quantization must also be NVFP4 format")
        return experts.nvfp4()
    if i is not None and i.bits == 8:
        raise _not_modelled("the experts", "mxfp4 for fp8 inputs")
    return experts.mxfp4()


def _packed_experts(target: Target) -> Scheme:
    w = target.weights
    if w.bits not in PACKED_BITS or not target.is_packed:
        raise Refused(
            "For Fused MoE layers, only format: pack-quantized and bits: [2, 3, 4, 5, 6, 7, 8] is "
            f"supported but got format: pack-quantized and bits: {w.bits}"
        )
    if w.bits not in MARLIN_BITS:
        raise _not_modelled("the experts", f"{w.bits}-bit integers")
    return packed_experts.packed(w.bits, w.columns, symmetric=w.symmetric)


def _fp8_experts(w: Args, i: Args) -> Scheme:
    if w.strategy == i.strategy == "tensor":
        return experts.fp8_tensor(Biases.NONE, static=not i.dynamic)
    if (w.strategy, i.strategy) == ("channel", "token"):
        return experts.channel(Dtype.FLOAT8_E4M3)
    if w.block is None:
        raise Refused("AssertionError")
    return experts.fp8_block(w.block, "weight_scale", lenient=False)


def _not_modelled(name: str, what: str) -> CatalogError:
    return CatalogError(
        subject=name,
        problem=f"has {what}, which is not modelled",
        fix=ASK_FOR_TWIN,
    )
