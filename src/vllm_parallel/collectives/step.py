"""Every collective of a step, stage by stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from vllm_parallel.block import Block, Experts
from vllm_parallel.collectives.attention import attention_calls
from vllm_parallel.collectives.batch import Batch
from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.collective import Collective, Kind
from vllm_parallel.collectives.ends import after_layers, before_layers
from vllm_parallel.collectives.experts import expert_calls, splits_tokens
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.layout import Axis, Layout, pipeline_bounds

Counted = tuple[int, Collective]  # how often, and what
GATHERING_BACKENDS: Final = ("allgather_reducescatter", "naive", "pplx")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchange:
    """What one rank of a pipeline stage calls in a step; equal calls are one, with their count."""

    stage: int
    calls: tuple[Collective, ...]


def collectives(deployment: Deployment, batch: Batch) -> tuple[Exchange, ...]:
    """The calls of one rank of each stage.

    Calls on a group of one rank and calls of no bytes are left out.

    Raises:
        CatalogError: experts that are reached by kernels of their own, drafts, or adapters.

    >>> from vllm_parallel.catalog import load_model
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=2))
    >>> for call in collectives(deployment, Batch.decode(8))[0].calls:
    ...     print(call.count, call.kind, call.bytes, call.where)
    1 all_reduce 65536 embedding
    32 all_reduce 65536 o_proj
    32 all_reduce 65536 down_proj
    1 all_gather 1026048 logits
    """
    refuse_unmodelled(deployment)
    layout = deployment.layout
    stages = range(layout.pp)
    return tuple(
        Exchange(stage=n, calls=_merged(stage_calls(deployment, batch, n))) for n in stages
    )


def stage_calls(deployment: Deployment, batch: Batch, stage: int) -> Iterator[Counted]:
    """The calls of one rank of a stage as they come, each with how often; equal ones apart."""
    caller = Caller(deployment=deployment, batch=batch, stage=stage)
    for count, call in _calls(caller):
        if call.bytes and width(deployment.layout, call.group) > 1:
            yield count, call


def refuse_unmodelled(deployment: Deployment) -> None:
    """What adds calls that are not modelled is refused, never left out silently."""
    settings, layout, model = deployment.settings, deployment.layout, deployment.model
    backend = settings.experts.all2all_backend
    reaches = layout.dp > 1 and layout.expert_parallel and model.is_moe
    reasons = {
        f"--all2all-backend {backend}": reaches and backend not in GATHERING_BACKENDS,
        "--enable-lora": settings.lora,
        "--speculative-config": settings.speculative_method is not None,
        "--enable-dbo": settings.experts.dual_batch_overlap,
        "context parallelism of sparse attention": model.traits.sparse_attention
        and layout.pcp * layout.dcp > 1,
    }
    for subject, holds in reasons.items():
        if holds:
            raise CatalogError(
                subject=subject,
                problem="adds exchanges that are not modelled",
                fix="ask for the collectives without it",
            )


def _calls(caller: Caller) -> Iterator[Counted]:
    model, layout = caller.deployment.model, caller.deployment.layout
    start, stop = pipeline_bounds(model.layers, layout.pp)[caller.stage : caller.stage + 2]
    pattern = model.pattern[start:stop]
    yield from ((1, call) for call in before_layers(caller))
    if splits_tokens(caller) and model.traits.stays_split and layout.pp == 1:
        yield from _stays_split(pattern, caller)
    else:
        for kind, count in Counter(pattern).items():
            yield from ((count, call) for call in _layer(model.kinds[kind], caller))
    yield from ((1, call) for call in after_layers(caller))


def _layer(block: Block, caller: Caller) -> Iterator[Collective]:
    """One layer: attention and mixer, then the MLP, each summed over tp."""
    yield from _mixing(block, caller)
    if block.mlp is None:
        return
    if not isinstance(block.mlp, Experts):
        yield caller.tp_reduce("down_proj")
        return
    yield from expert_calls(block.mlp, caller)
    if splits_tokens(caller):
        split = (caller.split_tokens, caller.deployment.model.hidden)
        yield caller.call(Axis.TP, Kind.ALL_GATHER, split, "tokens split over tp")
    else:
        yield caller.tp_reduce("experts")


def _mixing(block: Block, caller: Caller) -> Iterator[Collective]:
    if block.attention is not None:
        yield from attention_calls(block.attention, caller)
        yield caller.tp_reduce("o_proj")
    if block.mixer is not None:
        yield caller.tp_reduce("mixer")


def _stays_split(pattern: Iterable[int], caller: Caller) -> Iterator[Counted]:
    """Tokens stay split from one MoE layer to the next, and are gathered where they are needed.

    Of a run of equal layers the first alone may differ from the others.

    Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2DecoderLayer.forward (v0.32.0)
    """
    is_split = False
    for kind, run in groupby(pattern):
        block, layers = caller.deployment.model.kinds[kind], len(list(run))
        for count in filter(None, (1, layers - 1)):
            yield from ((count, call) for call in _layer_of_split(block, caller, is_split=is_split))
            is_split = isinstance(block.mlp, Experts)
    if is_split:
        yield 1, _gathered_together(caller)


def _layer_of_split(block: Block, caller: Caller, *, is_split: bool) -> Iterator[Collective]:
    """One layer, whose tokens come split or whole and leave split if it has experts."""
    hidden, own = caller.deployment.model.hidden, caller.split_tokens
    moe = isinstance(block.mlp, Experts)
    if is_split and moe:
        yield caller.call(Axis.TP, Kind.ALL_GATHER, (own, hidden), "before attention")
    elif is_split:
        yield _gathered_together(caller)
    if not isinstance(block.mlp, Experts):
        yield from _layer(block, caller)
        return
    if block.attention is not None:
        yield from attention_calls(block.attention, caller)
    padded = (own * caller.deployment.layout.tp, hidden)
    yield caller.call(Axis.TP, Kind.REDUCE_SCATTER, padded, "o_proj")
    yield from expert_calls(block.mlp, caller)


def _gathered_together(caller: Caller) -> Collective:
    shape = (caller.split_tokens, 2 * caller.deployment.model.hidden)
    return caller.call(Axis.TP, Kind.ALL_GATHER, shape, "hidden states and residual")


def _merged(calls: Iterable[Counted]) -> tuple[Collective, ...]:
    """Equal calls as one with their count."""
    counts: Counter[Collective] = Counter()
    for count, call in calls:
        counts[call] += count
    return tuple(replace(call, count=count) for call, count in counts.items())


def width(layout: Layout, axis: Axis) -> int:
    """Ranks of a group on this axis."""
    match axis:
        case Axis.TP:
            return layout.tp
        case Axis.PP:
            return layout.pp
        case Axis.DP:
            return layout.dp
        case Axis.PCP:
            return layout.pcp
        case Axis.DCP:
            return layout.dcp
        case Axis.EP:
            return layout.expert_width
