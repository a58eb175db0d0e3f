"""What the stages of a pipeline hold, and what they call, as tables for pages."""

from __future__ import annotations

from collections import Counter

from vllm_parallel import Deployment, Layout
from vllm_parallel.collectives import Exchange, collectives
from vllm_parallel.kv import KvCache
from vllm_parallel.ledger import budgets_on
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import row, table
from vllm_parallel.render.numbers import gib, size, whole
from way_tables import DECODE, H100, REQUESTS, columns, on


def pipeline_stages() -> str:
    """Qwen3-235B-A22B over four stages: what each holds, and which sets the pool."""
    deployment = pipelined()
    cache = KvCache.of(deployment)
    budgets = budgets_on(deployment, H100)
    blocks = [cache.block_bytes(stage) for stage in cache.stages]
    held = [
        budget.available_kv_bytes // each * cache.block_size
        for each, budget in zip(blocks, budgets, strict=True)
    ]
    names = [f"stage {stage}" for stage in cache.stages]
    rows = [
        row("layers", [str(cache.layers(stage)) for stage in cache.stages]),
        row("weights", [gib(b.ledger.terms[0].bytes) for b in budgets]),
        row("KV of a token", [size(each // cache.block_size) for each in blocks]),
        row("left for KV", [gib(b.available_kv_bytes) for b in budgets], Provenance.ASSUMED),
        row("room for tokens", [whole(n) for n in held], Provenance.ASSUMED),
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
