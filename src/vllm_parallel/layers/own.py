"""Tensors that a family has of its own."""

from __future__ import annotations

from typing import Final

from vllm_parallel.extras import Extra, Over
from vllm_parallel.layers.storage import Storage
from vllm_parallel.weight import Part, Split, Weight, whole

SPLITS: Final = {
    Over.NOTHING: Split.COPY,
    Over.TENSOR: Split.TENSOR,
    Over.VOCABULARY: Split.VOCABULARY,
}


def own_weights(extra: Extra, storage: Storage) -> list[Weight]:
    """The parameters of a tensor or linear layer of the family's own.

    >>> from vllm_parallel.dtype import Dtype
    >>> storage = Storage(hidden=8, dtype=Dtype.BFLOAT16)
    >>> [w.name for w in own_weights(Extra(name="up", rows=4, columns=8, linear=True), storage)]
    ['up.weight']
    """
    rows = (Part(extra.rows, 1, SPLITS[extra.over], f"rows of {extra.name}"),)
    if extra.linear:
        split = SPLITS[extra.columns_over]
        columns = (Part(extra.columns, 1, split, f"columns of {extra.name}"),)
        return storage.linear(extra.name, rows, columns, bias=extra.bias)
    dimensions = (rows, whole(extra.columns)) if extra.columns else (rows,)
    return [Weight(extra.name, dimensions, extra.dtype or storage.dtype)]
