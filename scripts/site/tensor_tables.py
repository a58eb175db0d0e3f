"""What tensor parallelism leaves on a rank, as tables for pages."""

from __future__ import annotations

from vllm_parallel import Deployment, Layout, Shard
from vllm_parallel.render.numbers import gib, size
from vllm_parallel.weight import Cut
from way_tables import DECODE, LLAMA, REQUESTS, columns, on
from ways import Traffic, token_bytes, token_copies


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
