"""Decode-context parallelism on the page of long contexts: its launches, and figures of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from figure import assumed
from guided import RESTS
from held import Held, held
from vllm_parallel import Cluster, Layout, Settings, Verdict, load_gpu, load_model
from vllm_parallel.constraints.constraint import divisors

RANKS: Final = 8
NODE: Final = Cluster(gpu=load_gpu("h200"), gpus_per_node=RANKS)
TWO_NODES: Final = replace(NODE, nodes=2)
QWEN: Final = "qwen3-235b-a22b"
LONG: Final = Settings(max_model_len=32768, gpu_memory_utilization=0.90, prefix_caching=False)
INPUT, OUTPUT = 16384, 512  # tokens, the load of long prompts
CONCURRENCY: Final = (8, 32, 64, 128)
GPUS: Final = ("h100-80gb", "h200")
NAMES: Final = {
    "llama-3.1-70b": "Llama-3.1-70B",
    "qwen3-235b-a22b": "Qwen3-235B-A22B",
    "deepseek-r1": "DeepSeek-R1",
    "kimi-k2": "Kimi-K2",
    "llama-3.1-8b": "Llama-3.1-8B",
    "llama-3.1-405b": "Llama-3.1-405B",
    "qwen3-32b": "Qwen3-32B",
}


def pair(gpu: str) -> tuple[Held, Held]:
    """The two launches that are compared, on eight of a GPU: without DCP and with it."""
    cluster = Cluster(gpu=load_gpu(gpu), gpus_per_node=RANKS)
    copied, dealt = (
        held(QWEN, Layout(tp=RANKS, dcp=dcp), cluster, LONG) for dcp in (1, qwen_copies)
    )
    return copied, dealt


def copies(model: str, tp: int) -> int:
    """Ranks of a tp group that hold the same KV head."""
    return max(1, tp // load_model(model).kv_heads)


qwen_heads = load_model(QWEN).kv_heads
qwen_copies = copies(QWEN, RANKS)
llama_heads = load_model("llama-3.1-70b").kv_heads
request_tokens = INPUT + OUTPUT
h100, h100_dcp = pair("h100-80gb")
h200, h200_dcp = pair("h200")
h100_left, h200_left = (assumed(one.left, RESTS) for one in (h100, h200))
h200_fits = max(width for width in CONCURRENCY if width <= h200.requests(request_tokens))
most_at_once = CONCURRENCY[-1]
gain = h200_dcp.tokens / h200.tokens
llama_widths = [
    dcp
    for dcp in divisors(2 * RANKS)
    if Verdict.of(
        held("llama-3.1-70b", Layout(tp=2 * RANKS, dcp=dcp), TWO_NODES).deployment
    ).accepted
]
llama_widest = max(llama_widths)
