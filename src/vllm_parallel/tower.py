"""What a multimodal model holds beside its language model: towers for images, video, sound."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass

INDEX_BYTES: Final = 8  # one position of a table of positions


class Spread(StrEnum):
    """What cuts a matrix of a tower."""

    WHOLE = "whole on every rank"
    TOWER = "over tp, whole on every rank where inputs are dealt to the ranks"
    TENSOR = "over tp, however inputs are dealt"


@dataclass(frozen=True, slots=True, repr=False)
class Span:
    """One side of a matrix: `count` units of `size` elements, as heads of a width."""

    count: int
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Matrix:
    """A linear layer: `out` are the matrices that are made at once, as q, k and v.

    A `column` layer is cut along what comes out, a `row` layer along what goes in.
    """

    name: str
    out: tuple[Span, ...]
    into: Span
    spread: Spread = Spread.TOWER
    row: bool = False
    bias: bool = True
    quantisable: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Plain:
    """A parameter that every rank holds whole: a norm, a table of positions, a convolution."""

    name: str
    shape: tuple[int, ...]
    dtype: Dtype | None = None  # None: the model's


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stack:
    """Layers alike, `count` of them."""

    name: str
    count: int = 1
    matrices: tuple[Matrix, ...] = ()
    plains: tuple[Plain, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Patches:
    """What a tower reads: the numbers of a patch, and the patches that become one token."""

    values: int
    per_token: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tower:
    """An encoder and what joins it to the language model; every pipeline stage holds both.

    It is left out where none of its `modalities` may be asked for. With
    `--mm-encoder-tp-mode data` a tower that `deals` inputs is whole on every rank. Towers compare
    by identity: one is made once for equal configs.

    Source: vllm/model_executor/models/interfaces.py, _mark_tower_model (v0.32.0)
    """

    name: str
    modalities: tuple[str, ...]
    heads: int
    stacks: tuple[Stack, ...]
    buffer_bytes: int = 0  # tables of positions
    deals: bool = False
    patches: Patches | None = None  # None: not of images, or not known
    first_layers: int = 0  # layers of the language model that the first stage has to hold
