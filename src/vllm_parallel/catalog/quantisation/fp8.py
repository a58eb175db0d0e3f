"""fp8 as DeepSeek and AutoFP8 write it, and mxfp4 as gpt-oss does."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation import experts, layouts
from vllm_parallel.catalog.quantisation.keys import pair, required, words
from vllm_parallel.catalog.quantisation.method import HALVES, Method, Module, Refused, skipped
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Biases, Quantisation, Scheme

SCHEMES: Final = ("static", "dynamic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fp8:
    """Per tensor, or per block.

    Source: vllm/model_executor/layers/quantization/fp8.py, Fp8Config (v0.32.0)
    """

    static: bool
    block: tuple[int, int] | None
    ignored: tuple[str, ...]
    mxfp4_experts: bool

    @property
    def facts(self) -> Quantisation:
        """bfloat16 or float16."""
        return Quantisation(method="fp8", checkpoint="fp8", dtypes=HALVES)

    def linear(self, module: Module) -> Scheme | None:
        """Quantised unless its exact name is ignored."""
        if skipped(module, self.ignored, substring=False):
            return None
        if self.block is not None:
            return layouts.fp8_block(self.block, "weight_scale_inv", lenient=True)
        return layouts.fp8_tensor(static=self.static)

    def head(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """Never."""
        return None

    def experts(self, module: Module) -> Scheme | None:
        """Quantised unless an expert of them is ignored."""
        if skipped(module, self.ignored, substring=False):
            return None
        if self.mxfp4_experts:
            return experts.mxfp4_tiled()
        if self.block is not None:
            return experts.fp8_block(self.block, "weight_scale_inv", lenient=True)
        return experts.fp8_tensor(Biases.MODEL, static=self.static)

    def cache(self, *, latent: bool) -> Scheme | None:
        """Four scales, of attention that is not latent."""
        return None if latent else layouts.cache_scales()


def read_fp8(keys: Keys) -> Method:
    """The method of an fp8 config.

    Raises:
        Refused: vLLM does not take it.
    """
    required(keys, "activation_scheme")
    scheme = keys.text("activation_scheme")
    if scheme not in SCHEMES:
        raise Refused(f"Unsupported activation scheme {scheme}")
    block = keys.items("weight_block_size")
    if block is not None and len(block) != 2:
        raise Refused(
            "The quantization block size of weight must have 2 dimensions, but got "
            f"{len(block)} dimensions"
        )
    if block is not None and scheme != "dynamic":
        raise Refused(
            "The block-wise quantization only supports dynamic activation scheme for now, but got "
            f"{scheme} activation scheme."
        )
    return Fp8(
        static=scheme == "static",
        block=None if block is None else pair(keys, "weight_block_size"),
        ignored=words(keys, "ignored_layers") or words(keys, "modules_to_not_convert"),
        mxfp4_experts=keys.text("store_dtype", default="") == "mxfp4",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mxfp4:
    """Experts alone are stored so, whatever the config lists.

    Source: vllm/model_executor/layers/quantization/mxfp4.py, Mxfp4Config (v0.32.0)
    """

    name: str

    @property
    def facts(self) -> Quantisation:
        """bfloat16 alone."""
        return Quantisation(
            method=self.name,
            checkpoint="mxfp4",
            dtypes=(Dtype.BFLOAT16,),
            insists=self.name != "mxfp4",
        )

    def linear(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """Never."""
        return None

    def head(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """Never."""
        return None

    def experts(self, module: Module) -> Scheme | None:  # noqa: ARG002
        """Always."""
        gpt_oss = "GptOssMxfp4MoEMethod" if self.name == "gpt_oss_mxfp4" else ""
        return experts.mxfp4_tiled(gpt_oss)

    def cache(self, *, latent: bool) -> Scheme | None:  # noqa: ARG002
        """None."""
        return None
