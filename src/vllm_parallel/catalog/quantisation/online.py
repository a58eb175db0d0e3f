"""Weights that `--quantization` quantises while they load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vllm_parallel.catalog.quantisation import experts, layouts
from vllm_parallel.catalog.quantisation.method import HALVES, Module
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Biases, Kind, Quantisation, Scheme

BLOCK: Final = (128, 128)
LINEAR: Final[dict[str, Callable[[], Scheme]]] = {  # by `--quantization`
    "fp8": lambda: layouts.fp8_tensor(static=False),
    "fp8_per_tensor": lambda: layouts.fp8_tensor(static=False),
    "fp8_per_channel": lambda: layouts.fp8_channel(static=False),
    "fp8_per_block": lambda: layouts.fp8_block(BLOCK, "weight_scale_inv", lenient=True),
    "mxfp4": layouts.mxfp4,
    "mxfp8": lambda: layouts.mxfp8(Kind.ANY),
}
EXPERTS: Final[dict[str, Callable[[], Scheme]]] = {
    "fp8": lambda: experts.fp8_tensor(Biases.MODEL, static=False),
    "fp8_per_tensor": lambda: experts.fp8_tensor(Biases.MODEL, static=False),
    "fp8_per_channel": lambda: experts.channel(Dtype.FLOAT8_E4M3),
    "fp8_per_block": lambda: experts.fp8_block(BLOCK, "weight_scale_inv", lenient=True),
    "mxfp4": experts.mxfp4,
    "mxfp8": lambda: experts.mxfp8(Kind.ANY, ""),
    "int8_per_channel_weight_only": lambda: experts.channel(Dtype.INT8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Online:
    """Every linear layer and all experts, or the experts alone; never the head.

    Source: vllm/model_executor/layers/quantization/online/base.py, OnlineQuantizationConfig
    (v0.32.0)
    """

    name: str

    @property
    def facts(self) -> Quantisation:
        """bfloat16 or float16."""
        return Quantisation(method=self.name, checkpoint="", dtypes=HALVES)

    def linear(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """As the name says, if it says anything of linear layers."""
        make = LINEAR.get(self.name)
        return None if make is None else make()

    def head(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """Never."""
        return None

    def experts(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """As the name says."""
        return EXPERTS[self.name]()

    def cache(self, *, latent: bool) -> Scheme | None:  # noqa: ARG002
        """None."""
        return None
