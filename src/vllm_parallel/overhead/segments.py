"""What a rank's tensors take of torch's allocator, placed one at a time in the order of loading.

Source: c10/cuda/CUDACachingAllocator.cpp, get_allocation_size and should_split (torch 2.10)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

from vllm_parallel.graph import ModelGraph
from vllm_parallel.overhead.allocator import ALONE, SEGMENT, SMALL, SMALL_SEGMENT, UNIT
from vllm_parallel.shard import Shard
from vllm_parallel.units import round_up

GRAIN: Final = 512


def allocated_bytes(tensors: Iterable[int]) -> int:
    """Bytes that torch counts as allocated for tensors of these bytes.

    A tensor takes the smallest free block that holds it. What it leaves is free again, unless a
    large tensor leaves 1 MiB or less.

    >>> allocated_bytes([11 * 2**20]) == 12 * 2**20, allocated_bytes([3 * 2**20]) == 3 * 2**20
    (True, True)
    """
    free: tuple[list[int], list[int]] = ([], [])  # blocks of small and of large segments
    allocated = 0
    for tensor in tensors:
        size = max(GRAIN, round_up(tensor, GRAIN))
        small = size <= SMALL
        blocks = free[0] if small else free[1]
        fitting = bisect_left(blocks, size)
        block = blocks.pop(fitting) if fitting < len(blocks) else _segment(size)
        left = block - size
        if left >= GRAIN if small else left > SMALL:
            insort(blocks, left)
            allocated += size
        else:
            allocated += block
    return allocated


def _segment(size: int) -> int:
    if size <= SMALL:
        return SMALL_SEGMENT
    return SEGMENT if size < ALONE else round_up(size, UNIT)


def tensors_of(shard: Shard) -> Iterator[int]:
    """Bytes of a rank's large tensors as they are made: towers, layers in order, ends, copies."""
    model, cut = shard.deployment.model, shard.cut
    graph = ModelGraph.of(model)
    for tower in shard.deployment.towers:
        for layer, count in graph.towers[tower].items():
            yield from [weight.bytes(cut) for weight in layer.weights] * count
        yield tower.buffer_bytes
    ends = graph.ends(
        first=shard.rank.pp == 0, last=shard.rank.pp == shard.deployment.layout.pp - 1
    )
    if graph.embedding in ends:
        yield from (weight.bytes(cut) for weight in graph.embedding.weights)
    yield from (model.rotaries[table].bytes for table in _tables(shard))
    blocks = [graph.kinds[kind] for kind in model.pattern[shard.start : shard.stop]]
    for block in blocks:
        yield from (weight.bytes(cut) for weight in (*block.weights, *block.buffers))
    for end in ends:
        if end is not graph.embedding:
            yield from (weight.bytes(cut) for weight in end.weights)
    for block in blocks:
        yield from (weight.bytes(cut) for weight in block.copies)


def _tables(shard: Shard) -> list[int]:
    kinds = shard.deployment.model.kinds
    found = (kinds[kind].attention for kind in shard.kinds)
    return sorted({one.rotary for one in found if one is not None and one.rotates})


def kept_bytes(shard: Shard) -> int:
    """What tensors take beyond their own bytes and stays with them, small ones aside.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.deployment import Deployment
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=2))
    >>> kept_bytes(Shard.of(deployment, 0)) == 2 * 2**20  # embedding and head: 501 MiB each
    True
    """
    large = [amount for amount in tensors_of(shard) if amount > SMALL]
    return allocated_bytes(large) - sum(round_up(amount, GRAIN) for amount in large)
