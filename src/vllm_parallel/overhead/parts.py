"""The overhead of one rank, term by term."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from vllm_parallel.overhead.coefficients import Coefficients
from vllm_parallel.overhead.graphs import graph_bytes
from vllm_parallel.overhead.peaks import (
    expert_scratch,
    forward_peak,
    sampler_peak,
    sampler_state,
    stage_buffers,
)
from vllm_parallel.overhead.repacking import repacked_bytes
from vllm_parallel.overhead.rounding import rounding_bytes
from vllm_parallel.provenance import Provenance
from vllm_parallel.shard import Shard
from vllm_parallel.term import Span, Term


class Part(NamedTuple):
    """A part of the overhead: what it is called, where its form stands, whether it was fitted."""

    name: str
    source: str
    fitted: bool = False


PARTS: Final = (
    Part("repacked experts", "vllm/model_executor/layers/fused_moe/oracle/mxfp4.py"),
    Part("allocator rounding", "torch's caching allocator"),
    Part("sampler or forward peak", "shapes of the profiled step"),
    Part("sampler state", "vllm/v1/worker/gpu/sample/"),
    Part("images", "vllm/v1/worker/gpu/mm/encoder_runner.py"),
    Part("expert scratch", "vllm/model_executor/layers/fused_moe/modular_kernel.py"),
    Part("pipeline buffers", "hidden states between stages"),
    Part("communication and runtime", "launches of 0.19.0", fitted=True),
    Part("CUDA graphs", "launches of 0.19.0", fitted=True),
)


def overhead_spans(shard: Shard, known: Coefficients) -> tuple[Span, ...]:
    """What a rank takes beside its weights and before blocks, a span for each of `PARTS`."""
    exactly = Span.exactly
    peak = sampler_peak(shard, known).or_more(exactly(forward_peak(shard, known)))
    images = 0
    if shard.deployment.towers:
        from vllm_parallel.overhead.encoder import (  # noqa: PLC0415  # few models have one
            held_bytes,
            tower_peak,
        )

        images, peak = held_bytes(shard), peak.or_more(tower_peak(shard))
    return (
        exactly(repacked_bytes(shard, known)),
        exactly(rounding_bytes(shard, whole_segments=known.whole_segments)),
        peak,
        exactly(sampler_state(shard) if known.sampler_state else 0),
        exactly(images),
        exactly(expert_scratch(shard)),
        exactly(stage_buffers(shard)),
        communication(shard, known),
        exactly(0) if known.graphs is None else graph_bytes(shard, known.graphs),
    )


def overhead_terms(spans: Iterable[Span], known: Coefficients) -> tuple[Term, ...]:
    """The spans of `PARTS` as terms of a ledger.

    >>> from vllm_parallel.overhead.coefficients import V19
    >>> [term.name for term in overhead_terms([Span.exactly(0)] * len(PARTS), V19)][:2]
    ['repacked experts', 'allocator rounding']
    """
    carried = known.provenance if known.graphs is None else Provenance.ASSUMED
    return tuple(
        Term(
            name=part.name,
            bytes=span.likely,
            provenance=carried if part.fitted else Provenance.COMPUTED,
            source=f"{part.source}; {known.standing}",
            release=known.release,
            span=None if span.least == span.most else span,
        )
        for part, span in zip(PARTS, spans, strict=True)
    )


def communication(shard: Shard, known: Coefficients) -> Span:
    """What libraries take outside torch: kernels, and buffers of the ranks that exchange tensors.

    Replicas of a dense model exchange nothing.
    """
    layout, model = shard.deployment.layout, shard.deployment.model
    width = layout.tp * layout.pcp * (layout.dp if model.is_moe else 1)
    alone = width * layout.pp == 1
    runtime = known.runtime_alone if alone else known.runtime_in_group
    return Span.total((runtime, known.communication_of(width)))
