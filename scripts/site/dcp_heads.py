"""Which ranks hold a KV head, and how DCP deals its tokens to them, drawn."""

from __future__ import annotations

from dcp import NAMES, QWEN, RANKS, qwen_copies
from drawn import placed
from vllm_parallel import load_model
from vllm_parallel.render.heads import HeadSplit, head_diagram
from vllm_parallel.render.interleave import Dealing, diagram
from vllm_parallel.render.numbers import counted


def heads() -> str:
    """Which KV head each of eight tp ranks holds, of three models."""
    figures = []
    for name in ("llama-3.1-70b", QWEN, "deepseek-r1"):
        model = load_model(name)
        split = HeadSplit(heads=model.heads, kv_heads=model.kv_heads, tp=RANKS)
        each = counted(split.copies, "rank")
        what = "the latent vector" if model.is_latent else "each KV head"
        title = f"{NAMES[name]}, tp {RANKS}: {what} on {each}"
        figures.append(placed(head_diagram(split, f"heads-{name}".replace(".", "-")), title))
    return "\n".join(figures)


def dealt() -> str:
    """The first tokens of one KV head on the two ranks that have it."""
    dealing = Dealing(ranks=qwen_copies, tokens=8, run=4)
    title = (
        f"{NAMES[QWEN]}, tp {RANKS}: eight tokens of KV head 0. "
        "A letter names the only rank that holds a token; dashed places become free"
    )
    return placed(diagram(dealing, "interleave"), title)
