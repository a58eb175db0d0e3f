"""The overhead of one rank, term by term."""

from __future__ import annotations

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


def overhead_terms(shard: Shard, known: Coefficients) -> tuple[Term, ...]:
    """What a rank takes beside its weights and before blocks, under a release's coefficients.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.deployment import Deployment
    >>> from vllm_parallel.layout import Layout
    >>> from vllm_parallel.overhead.coefficients import V19
    >>> shard = Shard.of(Deployment(model=load_model("llama-3.1-8b"), layout=Layout()), 0)
    >>> [term.name for term in overhead_terms(shard, V19)][:2]
    ['repacked experts', 'allocator rounding']
    """
    peak = sampler_peak(shard, known).or_more(Span.exactly(forward_peak(shard, known)))
    images = 0
    if shard.deployment.towers:
        from vllm_parallel.overhead.encoder import (  # noqa: PLC0415  # few models have one
            held_bytes,
            tower_peak,
        )

        images, peak = held_bytes(shard), peak.or_more(tower_peak(shard))
    graphs = Span.exactly(0) if known.graphs is None else graph_bytes(shard, known.graphs)
    parts = (
        (
            "repacked experts",
            Span.exactly(repacked_bytes(shard, known)),
            "vllm/model_executor/layers/fused_moe/oracle/mxfp4.py",
        ),
        (
            "allocator rounding",
            Span.exactly(rounding_bytes(shard, whole_segments=known.whole_segments)),
            "torch's caching allocator",
        ),
        ("sampler or forward peak", peak, "shapes of the profiled step"),
        (
            "sampler state",
            Span.exactly(sampler_state(shard) if known.sampler_state else 0),
            "vllm/v1/worker/gpu/sample/",
        ),
        (
            "images",
            Span.exactly(images),
            "vllm/v1/worker/gpu/mm/encoder_runner.py",
        ),
        (
            "expert scratch",
            Span.exactly(expert_scratch(shard)),
            "vllm/model_executor/layers/fused_moe/modular_kernel.py",
        ),
        ("pipeline buffers", Span.exactly(stage_buffers(shard)), "hidden states between stages"),
    )
    measured = (
        ("communication and runtime", communication(shard, known)),
        ("CUDA graphs", graphs),
    )
    carried = known.provenance if known.graphs is None else Provenance.ASSUMED
    return (
        *(
            _term(known, name, (span, f"{source}; {known.standing}"), Provenance.COMPUTED)
            for name, span, source in parts
        ),
        *(
            _term(known, name, (span, f"launches of 0.19.0; {known.standing}"), carried)
            for name, span in measured
        ),
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


def _term(known: Coefficients, name: str, found: tuple[Span, str], provenance: Provenance) -> Term:
    span, source = found
    return Term(
        name=name,
        bytes=span.likely,
        provenance=provenance,
        source=source,
        release=known.release,
        span=None if span.least == span.most else span,
    )
