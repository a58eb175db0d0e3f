"""What a release's profiling takes beside tensors whose shapes are known.

The forms of `peaks` and `graphs` have no constants of their own but those kept here. Fitted ones
come from 33 launches of 0.19.0 on H100 80GB and nothing else: tp 1, 2 and 4, pp 2 and 4, never
both, and no data parallelism, expert parallelism, DCP or more ranks than KV heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance
from vllm_parallel.term import Span
from vllm_parallel.units import GIB, MIB

LAUNCHES: Final = "llm-d-incubation/llm-d-planner pull request 205, vLLM 0.19.0 on H100 80GB"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GraphCost:
    """What capturing CUDA graphs takes: once, and for each layer over all graphs of 51 sizes.

    A layer of experts counts twice: its graphs hold about twice the kernels.
    """

    base: Span
    layer: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Coefficients:
    """One release's constants and ways of counting.

    `standing` is what a page says of figures that rest on them. `communication` is by ranks of a
    stage; widths that nobody measured take the nearest below, and their range widens.
    """

    release: str
    provenance: Provenance
    standing: str
    logit_copies: Span  # fp32 copies of the logits [S, V] beside the logits themselves
    logit_rows: int  # rows [V] of fp32 that the top-k kernel keeps, one for each multiprocessor
    keeps_scales: bool  # of mxfp4 experts, beside the copies that kernels read
    sampler_state: bool  # counts, masks and lists of every sequence lie on the GPU
    sampler_rest: int  # workspace of the matrix products, and small tensors, beside the sampler
    forward_rest: int  # the same beside the widest layer
    runtime_alone: Span  # kernels and libraries, loaded after the snapshot
    runtime_in_group: Span  # the same where setting up the groups has loaded most of them
    communication: Mapping[int, Span]
    whole_segments: bool  # the budget is the drop of free memory, not what torch has allocated
    graphs: GraphCost | None  # None: graphs are captured outside the budget

    def communication_of(self, ranks: int) -> Span:
        """Buffers of so many ranks that exchange tensors within a stage.

        >>> V19.communication_of(1).likely, V19.communication_of(8).likely == 2254857830
        (0, True)
        """
        if ranks == 1:
            return Span.exactly(0)
        width = max(known for known in self.communication if known <= ranks)
        span = self.communication[width]
        extra = (ranks // width).bit_length() - 1  # doublings that nobody measured
        most = span.most + extra * (span.most - self.communication[2].likely)
        return Span(least=span.least, likely=span.likely, most=most)


def _gib(least: float, likely: float, most: float) -> Span:
    return Span(least=round(least * GIB), likely=round(likely * GIB), most=round(most * GIB))


V19: Final = Coefficients(
    release="0.19.0",
    provenance=Provenance.MEASURED,
    standing=f"fitted on {LAUNCHES}",
    logit_copies=Span.exactly(3),  # the fp32 logits, their probabilities, the noise
    logit_rows=132,
    keeps_scales=True,
    sampler_state=False,
    sampler_rest=round(0.040 * GIB),
    forward_rest=round(0.014 * GIB),
    runtime_alone=Span.exactly(round(0.25 * GIB)),
    runtime_in_group=Span.exactly(round(0.07 * GIB)),
    communication={2: _gib(2.00, 2.01, 2.02), 4: _gib(2.06, 2.10, 2.14)},
    whole_segments=False,
    graphs=None,
)
V32: Final = Coefficients(
    release="0.32.0",
    provenance=Provenance.COMPUTED,
    standing="computed, no 0.32 GPU launch behind it",
    logit_copies=Span(least=0, likely=0, most=1),
    logit_rows=0,
    keeps_scales=False,
    sampler_state=True,
    sampler_rest=round(0.040 * GIB),
    forward_rest=round(0.014 * GIB),
    runtime_alone=_gib(0.13, 0.25, 0.5),
    runtime_in_group=_gib(0.05, 0.07, 0.25),
    communication={2: _gib(0.48, 2.01, 2.3), 4: _gib(0.48, 2.10, 2.5)},
    whole_segments=True,
    graphs=GraphCost(
        base=_gib(0.05, 0.14, 0.5),
        layer=Span(least=11 * MIB, likely=16 * MIB, most=32 * MIB),
    ),
)
COEFFICIENTS: Final[Mapping[str, Coefficients]] = {one.release: one for one in (V19, V32)}
CURRENT: Final = V32  # the contract's: they hold from their release on, until others are known
