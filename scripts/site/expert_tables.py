"""What engines hold, and over which group tokens reach experts, as tables for pages."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_parallel import Deployment, Layout, Shard
from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.experts import Dispatch
from vllm_parallel.price.work import RoutedWork, StageWork, is_expert
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import gib, size, whole
from vllm_parallel.weight import Cut
from way_tables import DECODE, REQUESTS, columns, on
from ways import Traffic, token_bytes


def replicas(name: str, tp: int = 4) -> str:
    """A model on one, two and four engines of the same tp."""
    deployments = [on(name, Layout(tp=tp, dp=dp)) for dp in (1, 2, 4)]
    moe = deployments[0].model.is_moe
    experts = [expert_bytes(d) for d in deployments]
    weights = [Shard.of(d, 0).weight_bytes for d in deployments]
    traffic = [Traffic.of(d, DECODE) for d in deployments]
    rows = [
        ("weights", [gib(n) for n in weights]),
        *([("of them routed experts", [gib(n) for n in experts])] if moe else []),
        ("engines, each with its pool", [str(d.layout.dp) for d in deployments]),
        ("KV of a token", [size(token_bytes(d)) for d in deployments]),
        *_expert_work(deployments),
        ("calls in a step", [str(one.calls) for one in traffic]),
        ("bytes they take in", [size(one.bytes) for one in traffic]),
    ]
    caption = f"{name} in BF16, one rank; {REQUESTS} tokens decoded in each engine. Computed."
    return columns([str(d.layout) for d in deployments], rows, caption)


def _expert_work(deployments: Sequence[Deployment]) -> list[tuple[str, list[str]]]:
    """Tokens that reach a rank's experts, and its arithmetic on them; none without experts."""
    if not deployments[0].model.is_moe:
        return []
    tokens = [REQUESTS * d.layout.dp for d in deployments]
    adds = [expert_multiply_adds(d, n) for d, n in zip(deployments, tokens, strict=True)]
    return [
        ("tokens at its experts", [whole(n) for n in tokens]),
        ("their multiply-adds in a layer", [f"{n / 1e9:.2f} × 10⁹" for n in adds]),
    ]


def routed(deployment: Deployment) -> RoutedWork:
    """The routed experts of a layer on the fullest rank."""
    return StageWork.of(deployment, 0).routed[0][0]


def expert_multiply_adds(deployment: Deployment, tokens: int) -> float:
    """Multiply-adds of a rank's routed experts in one layer, for tokens that all reach it."""
    work = routed(deployment)
    return work.visits(tokens) * work.each.multiply_adds


def expert_bytes(deployment: Deployment, number: int = 0) -> int:
    """Weights of routed experts on a rank."""
    shard = Shard.of(deployment, number)
    return sum(
        count * weight.bytes(shard.cut)
        for layer, count in shard.layers.items()
        for weight in layer.weights
        if is_expert(weight)
    )


def whole_or_sliced() -> str:
    """Qwen3-235B-A22B on eight ranks: experts in slices, and whole."""
    layouts = [
        Layout(tp=8),
        Layout(tp=8, expert_parallel=True),
        Layout(tp=4, dp=2),
        Layout(tp=4, dp=2, expert_parallel=True),
    ]
    deployments = [on("qwen3-235b-a22b", layout) for layout in layouts]
    traffic = [Traffic.of(d, DECODE) for d in deployments]
    rows = [
        ("experts", [_held(d) for d in deployments]),
        ("their weights", [gib(expert_bytes(d)) for d in deployments]),
        ("all weights", [gib(Shard.of(d, 0).weight_bytes) for d in deployments]),
        ("dispatch over", [_dispatched(d) for d in deployments]),
        ("calls in a step", [str(one.calls) for one in traffic]),
        ("bytes they take in", [size(one.bytes) for one in traffic]),
    ]
    caption = (
        f"Qwen3-235B-A22B in BF16, one rank; {REQUESTS} tokens decoded in each engine. Computed."
    )
    return columns([str(layout) for layout in layouts], rows, caption)


def _held(deployment: Deployment) -> str:
    """How many experts, and which part of each."""
    cut: Cut = Shard.of(deployment, 0).cut
    experts = deployment.model.experts
    if experts is None:
        return "none"
    if cut.local_experts is None:
        return f"1/{cut.expert_slices} of {experts.count}"
    return f"{cut.local_experts} whole ones"


def _dispatch(deployment: Deployment) -> Dispatch | None:
    return Dispatch.of(Caller(deployment=deployment, batch=DECODE, stage=0))


def _dispatched(deployment: Deployment) -> str:
    found = _dispatch(deployment)
    return "nothing" if found is None else f"{found.group.value}, {whole(found.total)} tokens"


def dispatch_groups() -> str:
    """Over which group tokens reach the experts, for layouts and models that differ in it."""
    cases = (
        ("qwen3-235b-a22b", Layout(tp=8, expert_parallel=True)),
        ("qwen3-235b-a22b", Layout(tp=4, dp=2)),
        ("qwen3-235b-a22b", Layout(tp=4, dp=2, expert_parallel=True)),
        ("glm-4.5", Layout(tp=4, dp=2, expert_parallel=True)),
        ("qwen3-235b-a22b", Layout(dp=8, expert_parallel=True)),
        ("deepseek-r1", Layout(tp=4, pcp=2)),
        ("deepseek-r1", Layout(tp=4, pcp=2, expert_parallel=True)),
        ("deepseek-r1", Layout(pcp=2, dp=4, expert_parallel=True)),
    )
    rows = []
    for name, layout in cases:
        deployment = on(name, layout)
        found = _dispatch(deployment)
        width = "" if found is None else f" of {_width(layout, found.group.value)}"
        around = layout.pcp > 1 and not layout.expert_parallel
        group = f"{found.group.value}{width}" if found else "pcp, around" if around else "none"
        own, total = (found.own, found.total) if found else (REQUESTS, REQUESTS)
        if around:
            total *= layout.pcp
        figures = [computed(whole(own)), computed(whole(total))]
        rows.append([Cell(f"{layout}, {name}"), Cell(group), *figures])
    caption = (
        f"{REQUESTS} tokens on a rank of each engine: those it puts in, and those that its experts "
        "see. Computed."
    )
    return table(("layout and model", "dispatch over", "puts in", "sees"), rows, caption=caption)


def _width(layout: Layout, axis: str) -> int:
    widths = {"dp": layout.dp, "pcp": layout.pcp, "ep": layout.expert_width}
    return widths[axis]
