"""Tensors that only some families have, and what stands at the ends of a model."""

from __future__ import annotations

from enum import StrEnum

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass


class Over(StrEnum):
    """What the rows of a family's own tensor are split over."""

    NOTHING = "copied to every rank"
    TENSOR = "over tp"
    VOCABULARY = "padded to 64, over tp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A tensor that a family has beside attention, MLP, norms, embedding and head.

    Of no columns it is a vector. `linear` tells a linear layer, whose name lacks `.weight`.

    >>> Extra(name="per_layer_input_gate", rows=256, columns=2304, linear=True).over
    <Over.NOTHING: 'copied to every rank'>
    """

    name: str
    rows: int
    columns: int = 0
    over: Over = Over.NOTHING
    columns_over: Over = Over.NOTHING
    linear: bool = False
    bias: bool = False
    dtype: Dtype | None = None  # None: the model's


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What stands before the first block and after the last, beside embedding and head.

    `with_embedding` is held where the embedding is, `everywhere` and `buffers` on every stage.
    """

    norms: tuple[str, ...] = ("norm",)  # empty: the final norm has no weight
    norm_bias: bool = False
    head_bias: bool = False
    with_embedding: tuple[Extra, ...] = ()
    everywhere: tuple[Extra, ...] = ()
    buffers: tuple[Extra, ...] = ()
