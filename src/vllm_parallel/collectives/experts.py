"""What experts exchange: tokens out to the ranks that hold them, sums back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.collective import Collective, Kind
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import Axis
from vllm_parallel.units import ceil_div, exact_div

FP8_BLOCK: Final = 128  # elements that share a scale when hidden states travel in fp8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dispatch:
    """A group that gathers every token of its ranks, and what a rank puts in and gets out."""

    group: Axis
    own: int
    total: int
    even: bool

    @classmethod
    def of(cls, caller: Caller) -> Dispatch | None:
        """How tokens reach the experts; None where every rank has them already.

        Source: vllm/distributed/device_communicators/all2all.py, AgRsAll2AllManager (v0.32.0)
        """
        layout, batch = caller.deployment.layout, caller.batch
        engines = batch.engines(layout)
        even = len(set(engines)) == 1
        tokens = batch.tokens
        if layout.dp == 1:
            if layout.pcp == 1 or not layout.expert_parallel:
                return None
            return cls(group=Axis.PCP, own=tokens, total=layout.pcp * tokens, even=True)
        if not layout.expert_parallel:
            own, total = layout.pcp * tokens, layout.pcp * sum(engines)
            return cls(group=Axis.DP, own=own, total=total, even=even)
        if splits_tokens(caller):
            split = [ceil_div(tokens, layout.tp) for tokens in engines]
            total = layout.pcp * layout.tp * sum(split)
            return cls(group=Axis.EP, own=caller.split_tokens, total=total, even=even)
        group = Axis.EP if layout.pcp > 1 else Axis.DP
        return cls(group=group, own=tokens, total=layout.pcp * sum(engines), even=even)

    @property
    def gather(self) -> Kind:
        """The call that brings tokens together."""
        return Kind.ALL_GATHER if self.even else Kind.ALL_GATHERV

    @property
    def scatter(self) -> Kind:
        """The call that sums and deals them out again."""
        return Kind.REDUCE_SCATTER if self.even else Kind.REDUCE_SCATTERV


def splits_tokens(caller: Caller) -> bool:
    """Whether tokens are split over tp around the experts."""
    traits = caller.deployment.model.traits
    return traits.sequence_parallel_experts and caller.deployment.sequence_parallel_experts


def expert_calls(experts: Experts, caller: Caller) -> Iterator[Collective]:
    """What one layer of experts exchanges beside its sum over tp.

    Source: vllm/model_executor/layers/fused_moe/runner/moe_runner.py;
    vllm/model_executor/layers/fused_moe/prepare_finalize/naive_dp_ep.py (v0.32.0)
    """
    layout, hidden = caller.deployment.layout, caller.deployment.model.hidden
    tokens = caller.batch.tokens
    around = layout.pcp > 1 and not layout.expert_parallel
    if around:
        yield caller.call(Axis.PCP, Kind.ALL_GATHER, (tokens, hidden), "experts' tokens")
        logits = (tokens, experts.count)
        yield caller.call(Axis.PCP, Kind.ALL_GATHER, logits, "router logits").typed(
            experts.router_dtype
        )
    dispatch = Dispatch.of(caller)
    if dispatch is not None:
        yield from _dispatched(experts, dispatch, caller)
        whole = (dispatch.total, hidden)
        yield caller.call(dispatch.group, dispatch.scatter, whole, "combine")
    if around:
        whole = (layout.pcp * tokens, hidden)
        yield caller.call(Axis.PCP, Kind.REDUCE_SCATTER, whole, "experts' sums")


def _dispatched(e: Experts, dispatch: Dispatch, caller: Caller) -> Iterator[Collective]:
    """The gathers of one dispatch: hidden states, perhaps their scales, and who goes where."""
    batch, hidden = caller.batch, caller.deployment.model.hidden
    own = dispatch.own
    rows: list[tuple[tuple[int, int], str, Dtype | None]] = [
        ((own, hidden), "dispatch", batch.dispatch_dtype)
    ]
    if batch.dispatch_dtype is Dtype.FLOAT8_E4M3:
        blocks = exact_div(hidden, FP8_BLOCK, "hidden states that share a scale")
        rows.append(((own, blocks), "dispatch: scales", Dtype.FLOAT32))
    if batch.monolithic_experts:
        rows.append(((own, e.count), "dispatch: router logits", e.router_dtype))
    else:
        rows.append(((own, e.per_token), "dispatch: weights", Dtype.FLOAT32))
        rows.append(((own, e.per_token), "dispatch: experts", Dtype.INT32))
    for shape, where, dtype in rows:
        yield caller.call(dispatch.group, dispatch.gather, shape, where).typed(dtype)
