"""What a reader of two readings should know beside their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vllm_parallel.engine.metrics.snapshot import EngineMetrics, Snapshot
from vllm_parallel.frozen import dataclass

NEAR: Final = 0.1  # a share of the pool: what is kept back, and what does not fill a request


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool:
    """The pool of an engine as `cache_config_info` gives it."""

    blocks: int
    block_size: int
    tokens: int | None


def missing(
    place: str, engine: EngineMetrics | None, names: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """The metrics of these that a reading of an engine lacks.

    Before the first request a server of several front ends has no gauges: nobody asks for those.

    >>> list(missing("a.prom", EngineMetrics(engine=0), {"running": ("vllm:running",)}))
    ['a.prom has no vllm:running']
    """
    for name, (newest, *_) in names.items():
        if engine is not None and getattr(engine, name) is None:
            yield f"{place} has no {newest}"


def pools(reading: Snapshot) -> Iterator[str]:
    """Where blocks times their size are not an engine's tokens, and why."""
    found = [
        _Pool(blocks=one.num_blocks, block_size=one.block_size, tokens=one.kv_cache_size_tokens)
        for one in reading.engines
        if one.num_blocks is not None and one.block_size is not None
    ]
    for pool in dict.fromkeys(found):
        product = pool.blocks * pool.block_size
        blocks = f"{pool.blocks} blocks of {pool.block_size} tokens, {product} in all"
        if why := _why(product, pool.tokens, len(reading.engines)):
            yield f"{reading.place} has {blocks}{why}"


def _why(product: int, tokens: int | None, engines: int) -> str | None:
    """Why the product is not the pool of an engine; None where it is."""
    if tokens is None:
        return ": of one rank, so multiply by --decode-context-parallel-size"
    pool = f", where an engine's pool has {tokens}"
    if tokens and engines > 1 and abs(product / tokens / engines - 1) < NEAR:
        return f"{pool}: vLLM adds up the blocks of its {engines} engines"
    if product < tokens * (1 - NEAR):
        return f"{pool}: with decode-context parallelism a block holds its tokens times dcp"
    if product > tokens * (1 + NEAR):
        return f"{pool}: layers of several kinds share the blocks, or engines are added up"
    return None
