"""What each way to split leaves on a rank and what it costs, as tables for its own page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from vllm_parallel import Cluster, Deployment, Layout, Settings, Shard, load_gpu, load_model
from vllm_parallel.collectives import Batch, EngineBatch, Exchange, collectives
from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.experts import Dispatch
from vllm_parallel.kv import KvCache
from vllm_parallel.ledger import Pool, budgets_on
from vllm_parallel.price.reading import longest_share
from vllm_parallel.price.work import RoutedWork, StageWork, is_expert
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.chunks import ChunkPairs
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import gib, size, whole
from vllm_parallel.settings import ContextSettings
from vllm_parallel.verdict import Verdict
from vllm_parallel.weight import Cut
from ways import Traffic, gpu_calls, token_bytes, token_copies

H100: Final = load_gpu("h100-80gb")
H200: Final = load_gpu("h200")
REQUESTS: Final = 64  # that decode in a step, in each engine
LENGTH: Final = 8192
PROMPT: Final = 10_007  # tokens, which no width deals evenly
CONTEXT: Final = 100_001
DECODE: Final = Batch.decode(REQUESTS)
LLAMA: Final = load_model("llama-3.1-70b")
QWEN: Final = load_model("qwen3-235b-a22b")
R1: Final = load_model("deepseek-r1")
DCP_LENGTH: Final = 131_072
AXES: Final = ("tp", "pp", "dp", "pcp", "dcp")


def on(name: str, layout: Layout, gpu: str = "h100-80gb") -> Deployment:
    """A model of the catalog on nodes of eight."""
    nodes = -(-layout.ranks // 8)
    cluster = Cluster(gpu=load_gpu(gpu), gpus_per_node=8, nodes=nodes)
    settings = Settings(max_model_len=LENGTH)
    return Deployment(model=load_model(name), layout=layout, settings=settings, cluster=cluster)


def columns(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], caption: str) -> str:
    """A table of computed figures, a layout a column."""
    body = [[Cell(name), *map(computed, figures)] for name, figures in rows]
    return table(("", *head), body, caption=caption)


def tensor_widths() -> str:
    """Llama-3.1-70B at every tp of up to two nodes."""
    deployments = [on("llama-3.1-70b", Layout(tp=tp)) for tp in (1, 4, 8, 16)]
    traffic = [Traffic.of(deployment, DECODE) for deployment in deployments]
    rows = [
        ("weights", [gib(Shard.of(d, 0).weight_bytes) for d in deployments]),
        ("of them copies", [size(copied_bytes(d)) for d in deployments]),
        ("query heads", [str(LLAMA.heads // d.layout.tp) for d in deployments]),
        ("KV heads", [str(max(1, LLAMA.kv_heads // d.layout.tp)) for d in deployments]),
        ("KV of a token", [size(token_bytes(d)) for d in deployments]),
        ("ranks with the same KV", [str(token_copies(d)) for d in deployments]),
        ("calls in a step", [str(one.calls) for one in traffic]),
        ("bytes they take in", [size(one.bytes) if one.calls else "none" for one in traffic]),
    ]
    caption = f"Llama-3.1-70B in BF16, one rank. The step decodes {REQUESTS} tokens. Computed."
    return columns([str(d.layout) for d in deployments], rows, caption)


def copied_bytes(deployment: Deployment) -> int:
    """Weights that no tensor width cuts: every rank of a stage holds them whole."""
    if deployment.layout.tp == 1:
        return 0
    shard = Shard.of(deployment, 0)
    return sum(
        count * weight.bytes(shard.cut)
        for layer, count in shard.layers.items()
        for weight in layer.weights
        if weight.bytes(shard.cut) == weight.bytes(Cut())
    )


def pipeline_stages() -> str:
    """Qwen3-235B-A22B over four stages: what each holds, and which sets the pool."""
    deployment = pipelined()
    cache = KvCache.of(deployment)
    budgets = budgets_on(deployment, H100)
    held = [
        budget.available_kv_bytes // cache.block_bytes(stage) * cache.block_size
        for stage, budget in enumerate(budgets)
    ]
    names = [f"stage {stage}" for stage in cache.stages]
    rows = [
        [Cell("layers"), *(computed(str(cache.layers(stage))) for stage in cache.stages)],
        [Cell("weights"), *(computed(gib(b.ledger.terms[0].bytes)) for b in budgets)],
        [
            Cell("KV of a token"),
            *(computed(size(cache.block_bytes(n) // cache.block_size)) for n in cache.stages),
        ],
        [
            Cell("left for KV"),
            *(Cell(gib(b.available_kv_bytes), Provenance.ASSUMED) for b in budgets),
        ],
        [Cell("room for tokens"), *(Cell(whole(n), Provenance.ASSUMED) for n in held)],
    ]
    caption = (
        f"Qwen3-235B-A22B in BF16, {deployment.layout} on 16 H100 80GB, one rank of each stage. "
        f"The engine takes the least: {whole(min(held))} tokens. Computed; the last two rows rest "
        "on an assumed overhead."
    )
    return table(("", *names), rows, caption=caption)


def pipelined() -> Deployment:
    """The pipeline of the page: 94 layers on four stages."""
    return on("qwen3-235b-a22b", Layout(tp=4, pp=4))


def pipeline_calls() -> str:
    """What one rank of each stage of the pipeline calls in a decode step."""
    steps = collectives(pipelined(), DECODE)
    found = [_by_kind(step) for step in steps]
    names = dict.fromkeys(name for calls in found for name in calls)
    rows = [(name, [calls.get(name, "none") for calls in found]) for name in names]
    caption = (
        f"Qwen3-235B-A22B, {pipelined().layout}: calls of one rank in a step of {REQUESTS} decoded "
        "tokens, each with the bytes that it takes in. Computed."
    )
    return columns([f"stage {step.stage}" for step in steps], rows, caption)


def _by_kind(step: Exchange) -> dict[str, str]:
    """Calls of equal kind, group and size as one; logits apart."""
    counts: Counter[tuple[str, int]] = Counter()
    for call in step.calls:
        logits = "logits, " if call.where == "logits" else ""
        counts[f"{logits}{call.kind.value} over {call.group.value}", call.bytes] += call.count
    return {name: f"{count} × {size(taken)}" for (name, taken), count in counts.items()}


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


def prefill_ranks() -> str:
    """DeepSeek-R1 on pcp 1, 2 and 4: a prompt's tokens, weights, cache and calls of a rank."""
    layouts = [Layout(tp=8, pcp=pcp) for pcp in (1, 2, 4)]
    deployments = [on("deepseek-r1", layout, "h200") for layout in layouts]
    step = EngineBatch(prefill=((PROMPT, 0),))
    traffic = [Traffic.of(d, step.share(d.layout)) for d in deployments]
    pairs = [ChunkPairs(tokens=PROMPT, pcp=layout.pcp) for layout in layouts]
    rows = [
        ("tokens of the busiest rank", [whole(step.share(y).tokens) for y in layouts]),
        ("its part of attention", [f"{max(map(p.share, range(p.pcp))):.1%}" for p in pairs]),
        ("weights", [gib(Shard.of(d, 0).weight_bytes) for d in deployments]),
        ("KV of a token", [size(token_bytes(d)) for d in deployments]),
        ("ranks with the same KV", [str(token_copies(d)) for d in deployments]),
        ("calls in the step", [str(one.calls) for one in traffic]),
        ("bytes they take in", [gib(one.bytes) for one in traffic]),
    ]
    caption = (
        f"DeepSeek-R1 with its FP8 weights on H200, one rank, in a step that computes one prompt "
        f"of {whole(PROMPT)} tokens. Computed."
    )
    return columns([str(layout) for layout in layouts], rows, caption)


