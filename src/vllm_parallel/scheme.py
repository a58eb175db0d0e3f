"""How a quantised layer is stored: its tensors, and what each of their axes runs along."""

from __future__ import annotations

from enum import StrEnum

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass


class Along(StrEnum):
    """What an axis of a stored tensor runs along."""

    ROWS = "outputs of the layer"
    COLUMNS = "inputs of the layer"
    PARTS = "layers that are fused into one: q, k and v, or gate and up"
    FIXED = "a number of its own"
    ALL_COLUMNS = "inputs of the layer, in units of the inputs that all ranks have together"


class Unit(StrEnum):
    """A length that a rank's share of an expert decides."""

    BLOCK = "a block of scales, refined until the share is whole blocks"
    GROUP = "a group of scales, halved until the share is whole groups"


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a stored tensor: `times / per` units for each row, column or part.

    >>> Axis(Along.COLUMNS, per=128, up=True).length(200)
    2
    """

    along: Along
    times: int = 1
    per: int = 1
    up: bool = False  # a unit that is cut counts whole
    unit: Unit | None = None  # takes the place of `per`

    def length(self, units: int) -> int:
        """Elements of this axis for so many rows, columns or parts."""
        count = units * self.times
        return -(-count // self.per) if self.up else count // self.per


@dataclass(frozen=True, slots=True)
class Tensor:
    """One parameter of a quantised layer; `dtype` is None where it is the model's."""

    name: str
    axes: tuple[Axis, ...]
    dtype: Dtype | None


class Biases(StrEnum):
    """Whether experts that are stored so have biases."""

    NONE = "none, even where the model has them"
    MODEL = "where the model has them"
    ALWAYS = "always: a checkpoint may bring some"


class Kind(StrEnum):
    """The layouts whose create_weights tests the shape that it is given."""

    ANY = "takes every shape"
    FP8_BLOCK = "scales of blocks"
    AWQ = "AutoAWQ"
    GPTQ = "GPTQModel"
    PACKED = "compressed-tensors, packed integers"
    INT4_FP8 = "compressed-tensors, integers for fp8 activations"
    NVFP4 = "ModelOpt, NVFP4"
    MXFP8 = "ModelOpt, MXFP8"
    BLOCK_WEIGHT_ONLY = "ModelOpt, blocks of 128"
    HALVED = "MoeWNA16: groups of at least 32"
    UNBUILDABLE = "vLLM dies when it builds this"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scheme:
    """How a linear layer is stored, or the experts of a layer: `tensors`, then `down`.

    Schemes compare by identity: each is made once for its numbers.
    """

    tensors: tuple[Tensor, ...]
    down: tuple[Tensor, ...] = ()  # of the experts' second matrix; the first has `tensors`
    kind: Kind = Kind.ANY
    bits: int = 0
    group: int = 0  # columns that share a scale; -1: all of them
    zero_points: bool = False
    block: tuple[int, int] = (1, 1)  # rows and columns that share a scale
    lenient: bool = False  # a cut block is made finer in experts, passed over in fused layers
    tiled: bool = False  # experts are padded to the tile of the GPU's kernel
    biases: Biases = Biases.NONE
    unbalanced: str = ""  # the class of experts whose load EPLB cannot balance
    otherwise: Scheme | None = None  # where a rank's share of an expert cuts a group


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """What a `quantization_config` means for the whole model.

    `method` is vLLM's own name of it, `checkpoint` the config's.

    Source: vllm/config/vllm.py, _get_quantization_config (v0.32.0)
    """

    method: str
    checkpoint: str
    dtypes: tuple[Dtype, ...]  # of activations, in the order of vLLM's message
    insists: bool = False  # on its own name, whatever `--quantization` says
    head: Scheme | None = None
    kv_cache_dtype: str | None = None  # in the place of `auto`
    refused_at_config: str | None = None  # vLLM's sentence on what the config asks for
    refused_at_load: str | None = None
