"""The two ledgers of `guide/estimate`: the source's arithmetic, the package, their difference."""

from __future__ import annotations

import figures
from guided import GPU, Guide
from vllm_parallel.ledger import LOADED
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, table
from vllm_parallel.render.numbers import whole
from vllm_parallel.units import GIB

COMPUTED, ASSUMED = Provenance.COMPUTED, Provenance.ASSUMED


def two_ledgers(guide: Guide) -> str:
    """Both ledgers of one layout in columns, and what the package adds to the source."""
    layout, source = guide.deployment.layout, figures.estimate
    budget = guide.budget
    rank = budget.ledger.shard.rank.number
    total = source["GPU_GIB"]
    utilization = guide.deployment.settings.gpu_memory_utilization
    weights = source["WEIGHT_GIB"] / (layout.tp * layout.pp)
    assumed = source["OVERHEAD_GIB"]
    ours = {term.name: term.bytes / GIB for term in budget.ledger.terms}
    overhead = sum(amount for name, amount in ours.items() if name not in LOADED)
    left = total * utilization - weights - assumed
    lines = [
        ("memory of the GPU", total, GPU.runtime_memory_bytes / GIB),
        ("of it, utilization 0.90", total * utilization, budget.requested_bytes / GIB),
        ("weights", -weights, -ours["weights"]),
        ("buffers", 0.0, -ours["buffers"]),
        ("copies after loading", 0.0, -ours["copies after loading"]),
        ("allocator rounding", 0.0, -ours["allocator rounding"]),
        ("overhead", -assumed, -overhead),
        ("left for KV", left, budget.available_kv_bytes / GIB),
    ]
    rows = [_line(name, theirs, mine) for name, theirs, mine in lines]
    tokens = source["tokens_per_pool"](layout.tp, layout.pp) // 16 * 16
    more = guide.tokens - tokens
    rows.append(
        [
            Cell("tokens in a pool, whole blocks"),
            Cell(whole(tokens), ASSUMED),
            Cell(whole(guide.tokens), ASSUMED),
            Cell(f"{more:+,}".replace("-", "−"), COMPUTED),
        ]
    )
    caption = f"{layout}, GiB on rank {rank}, the tightest. Italics rest on an assumption."
    head = (str(layout), "the source", "this package", "difference")
    return table(head, rows, caption=caption, totals=(7, 8))


def _line(name: str, theirs: float, mine: float) -> list[Cell]:
    known = ASSUMED if name in ("overhead", "left for KV") else COMPUTED
    total = name == "memory of the GPU"
    return [
        Cell(name),
        Cell(signed(theirs), ASSUMED if total else known),
        Cell(signed(mine), Provenance.MEASURED if total else known),
        Cell(signed(mine - theirs, plus=True), COMPUTED),
    ]


def signed(amount_gib: float, *, plus: bool = False) -> str:
    """Three places, a true minus, and nothing for what rounds to zero."""
    text = f"{abs(amount_gib):.3f}"
    if float(text) == 0:
        return "0"
    if amount_gib < 0:
        return f"−{text}"
    return f"+{text}" if plus else text