def decode_ranks() -> str:
    """DeepSeek-R1 on one node of H200, with its cache over dcp 1, 2, 4 and 8."""
    deployments = [dealt(dcp) for dcp in (1, 2, 4, 8)]
    traffic = [Traffic.of(d, DECODE) for d in deployments]
    rows = [
        _row("ranks with the same KV", [str(token_copies(d)) for d in deployments]),
        _row(
            "tokens in a block", [str(KvCache.of(d).block_size * d.layout.dcp) for d in deployments]
        ),
        _row("pool", [whole(pool(d).tokens) for d in deployments], Provenance.ASSUMED),
        _row(
            f"most of {whole(CONTEXT)} tokens",
            [whole(longest_share(CONTEXT, d.layout.dcp, 1)) for d in deployments],
        ),
        _row("calls in a step", [str(one.calls) for one in traffic]),
        _row("bytes they take in", [size(one.bytes) for one in traffic]),
    ]
    caption = (
        f"DeepSeek-R1 with its FP8 weights on eight H200, one rank, {REQUESTS} tokens decoded. The "
        f"fourth row is what the fullest rank keeps of one request. Computed; the pool rests on an "
        f"assumed overhead."
    )
    return table(("", *(str(d.layout) for d in deployments)), rows, caption=caption)


def _row(name: str, figures: Sequence[str], kind: Provenance = Provenance.COMPUTED) -> list[Cell]:
    return [Cell(name), *(Cell(figure, kind) for figure in figures)]


def dealt(dcp: int, context: ContextSettings | None = None) -> Deployment:
    """DeepSeek-R1 on one node of H200 with a dcp, and the way in which its ranks combine."""
    settings = Settings(max_model_len=DCP_LENGTH, context=context or ContextSettings())
    cluster = Cluster(gpu=H200, gpus_per_node=8)
    return Deployment(model=R1, layout=Layout(tp=8, dcp=dcp), settings=settings, cluster=cluster)


def pool(deployment: Deployment) -> Pool:
    """The pool of an engine.

    Raises:
        ValueError: the engine would not start.
    """
    capacity = Verdict.of(deployment).capacity
    if capacity is None:
        raise ValueError(f"{deployment.layout} holds nothing")
    return capacity.pool


def combining() -> str:
    """The ways in which DCP ranks combine: calls of a layer, and their bytes."""
    ways = (
        ("ag_rs", ContextSettings()),
        ("ag_rs, queries kept", ContextSettings(q_replicate=True)),
        ("a2a", ContextSettings(dcp_comm_backend="a2a")),
        ("a2a, queries kept", ContextSettings(dcp_comm_backend="a2a", q_replicate=True)),
    )
    rows = []
    for name, context in ways:
        deployment = dealt(8, context)
        (step,) = collectives(deployment, DECODE)
        own = [call for call in gpu_calls(step.calls) if call.group.value == "dcp"]
        calls = sum(call.count for call in own) // R1.layers
        taken = sum(call.count * call.bytes for call in own) // R1.layers
        weights = Shard.of(deployment, 0).weight_bytes + Shard.of(deployment, 0).copy_bytes
        figures = [computed(str(calls)), computed(size(taken)), computed(gib(weights))]
        rows.append([Cell(name), Cell(", ".join(c.kind.value for c in own)), *figures])
    caption = (
        f"DeepSeek-R1, tp8 dcp8, {REQUESTS} decoded tokens: what each layer adds, and a rank's "
        "weights with their copies. Computed."
    )
    head = ("combine", "calls", "a layer", "bytes", "weights")
    return table(head, rows, caption=caption)
