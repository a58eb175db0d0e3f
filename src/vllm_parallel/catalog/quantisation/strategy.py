"""The numbers of a compressed-tensors group."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation import layouts
from vllm_parallel.catalog.quantisation.keys import pair
from vllm_parallel.catalog.quantisation.method import Refused
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass

STRATEGIES: Final = (
    "tensor", "channel", "group", "block", "token", "tensor_group", "attn_head",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """How weights or inputs are quantised.

    Source: compressed_tensors/quantization/quant_args.py, QuantizationArgs
    """

    bits: int
    type: str
    symmetric: bool
    strategy: str
    group: int  # 0: none
    block: tuple[int, int] | None
    dynamic: bool
    ordered: str | None  # the activation ordering that vLLM no longer takes
    scale_dtype: str | None

    @classmethod
    def of(cls, keys: Keys) -> Args:
        """The numbers that the keys name, the strategy inferred where it is left out."""
        group = _group_size(keys)
        inferred = "tensor" if group == 0 else "channel" if group == layouts.ALL else "group"
        strategy = keys.text("strategy", default=inferred).lower()
        if strategy not in STRATEGIES:
            raise _unmodelled(keys, f"the strategy {strategy!r}")
        if strategy in ("group", "tensor_group") and group < 1:
            raise _unmodelled(keys, f"the strategy {strategy!r} without a group size")
        dynamic, ordered = keys.values.get("dynamic"), _ordering(keys)
        if ordered == "group" and strategy not in ("group", "tensor_group"):
            raise Refused(
                "Must use group or tensor_group quantization strategy in order to apply group "
                "activation ordering"
            )
        return cls(
            bits=keys.size("num_bits", default=8),
            type=keys.text("type", default="int").lower(),
            symmetric=keys.flag("symmetric", default=True),
            strategy=strategy,
            group=group,
            block=pair(keys, "block_structure") if keys.has("block_structure") else None,
            dynamic=dynamic is True or dynamic == "local",
            ordered=ordered,
            scale_dtype=keys.text("scale_dtype", default="") or None,
        )

    @property
    def is_nvfp4(self) -> bool:
        """4-bit floats in groups of 16 under a scale of the tensor."""
        of = (self.strategy, self.type, self.bits, self.group, self.symmetric)
        return of == ("tensor_group", "float", 4, layouts.NVFP4_GROUP, True)

    @property
    def is_mxfp4(self) -> bool:
        """4-bit floats in groups of 32."""
        of = (self.strategy, self.type, self.bits, self.group, self.symmetric)
        return of == ("group", "float", 4, layouts.MXFP_GROUP, True)

    @property
    def is_mxfp8(self) -> bool:
        """8-bit floats in groups of 32 with scales of a byte."""
        of = (self.strategy, self.type, self.bits, self.group, self.symmetric)
        whole = of == ("group", "float", 8, layouts.MXFP_GROUP, True)
        return whole and self.scale_dtype in ("torch.uint8", "uint8")

    @property
    def is_microscaled(self) -> bool:
        """One of these three."""
        return self.is_nvfp4 or self.is_mxfp4 or self.is_mxfp8

    @property
    def is_static_float(self) -> bool:
        """fp8 per tensor, channel or block."""
        static = self.symmetric and not self.dynamic and self.type == "float"
        return static and self.strategy in ("tensor", "channel", "block")

    @property
    def columns(self) -> int:
        """Columns that share a scale of packed integers."""
        return self.group or layouts.ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a group of the config asks for its targets."""

    weights: Args
    inputs: Args | None
    format: str

    @property
    def is_packed(self) -> bool:
        """Integers packed into words."""
        return self.format == "pack-quantized"

    @property
    def is_weight_only(self) -> bool:
        """Integers in groups or channels, inputs left as they are."""
        w = self.weights
        return w.strategy in ("channel", "group") and self.inputs is None and not w.dynamic

    @property
    def is_fp8(self) -> bool:
        """fp8 weights and inputs."""
        w, i = self.weights, self.inputs
        if i is None or i.type != "float" or not w.is_static_float:
            return False
        return i.dynamic or (i.symmetric and i.strategy == "tensor")

    @property
    def is_int8(self) -> bool:
        """Bytes, inputs per token as they come or per tensor as calibrated."""
        w, i = self.weights, self.inputs
        if i is None or (w.bits, i.bits) != (8, 8) or not w.symmetric or w.dynamic:
            return False
        per = "token" if i.dynamic else "tensor"
        return w.strategy in ("tensor", "channel") and i.strategy == per

    @property
    def is_int4_fp8(self) -> bool:
        """4-bit integers for fp8 inputs of each token."""
        w, i = self.weights, self.inputs
        if i is None or (w.type, i.type, w.bits, i.bits) != ("int", "float", 4, 8):
            return False
        dynamic = not w.dynamic and i.dynamic and w.symmetric and i.symmetric
        return dynamic and (w.strategy, i.strategy) == ("group", "token")


def _ordering(keys: Keys) -> str | None:
    order = keys.values.get("actorder")
    if order is True or (isinstance(order, str) and order.lower() == "group"):
        return "group"
    return "dynamic" if isinstance(order, str) and order.lower() == "dynamic" else None


def _group_size(keys: Keys) -> int:
    size = keys.values.get("group_size")
    if size is None:
        return 0
    return layouts.ALL if size == layouts.ALL else keys.size("group_size")


def _unmodelled(keys: Keys, what: str) -> CatalogError:
    return CatalogError(subject=keys.name, problem=f"has {what}", fix="such configs are refused")
