"""What torch's allocator takes of the GPU beyond the bytes of a rank's tensors.

Tensors of 10 MiB and more come alone, in whole 2 MiB. Smaller ones share segments of 20 MiB, those
up to 1 MiB segments of 2 MiB.

Source: c10/cuda/CUDACachingAllocator.cpp, get_allocation_size (torch 2.11)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from vllm_parallel.overhead.allocator import ALONE, SEGMENT, SMALL, SMALL_SEGMENT, UNIT
from vllm_parallel.shard import Shard, Slice, layers_of
from vllm_parallel.units import round_up
from vllm_parallel.weight import Cut, Layer


class Sizes(NamedTuple):
    """Bytes of small and medium tensors, and what the large ones leave of their segments."""

    small: int = 0
    medium: int = 0
    left: int = 0

    def plus(self, other: Sizes, count: int) -> Sizes:
        """With so many times the other."""
        return Sizes(*(a + b * count for a, b in zip(self, other, strict=True)))

    @property
    def rounding(self) -> int:
        """What segments hold beside the tensors."""
        medium = round_up(self.medium, SEGMENT) - self.medium
        return self.left + medium + round_up(self.small, SMALL_SEGMENT) - self.small


def sizes_of(tensors: Iterable[int]) -> Sizes:
    """How tensors of these bytes are placed.

    >>> sizes_of([231 * 2**20, 42 * 2**20 + 2**19, 5, 3 * 2**20])
    Sizes(small=5, medium=3145728, left=2621440)
    """
    small = medium = left = 0
    for amount in tensors:
        if amount <= SMALL:
            small += amount
        elif amount < ALONE:
            medium += amount
        else:
            left += round_up(amount, UNIT) - amount
    return Sizes(small, medium, left)


@lru_cache(maxsize=1024)
def _of_layer(layer: Layer, cut: Cut) -> Sizes:
    return sizes_of(weight.bytes(cut) for weight in (*layer.weights, *layer.copies))


def rounding_bytes(shard: Shard, *, whole_segments: bool) -> int:
    """Bytes that a rank's tensors take beyond their own.

    With `whole_segments` all that the GPU has no more; else what torch counts as allocated.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.deployment import Deployment
    >>> from vllm_parallel.layout import Layout
    >>> model = load_model("llama-3.1-8b")
    >>> shard = Shard.of(Deployment(model=model, layout=Layout(tp=4)), 0)
    >>> rounding_bytes(shard, whole_segments=False)
    0
    """
    if not whole_segments:
        from vllm_parallel.overhead.segments import kept_bytes  # noqa: PLC0415  # logs alone need it

        return kept_bytes(shard)
    return _whole_segments(shard.slice)


@lru_cache(maxsize=1024)
def _whole_segments(part: Slice) -> int:
    found = sizes_of(rotary.bytes for rotary in part.model.rotaries)
    for layer, count in layers_of(part).items():
        found = found.plus(_of_layer(layer, part.cut), count)
    return found.rounding
