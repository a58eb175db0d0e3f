"""What decode-context parallelism gains a model, or what refuses it."""

from __future__ import annotations

from typing import Final

from gridded import Subject, cluster_of
from model_tables import REFERENCES
from model_widths import Said, Widths, card
from vllm_parallel.catalog import load_gpu
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ledger import Capacity
from vllm_parallel.outcome import Found
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import counted, times, whole
from vllm_parallel.search import NOT_SIZED, appraised

TP: Final = (8, 16, 4, 2)  # the first that admits dcp is shown: a node, two, less
ON_ONE: Final = 1


def gains(subject: Subject) -> str:
    """Capacity and TPOT at each dcp beside one tp; where none is admitted, vLLM's sentence."""
    admitting = {gpu: _beside(subject, gpu) for gpu in REFERENCES}
    for gpu, beside in admitting.items():
        founds = _held(subject, gpu, beside) if beside else []
        if beside and founds:
            refusing = [name for name in REFERENCES if admitting[name] is None]
            return _table(subject, gpu, beside, founds) + _why(subject, refusing)
    beside = next(filter(None, admitting.values()), None)
    return _unheld(subject, beside) if beside else _none(subject)


def _table(subject: Subject, gpu: str, beside: Layout, founds: list[Found]) -> str:
    first = founds[0].capacity
    load = subject.load_on(gpu)
    rows = [
        [
            Cell(str(one.layout)),
            Cell(whole(one.capacity.tokens), Provenance.ASSUMED),
            computed(times(one.capacity.tokens / first.tokens)),
            Cell(whole(one.longest_request), Provenance.ASSUMED),
            _tpot(one),
        ]
        for one in founds
    ]
    timed = ""
    if load is not None:
        requests = counted(load.concurrency, "request")
        timed = f" TPOT is of {requests} of {whole(load.context)} tokens."
    caption = (
        f"{counted(beside.ranks, 'GPU')}, {load_gpu(gpu).label}.{timed} Computed; tokens rest on "
        "an assumed overhead."
    )
    head = ("layout", "KV tokens", "of dcp1", "longest request", "TPOT")
    return table(head, rows, caption=caption)


def _tpot(found: Found) -> Cell:
    if found.figures is None:
        return Cell("no rates")
    return computed(f"{found.figures.tpot_seconds * 1e3:.1f} ms")


def _beside(subject: Subject, name: str) -> Layout | None:
    """The tp beside which a dcp above 1 is admitted on a GPU."""
    gpu = load_gpu(name)
    tensor = Widths.of(subject.model, Axis.TP, Layout(), gpu).admitted
    for tp in TP:
        layout = Layout(tp=tp)
        if tp in tensor and Widths.of(subject.model, Axis.DCP, layout, gpu).admitted[1:]:
            return layout
    return None


def _held(subject: Subject, gpu: str, beside: Layout) -> list[Found]:
    """Every dcp beside a tp on a GPU, none where the tp alone does not start."""
    widths = Widths.of(subject.model, Axis.DCP, beside, load_gpu(gpu)).admitted
    found = [_found(subject, gpu, Layout(tp=beside.tp, dcp=dcp)) for dcp in widths]
    return [] if found[0] is None else [one for one in found if one is not None]


def _found(subject: Subject, gpu: str, layout: Layout) -> Found | None:
    deployment = Deployment(
        model=subject.model,
        layout=layout,
        settings=subject.settings,
        cluster=cluster_of(gpu, layout.ranks),
    )
    capacity: Capacity | None = subject.judge(deployment).capacity
    if capacity is None:
        return None
    found = Found(deployment=deployment, capacity=capacity)
    load = subject.load_on(gpu)
    priced = found if load is None else appraised(found, load.figures)
    return priced if isinstance(priced, Found) else found


def _why(subject: Subject, refusing: list[str]) -> str:
    """What dcp shares out, and the reference GPUs on which vLLM refuses it."""
    labels = " and ".join(load_gpu(name).label for name in refusing)
    there = f"<p>On {labels} vLLM starts no dcp above 1 beside these tp.</p>" if refusing else ""
    return there + _shared(subject)


def _shared(subject: Subject) -> str:
    model = subject.model
    if model.is_latent:
        return (
            "<p>Every rank of tp caches the same latent vectors; dcp shares them out, up to a "
            "whole copy for each rank less.</p>"
        )
    return (
        f"<p>With more ranks of tp than its {counted(model.kv_heads, 'KV head')}, each head is "
        "cached more than once; dcp shares the copies out.</p>"
    )


def _none(subject: Subject) -> str:
    """No dcp at all: the sentence at the first tp that is admitted."""
    gpu = load_gpu(REFERENCES[0])
    tensor = Widths.of(subject.model, Axis.TP, Layout(), gpu).admitted
    tp = next((tp for tp in TP if tp in tensor), ON_ONE)
    refused = Widths.of(subject.model, Axis.DCP, Layout(tp=tp), gpu).refused
    labels = ", ".join(load_gpu(name).label for name in REFERENCES)
    text = f"<p>vLLM starts no dcp above 1 beside any tp up to {max(TP)} on {labels}.</p>"
    cards = [card(said, layout) for layout, said, _ in refused]
    return text + "".join(cards[:1])


def _unheld(subject: Subject, beside: Layout) -> str:
    text = f"{beside} does not start on any of {', '.join(REFERENCES)}"
    said = Said(NOT_SIZED, f"{subject.name}: {text}.", "use more GPUs")
    return card(said, str(beside))
