"""The block size that a stage settles on: its back ends' choice, then what states need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import lcm

from vllm_parallel.block import rank_kv_heads
from vllm_parallel.deployment import Deployment
from vllm_parallel.kv.backends import Backend
from vllm_parallel.kv.layers import Slot, backends_of, chip_of, head_bytes, widest_head
from vllm_parallel.kv.paging import DEFAULT_BLOCK, Paging
from vllm_parallel.kv.words import cache_word, skipped_layers
from vllm_parallel.units import ceil_div


def settled(deployment: Deployment, slots: tuple[Slot, ...]) -> Paging:
    """What the workers of a stage with these kinds of layer, in their order, settle on.

    Source: vllm/platforms/interface.py, update_block_size_for_backend (v0.32.0)
    """
    backends = backends_of(slots, deployment)
    asked = deployment.settings.block_size
    if not backends:
        return Paging(block_size=asked or DEFAULT_BLOCK)
    sizes = [kernel_sizes(backend, deployment) for backend in backends]
    block = preferred_block(sizes) if asked is None else asked
    paging = Paging(block_size=block)
    if deployment.model.mixers:
        from vllm_parallel.kv.hybrid import aligned  # noqa: PLC0415  # only such models pay

        paging = aligned(deployment, backends[0], sizes, block)
    skips = skipped_layers(deployment)
    return _for_skipped(paging, deployment, backends[0]) if skips else paging


def _for_skipped(paging: Paging, deployment: Deployment, backend: Backend) -> Paging:
    """Blocks raised until a quantised page holds one of a layer that is not.

    Source: vllm/platforms/interface.py, _align_heterogeneous_kv_block_size (v0.32.0)
    """
    model, word = deployment.model, cache_word(deployment)
    heads = rank_kv_heads(model.kv_heads, deployment.layout.tp)
    width = widest_head(model)
    quantised = heads * head_bytes(width, word, model.dtype, backend)
    plain = heads * head_bytes(width, "auto", model.dtype, backend)
    if plain == quantised:
        return paging
    smallest = min(kernel_sizes(backend, deployment))
    step = max(smallest, paging.block_size)
    page = max(plain * smallest, paging.state_page or 0)
    block = max(paging.block_size, step * ceil_div(page, step * quantised))
    shared = block * quantised
    state_page = None if paging.state_page is None else shared
    return Paging(
        block_size=block, state_page=state_page, aligned=paging.aligned, skipped_page=shared
    )


def kernel_sizes(backend: Backend, deployment: Deployment) -> tuple[int, ...]:
    """Blocks that a back end's kernels read, by the widest heads of the model."""
    widest = widest_head(deployment.model)
    return backend.kernel_sizes(widest, cache_word(deployment), chip_of(deployment))


def preferred_block(sizes: Sequence[tuple[int, ...]]) -> int:
    """The smallest block that every back end reads, 16 if that is one.

    Source: vllm/platforms/interface.py, _preferred_block_size_for_backends (v0.32.0)

    >>> preferred_block([(64,)]), preferred_block([(16, 32, 64), (16,)]), preferred_block([(48,)])
    (64, 16, 48)
    """
    if all(_reads(block_sizes, DEFAULT_BLOCK) for block_sizes in sizes):
        return DEFAULT_BLOCK
    return min(lcm(*chosen) for chosen in product(*sizes))


def _reads(sizes: tuple[int, ...], block: int) -> bool:
    return any(block % size == 0 for size in sizes)
