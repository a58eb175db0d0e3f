"""The catalog on one node, for readers without JavaScript and at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from grid import LENGTH, PER_NODE
from gridded import Outcomes
from vllm_parallel import Settings, load_gpu
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.outcome import Goal
from vllm_parallel.planned.rows import OWN_WORD, Shelf, row_of
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, table
from vllm_parallel.render.numbers import whole

GPU: Final = "h200"
GPUS: Final = PER_NODE
COLUMNS: Final = {  # and how a figure in one is known; None is text
    "start": Provenance.COMPUTED,
    "first by TPOT": None,
    "TPOT": Provenance.COMPUTED,
    "at once": Provenance.COMPUTED,
    "KV tokens": Provenance.ASSUMED,
    "longest request": Provenance.ASSUMED,
}


def texts_of(outcomes: Outcomes | None) -> list[str]:
    """A model on the node: how many layouts start, the first by TPOT, and what it holds."""
    if outcomes is None:
        return ["not sized"]
    outcome = outcomes[Goal.TPOT]
    start = f"{len(outcome.found)} of {outcome.searched}"
    if not outcome.found:
        return [start, "none"]
    best = outcome.found[0]
    row = row_of(best, Shelf(OWN_WORD))
    return [start, str(best.layout), row.tpot or "", row.running or "", row.service, row.longest]


def catalog_on_a_node(models: Iterable[Mapping[str, object]]) -> str:
    """Each model on the node, from what was written of it."""
    caption = (
        f"Each model on {GPUS} × {load_gpu(GPU).label}, --max-model-len {LENGTH} or what the "
        f"model allows, --gpu-memory-utilization {Settings().gpu_memory_utilization}: the layout "
        f"with the least TPOT under {CONCURRENCY} requests of {whole(CONTEXT)} tokens. KV "
        "tokens are of the service. Computed, not measured; memory rests on an assumed overhead."
    )
    rows = [[Cell(str(model["name"])), *_cells(model["on a node"])] for model in models]
    return table(("model", *COLUMNS), rows, caption=caption)


def _cells(texts: object) -> Iterator[Cell]:
    """A cell of each column; a row that ends early has none of the figures behind."""
    given: Sequence[object] = texts if isinstance(texts, list) else []
    for number, kind in enumerate(COLUMNS.values()):
        told = number < len(given)
        sized = told and len(given) > 1
        yield Cell(str(given[number]) if told else "", kind if sized else None)
