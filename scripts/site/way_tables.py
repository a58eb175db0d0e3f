"""What the tables of the ways to split have in common: models, steps, columns of layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel import Cluster, Deployment, Layout, Settings, load_gpu, load_model
from vllm_parallel.collectives import Batch
from vllm_parallel.render.html import row, table

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
    body = [row(name, figures) for name, figures in rows]
    return table(("", *head), body, caption=caption)
