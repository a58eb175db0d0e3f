"""What torch's allocator takes beyond the bytes of a tensor.

Blocks of 10 MiB and more come alone, in whole 2 MiB; what a tensor leaves of its block stays with
it unless more than 1 MiB is left. Smaller tensors are cut from segments of 20 MiB, those up to
1 MiB from segments of 2 MiB.

Source: c10/cuda/CUDACachingAllocator.cpp, get_allocation_size and should_split (torch 2.11)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from vllm_parallel.shard import Shard
from vllm_parallel.units import MIB, round_up
from vllm_parallel.weight import Cut, Layer

ALONE: Final = 10 * MIB
UNIT: Final = 2 * MIB
KEPT: Final = MIB
SEGMENT: Final = 20 * MIB
SMALL: Final = MIB
SMALL_SEGMENT: Final = 2 * MIB


class Sizes(NamedTuple):
    """Tensors by how the allocator places them: bytes, and what the large ones leave over."""

    small: int = 0
    medium: int = 0
    kept: int = 0  # left over, at most 1 MiB a tensor
    split: int = 0  # left over and split off

    def plus(self, other: Sizes, count: int) -> Sizes:
        """With so many times the other."""
        return Sizes(*(a + b * count for a, b in zip(self, other, strict=True)))


def sizes_of(tensors: Iterable[int]) -> Sizes:
    """How tensors of these bytes are placed.

    >>> sizes_of([231 * 2**20, 42 * 2**20 + 2**19, 5, 3 * 2**20])
    Sizes(small=5, medium=3145728, kept=1048576, split=1572864)
    """
    found = Sizes()
    for amount in tensors:
        left = round_up(amount, UNIT) - amount
        if amount <= SMALL:
            found = found.plus(Sizes(small=amount), 1)
        elif amount < ALONE:
            found = found.plus(Sizes(medium=amount), 1)
        elif left <= KEPT:
            found = found.plus(Sizes(kept=left), 1)
        else:
            found = found.plus(Sizes(split=left), 1)
    return found


@lru_cache(maxsize=1024)
def _of_layer(layer: Layer, cut: Cut) -> Sizes:
    return sizes_of(weight.bytes(cut) for weight in (*layer.weights, *layer.copies))


def rounding_bytes(shard: Shard, *, whole_segments: bool) -> int:
    """Bytes that a rank's weights take beyond their own.

    With `whole_segments` what is split off or not filled counts too: the GPU has it no more.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.deployment import Deployment
    >>> from vllm_parallel.layout import Layout
    >>> model = load_model("llama-3.1-8b")
    >>> shard = Shard.of(Deployment(model=model, layout=Layout(tp=4)), 0)
    >>> rounding_bytes(shard, whole_segments=False)
    0
    """
    tables = [rotary.bytes for rotary in shard.deployment.model.rotaries]
    found = sizes_of(tables)
    for layer, count in shard.layers.items():
        found = found.plus(_of_layer(layer, shard.cut), count)
    if not whole_segments:
        return found.kept
    medium = round_up(found.medium, SEGMENT) - found.medium
    small = round_up(found.small, SMALL_SEGMENT) - found.small
    return found.kept + found.split + medium + small
