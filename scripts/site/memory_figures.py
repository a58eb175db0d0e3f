"""The pictures of `guide/estimate`: what each GPU holds, and the pools that this makes."""

from __future__ import annotations

from guided import GPU, Guide, guide_layouts
from vllm_parallel.render.memory import MemoryBar, memory_bars
from vllm_parallel.render.numbers import ranks
from vllm_parallel.render.pools import Pools, pools


def gpu_bars() -> str:
    """A bar for each kind of rank: one a layout, one a stage where there are two."""
    bars = [bar for one in guide_layouts for bar in _bars(one)]
    picture = memory_bars(bars, "memory-bars", "Memory of one GPU in three layouts, GiB")
    return _figure(
        picture,
        "Each bar is one H100 as the CUDA runtime reports it. Weights are computed; the overhead, "
        "and with it the KV cache, is assumed: the line below a bar spans where it may end. "
        "Beyond the budget lie the CUDA context and NCCL's buffers.",
    )


def service_pools() -> str:
    """A row for each layout."""
    rows = [
        Pools.of(one.deployment, one.verdict.capacity)
        for one in guide_layouts
        if one.verdict.capacity is not None
    ]
    picture = pools(rows, "service-pools", "KV pools of three layouts, in tokens")
    return _figure(picture, "Tokens of each pool, on the assumed overhead. A request keeps to one.")


def _bars(one: Guide) -> list[MemoryBar]:
    layout = one.deployment.layout
    width = layout.tp * layout.pcp
    found = []
    for stage, budget in enumerate(one.budgets):
        held = [
            engine * layout.world_size + stage * width + place
            for engine in range(layout.dp)
            for place in range(width)
        ]
        named = f"{layout}, stage {stage}" if layout.pp > 1 else str(layout)
        found.append(MemoryBar.of(budget, GPU, f"{named}: each of ranks {ranks(tuple(held))}"))
    return found


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
