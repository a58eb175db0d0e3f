"""What a method of quantisation says of the modules of a model."""

from __future__ import annotations

from typing import Final, Protocol

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Quantisation, Scheme

HALVES: Final = (Dtype.BFLOAT16, Dtype.FLOAT16)
Packed = dict[str, tuple[str, ...]]  # a fused layer, and the layers that a checkpoint has


class Refused(Exception):  # noqa: N818  # no error of ours: the sentence of a refusal by vLLM
    """vLLM raises here, in these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of the model, by vLLM's name of it."""

    prefix: str
    packed: Packed
    hidden: int
    projections: tuple[str, ...] = ()  # of an expert in a checkpoint

    @property
    def last(self) -> str:
        """The last part of its name."""
        return self.prefix.rpartition(".")[2]

    @property
    def shards(self) -> list[str]:
        """The names that a checkpoint has for a fused layer, empty if it is not fused."""
        return [self.prefix.replace(self.last, part) for part in self.packed.get(self.last, ())]


class Method(Protocol):
    """A method as the config sets it up; None stands for unquantised.

    Each may raise Refused, where vLLM would not build the layer.
    """

    @property
    def facts(self) -> Quantisation:
        """What it means for the whole model, the head aside."""

    def linear(self, module: Module) -> Scheme | None:
        """How a linear layer is stored."""

    def head(self, module: Module) -> Scheme | None:
        """How the head is stored."""

    def experts(self, module: Module) -> Scheme | None:
        """How experts are stored."""

    def cache(self, *, latent: bool) -> Scheme | None:
        """The scales that attention gets from a checkpoint."""


def skipped(module: Module, ignored: tuple[str, ...], *, substring: bool) -> bool:
    """Whether a list of names leaves a module out.

    Source: vllm/model_executor/layers/quantization/utils/quant_utils.py, is_layer_skipped
    (v0.32.0)
    """

    def matches(name: str) -> bool:
        return any(entry in name for entry in ignored) if substring else name in ignored

    if module.shards:
        if matches(module.prefix):
            return True
        return agreed([matches(name) for name in module.shards], module)
    if "experts" in module.prefix and not substring:
        return any(module.prefix in entry for entry in ignored if "experts" in entry)
    return matches(module.prefix)


def agreed(of_shards: list[bool], module: Module) -> bool:
    """What holds of all shards of a fused layer.

    Raises:
        Refused: it holds of some only.
    """
    if len(set(of_shards)) > 1:
        raise Refused(
            f"Detected some but not all shards of {module.prefix} are quantized. All shards of "
            "fused layers to have the same precision."
        )
    return of_shards[0]
