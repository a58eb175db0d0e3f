"""The same inputs in another public kernel: what it published beside what this package computes.

Theirs are facts of `inference-sim/blis-latency-kernel` (documentation and chart of its 0.1 site):
DeepSeek-V3 in fp8, cache in fp8, H200, tp 8, contexts of 4,096 tokens.
"""

from __future__ import annotations

from math import prod
from typing import Final

from vllm_parallel import Cluster, Deployment, Layout, Settings, Shard, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.graph import ModelGraph, plain_twin
from vllm_parallel.price import Pricer
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import gib, size

MODEL: Final = load_model("deepseek-v3")
TP8: Final = Deployment(
    model=MODEL,
    layout=Layout(tp=8),
    settings=Settings(kv_cache_dtype="fp8", max_num_batched_tokens=8192),
    cluster=Cluster(gpu=load_gpu("h200"), gpus_per_node=8),
)
CONTEXT: Final = 4096
THEIR_WEIGHTS: Final = 670_918_967_296 // 8  # 78.1 GiB as published
THEIR_STEPS: Final = {  # milliseconds, read off the chart: parts in a row, parts overlapping
    1: (9.71, 8.81), 2: (10.45, 9.52), 4: (11.86, 10.91), 8: (14.48, 13.45), 16: (18.98, 17.78),
    32: (25.64, 24.11), 64: (33.63, 31.50), 128: (42.27, 38.89), 256: (55.01, 49.17),
}  # fmt: skip
COPIED: Final = ("fused_qkv_a_proj",)
ROUTER: Final = ("mlp.gate.",)
ENDS: Final = ("embed_tokens", "lm_head")


def difference() -> dict[str, int]:
    """What a rank holds here beyond what is counted there, in bytes; the parts add up."""
    shard = Shard.of(TP8, 0)
    parts = dict.fromkeys(
        (
            "`fused_qkv_a_proj` on every rank whole",
            "embedding and head in 16 bits",
            "routers, on every rank",
            "scales of fp8 blocks",
            "norms and the routers' corrections",
        ),
        0,
    )
    copied, ends, routers, scales, norms = parts
    for layer, count in shard.layers.items():
        for weight in layer.weights:
            held = weight.bytes(shard.cut) * count
            elements = prod(weight.shape(shard.cut)) * count
            if "scale" in weight.name:
                parts[scales] += held
            elif any(name in weight.name for name in COPIED):
                parts[copied] += held - elements // TP8.layout.tp
            elif any(name in weight.name for name in ENDS):
                parts[ends] += held - elements
            elif "norm" in weight.name or "bias" in weight.name:
                parts[norms] += held
            elif any(name in weight.name for name in ROUTER):
                parts[routers] += held
    return parts


def weights() -> str:
    """Their weights of a rank, ours, and each part of the difference."""
    ours = Shard.of(TP8, 0).loaded_weight_bytes
    rows = [[Cell("published there"), Cell(gib(THEIR_WEIGHTS), None)]]
    rows += [
        [Cell(what.replace("`", "")), computed("+" + size(amount))]
        for what, amount in difference().items()
    ]
    rows.append([Cell("computed here"), computed(gib(ours))])
    caption = "Weights of a rank: DeepSeek-V3 in fp8, tp 8."
    return table(("", "a rank holds"), rows, caption=caption, totals=(len(rows) - 1,))


def steps() -> str:
    """Their decode step at nine batch sizes beside ours, part by part."""
    pricer = Pricer.of(TP8, load_rates("h200"))
    rows = []
    for batch, (in_a_row, overlapping) in THEIR_STEPS.items():
        price = pricer.price(EngineBatch(decode=(CONTEXT,) * batch)).slowest
        parts = (price.weights, price.kv, price.compute, price.collectives, price.overhead)
        rows.append(
            [
                Cell(str(batch)),
                Cell(f"{overlapping:.1f}–{in_a_row:.1f}"),
                computed(f"{price.total * 1e3:.1f}"),
                *(computed(f"{part * 1e3:.1f}") for part in parts),
            ]
        )
    head = ("batch", "there", "here", "weights", "KV", "compute", "exchange", "overhead")
    caption = "Milliseconds of a decode step, H200, contexts of 4,096 tokens. Neither is measured."
    return table(head, rows, caption=caption)


def counted_there() -> int:
    """Bytes of a rank as they count them: every matrix but routers, a byte each, over tp."""
    graph = ModelGraph.of(plain_twin(MODEL))
    shard = Shard.of(TP8, 0)
    whole = Shard.of(Deployment(model=graph.model, layout=Layout()), 0)
    left_out = ("norm", "bias", *ROUTER)
    elements = sum(
        prod(weight.shape(whole.cut)) * count
        for layer, count in whole.layers.items()
        for weight in layer.weights
        if not any(name in weight.name for name in left_out)
    )
    return elements // shard.deployment.layout.tp
