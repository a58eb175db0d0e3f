"""The weights of a multimodal model's towers."""

from __future__ import annotations

from typing import Final

from vllm_parallel.layers.storage import Storage
from vllm_parallel.tower import Matrix, Span, Spread, Stack
from vllm_parallel.weight import Part, Split, Weight, whole

SPLITS: Final = {
    Spread.WHOLE: Split.COPY,
    Spread.TOWER: Split.TOWER,
    Spread.TENSOR: Split.TENSOR,
}
WHAT: Final = "units of a tower"


def tower_weights(stack: Stack, storage: Storage) -> tuple[Weight, ...]:
    """The parameters of one of a stack's layers.

    Source: vllm/model_executor/layers/linear.py (v0.32.0)
    """
    weights: list[Weight] = []
    for matrix in stack.matrices:
        weights += _matrix(matrix, storage)
    for plain in stack.plains:
        dimensions = tuple(whole(length) for length in plain.shape)
        weights.append(Weight(plain.name, dimensions, plain.dtype or storage.dtype))
    return tuple(weights)


def _matrix(matrix: Matrix, storage: Storage) -> list[Weight]:
    split = SPLITS[matrix.spread]
    out, into = (Split.COPY, split) if matrix.row else (split, Split.COPY)
    rows = tuple(_part(span, out) for span in matrix.out)
    return storage.linear(matrix.name, rows, (_part(matrix.into, into),), bias=matrix.bias)


def _part(span: Span, split: Split) -> Part:
    return Part(span.count, span.size, split, WHAT)
