"""The catalog on one node, for readers without JavaScript and at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel import Settings, load_gpu, load_model, model_names
from vllm_parallel.errors import CatalogError
from vllm_parallel.layouts import CONTEXT, LayoutsAnswer, Terms
from vllm_parallel.planned.rows import OWN_WORD, Shelf, row_of
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import whole

GPU: Final = "h200"
GPUS: Final = 8
LENGTH: Final = 8192


def catalog_on_a_node() -> str:
    """Each model on eight GPUs: how many layouts start, the first by TPOT, and what it holds."""
    terms = Terms(gpus=GPUS)
    head = ("model", "start", "first by TPOT", "TPOT", "at once", "KV tokens", "longest request")
    caption = (
        f"Each model on {GPUS} × {load_gpu(GPU).label}, --max-model-len {LENGTH} or what the "
        f"model allows, --gpu-memory-utilization {Settings().gpu_memory_utilization}: the layout "
        f"with the least TPOT under {terms.concurrency} requests of {whole(CONTEXT)} tokens. KV "
        "tokens are of the service. Computed, not measured; memory rests on an assumed overhead."
    )
    return table(head, [list(_row(name, terms)) for name in model_names()], caption=caption)


def _row(name: str, terms: Terms) -> Iterator[Cell]:
    yield Cell(name)
    length = min(LENGTH, load_model(name).context.max_model_len)
    question = {"model": name, "gpu": GPU, "args": {"max_model_len": length}}
    try:
        outcome = LayoutsAnswer.of(question, terms).outcome
    except CatalogError:
        yield from (Cell("not sized"), *[Cell("")] * 5)
        return
    yield computed(f"{len(outcome.found)} of {outcome.searched}")
    if not outcome.found:
        yield from [Cell("none")] + [Cell("")] * 4
        return
    best = outcome.found[0]
    row = row_of(best, Shelf(OWN_WORD))
    yield Cell(str(best.layout))
    yield computed(row.tpot or "")
    yield computed(row.running or "")
    yield Cell(row.service, Provenance.ASSUMED)
    yield Cell(row.longest, Provenance.ASSUMED)
