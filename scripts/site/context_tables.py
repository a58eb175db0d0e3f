"""What prefill-context and decode-context parallelism leave on a rank, as tables for pages."""

from __future__ import annotations

from vllm_parallel import Axis, Cluster, Deployment, Layout, Settings, Shard
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.kv import KvCache
from vllm_parallel.price.reading import longest_share
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.chunks import ChunkPairs
from vllm_parallel.render.html import Cell, computed, row, table
from vllm_parallel.render.numbers import gib, size, whole
from vllm_parallel.settings import ContextSettings
from vllm_parallel.verdict import Verdict
from way_tables import CONTEXT, DCP_LENGTH, DECODE, H200, PROMPT, R1, REQUESTS, columns, on
from ways import Traffic, calls_over, token_bytes, token_copies


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
        row("ranks with the same KV", [str(token_copies(d)) for d in deployments]),
        row(
            "tokens in a block", [str(KvCache.of(d).block_size * d.layout.dcp) for d in deployments]
        ),
        row(
            "pool", [whole(Verdict.of(d).held.pool.tokens) for d in deployments], Provenance.ASSUMED
        ),
        row(
            f"most of {whole(CONTEXT)} tokens",
            [whole(longest_share(CONTEXT, d.layout.dcp, 1)) for d in deployments],
        ),
        row("calls in a step", [str(one.calls) for one in traffic]),
        row("bytes they take in", [size(one.bytes) for one in traffic]),
    ]
    caption = (
        f"DeepSeek-R1 with its FP8 weights on eight H200, one rank, {REQUESTS} tokens decoded. The "
        f"fourth row is what the fullest rank keeps of one request. Computed; the pool rests on an "
        f"assumed overhead."
    )
    return table(("", *(str(d.layout) for d in deployments)), rows, caption=caption)


def dealt(dcp: int, context: ContextSettings | None = None) -> Deployment:
    """DeepSeek-R1 on one node of H200 with a dcp, and the way in which its ranks combine."""
    settings = Settings(max_model_len=DCP_LENGTH, context=context or ContextSettings())
    cluster = Cluster(gpu=H200, gpus_per_node=8)
    return Deployment(model=R1, layout=Layout(tp=8, dcp=dcp), settings=settings, cluster=cluster)


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
        own = calls_over(Axis.DCP, deployment, DECODE)
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
