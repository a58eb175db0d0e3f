"""What decode-context parallelism gains a model, or what refuses it."""

from __future__ import annotations

from typing import Final

from gridded import Subject
from model_tables import REFERENCES
from model_ways import placed
from model_widths import Asked, Said, Widths, alike, card
from vllm_parallel.catalog import load_gpu
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ledger import Capacity
from vllm_parallel.outcome import Found
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import counted, milliseconds, times, whole
from vllm_parallel.search import NOT_SIZED, appraised

TP: Final = (8, 16, 4, 2)  # the first that admits dcp is shown: a node, two, less
ON_ONE: Final = 1


def gains(subject: Subject) -> str:
    """Capacity and TPOT at each dcp beside one tp; where none is admitted, vLLM's sentence."""
    besides = {names[0]: _beside(subject, names[0]) for names in alike(REFERENCES)}
    without = [gpu for gpu, beside in besides.items() if beside is None]
    admitting = [gpu for gpu in besides if gpu not in without]
    refused = _none(subject, without) if without else ""
    if not admitting:
        return refused
    beside = besides[admitting[0]] or Layout()
    gpu, founds = _held(subject, beside, without)
    if not founds:
        return refused + _unheld(subject, beside)
    return refused + _table(subject, gpu, founds) + _why(subject)


def _table(subject: Subject, gpu: str, founds: list[Found]) -> str:
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
        f"{counted(founds[0].layout.ranks, 'GPU')}, {load_gpu(gpu).label}.{timed} Computed; "
        "tokens rest on an assumed overhead."
    )
    head = ("layout", "KV tokens", "of dcp1", "longest request", "TPOT")
    return table(head, rows, caption=caption)


def _tpot(found: Found) -> Cell:
    if found.figures is None:
        return Cell("no rates")
    return computed(milliseconds(found.figures.tpot_seconds))


def _asked(subject: Subject, gpu: str) -> Asked:
    return Asked(subject=subject, gpu=gpu)


def _beside(subject: Subject, gpu: str) -> Layout | None:
    """The tp beside which a dcp above 1 is admitted."""
    asked = _asked(subject, gpu)
    tensor = Widths.of(asked, Axis.TP, Layout()).admitted
    for tp in TP:
        layout = Layout(tp=tp)
        if tp in tensor and Widths.of(asked, Axis.DCP, layout).admitted[1:]:
            return layout
    return None


def _held(subject: Subject, beside: Layout, without: list[str]) -> tuple[str, list[Found]]:
    """The first reference GPU that holds it, and every dcp there."""
    none = {load_gpu(gpu).architecture for gpu in without}
    gpus = [gpu for gpu in REFERENCES if load_gpu(gpu).architecture not in none]
    for gpu in gpus:
        widths = Widths.of(_asked(subject, gpu), Axis.DCP, beside).admitted
        found = [_found(subject, gpu, Layout(tp=beside.tp, dcp=dcp)) for dcp in widths]
        if found[0] is not None:
            return gpu, [one for one in found if one is not None]
    return gpus[0], []


def _found(subject: Subject, gpu: str, layout: Layout) -> Found | None:
    deployment = placed(subject, gpu, layout)
    capacity: Capacity | None = subject.judge(deployment).capacity
    if capacity is None:
        return None
    found = Found(deployment=deployment, capacity=capacity)
    load = subject.load_on(gpu)
    priced = found if load is None else appraised(found, load.figures)
    return priced if isinstance(priced, Found) else found


def _why(subject: Subject) -> str:
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


def _none(subject: Subject, gpus: list[str]) -> str:
    """No dcp at all on GPUs like these: the sentence at the first tp that is admitted."""
    asked = _asked(subject, gpus[0])
    tensor = Widths.of(asked, Axis.TP, Layout()).admitted
    tp = next((tp for tp in TP if tp in tensor), ON_ONE)
    refused = Widths.of(asked, Axis.DCP, Layout(tp=tp)).refused
    like = {load_gpu(gpu).architecture for gpu in gpus}
    labels = [one.label for one in map(load_gpu, REFERENCES) if one.architecture in like]
    text = (
        f"<p>On {', '.join(labels)} vLLM starts no dcp above 1 beside any tp up to {max(TP)}.</p>"
    )
    cards = [card(said, f"{layout} on {labels[0]}") for layout, said, _ in refused]
    return text + "".join(cards[:1])


def _unheld(subject: Subject, beside: Layout) -> str:
    text = f"{beside} does not start on any of {', '.join(REFERENCES)}"
    said = Said(NOT_SIZED, f"{subject.name}: {text}.", "use more GPUs")
    return card(said, str(beside))
