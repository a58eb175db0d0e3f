"""The figures that sentences of the parallelism chapter quote, and its diagrams."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Final

import context_tables
import expert_tables
import pipeline_tables
import tensor_tables
import way_tables as tables
import ways
from messages import Message
from vllm_parallel import Axis, Group, KvCache, Layout, Shard
from vllm_parallel.catalog.rates import rated_gpus
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.constraints import admitted
from vllm_parallel.layout import experts_on, pipeline_split
from vllm_parallel.price.reading import longest_share
from vllm_parallel.render.chunks import ChunkPairs, chunk_diagram
from vllm_parallel.render.dealt_experts import DealtExperts, expert_diagram
from vllm_parallel.render.heads import HeadSplit, head_diagram
from vllm_parallel.render.numbers import gib, ranks, size, whole
from vllm_parallel.render.placement import Placement, diagram
from vllm_parallel.render.stages import Stages, stage_diagram
from vllm_parallel.render.tables import runs

LLAMA_TP8: Final = tables.on("llama-3.1-70b", Layout(tp=8))
QWEN_TP4: Final = tables.on("qwen3-235b-a22b", Layout(tp=4))
QWEN_TP8: Final = tables.on("qwen3-235b-a22b", Layout(tp=8))
R1_TP8: Final = tables.on("deepseek-r1", Layout(tp=8), "h200")
QWEN_EP12: Final = tables.on("qwen3-235b-a22b", Layout(tp=4, dp=3, expert_parallel=True))
DRAWN: Final = ChunkPairs(tokens=30, pcp=4)
LONG: Final = ChunkPairs(tokens=tables.PROMPT, pcp=4)

# Tensor
requests = tables.REQUESTS
llama_hidden = tables.LLAMA.hidden
llama_layers = tables.LLAMA.layers
llama_width = tables.LLAMA.dtype.bytes
llama_message = size(requests * llama_hidden * llama_width)
llama_reduces = 2 * llama_layers + 1
llama_reduced = size(llama_reduces * requests * llama_hidden * llama_width)
llama_copies = size(tensor_tables.copied_bytes(LLAMA_TP8))
llama_heads = tables.LLAMA.heads
llama_tp = runs(admitted(tables.LLAMA, Axis.TP, up_to=64))
r1_copies = gib(tensor_tables.copied_bytes(R1_TP8))
r1_weights = gib(Shard.of(R1_TP8, 0).weight_bytes)
qwen_kv_heads = tables.QWEN.kv_heads
qwen_kv_tp4 = size(ways.token_bytes(QWEN_TP4))
qwen_kv_tp8 = size(ways.token_bytes(QWEN_TP8))

# Pipeline
PIPELINED: Final = pipeline_tables.pipelined()
qwen_layers = tables.QWEN.layers
qwen_split = ", ".join(map(str, pipeline_split(qwen_layers, PIPELINED.layout.pp)))
qwen_message = size(requests * tables.QWEN.hidden * tables.QWEN.dtype.bytes)
stages = PIPELINED.layout.pp
in_flight = PIPELINED.in_flight_tokens // PIPELINED.max_num_batched_tokens
r1_split = ", ".join(map(str, pipeline_split(tables.R1.layers, 4)))

# Data and experts
qwen_experts = tables.QWEN.experts.count if tables.QWEN.experts else 0
ep_width = QWEN_EP12.layout.expert_width
DEALT: Final = DealtExperts(count=qwen_experts, width=ep_width)
most_experts = experts_on(qwen_experts, ep_width, 0)
fewest_experts = experts_on(qwen_experts, ep_width, ep_width - 1)
ranks_with_more = DEALT.spare
ranks_with_fewer = ep_width - DEALT.spare
fullest = gib(expert_tables.expert_bytes(QWEN_EP12, 0))
emptiest = gib(expert_tables.expert_bytes(QWEN_EP12, ep_width - 1))
slice_adds = f"{expert_tables.routed(QWEN_TP8).each.multiply_adds / 1e6:.1f}"
expert_slices = QWEN_TP8.layout.expert_width
whole_adds = f"{expert_tables.routed(QWEN_TP8).each.multiply_adds * expert_slices / 1e6:.1f}"
top_k = tables.QWEN.experts.per_token if tables.QWEN.experts else 0

# Context
prompt = whole(LONG.tokens)
chunk = whole(len(LONG.pair(0)[0]))
last_chunk = whole(len(LONG.pair(0)[1]))
busiest = whole(max(map(LONG.own, range(LONG.pcp))))
idlest = whole(min(map(LONG.own, range(LONG.pcp))))
in_runs = f"{LONG.last_run:.0%}"
latent_bytes = size(ways.token_bytes(R1_TP8))
r1_layers = tables.R1.layers
r1_latent = ways.token_bytes(R1_TP8) // r1_layers
context = whole(tables.CONTEXT)
dealt_most = whole(longest_share(tables.CONTEXT, 8, 1))
dealt_wide = whole(longest_share(tables.CONTEXT, 8, 64))
block = KvCache.of(context_tables.dealt(1)).block_size
block_dcp8 = block * 8
gqa_dcp = runs([n for n in admitted(tables.QWEN, Axis.DCP, beside=Layout(tp=8), up_to=8) if n > 1])

# Messages, each of one rank
QWEN_EP: Final = tables.on("qwen3-235b-a22b", Layout(tp=4, dp=2, expert_parallel=True))
QWEN_DP: Final = tables.on("qwen3-235b-a22b", Layout(tp=4, dp=2))
R1_PCP: Final = tables.on("deepseek-r1", Layout(tp=8, pcp=4), "h200")
_ep = partial(Message.of, QWEN_EP, tables.DECODE)
_dp = partial(Message.of, QWEN_DP, tables.DECODE)
_pcp = partial(Message.of, R1_PCP, EngineBatch(prefill=((LONG.tokens, 0),)).share(R1_PCP.layout))
_dcp = partial(Message.of, context_tables.dealt(8), tables.DECODE)
_pp = partial(Message.of, PIPELINED, tables.DECODE)
stage_hidden = _pp("hidden states")
dp_hidden, dp_sums = _dp("dispatch"), _dp("combine")
ep_hidden, ep_experts, ep_sums = _ep("dispatch"), _ep("dispatch: experts"), _ep("combine")
ep_whole = _ep("tokens split over tp")
pcp_latent, pcp_rope = _pcp("latent"), _pcp("rope key")
dcp_queries, dcp_sums, dcp_outputs = _dcp("queries"), _dcp("log-sum-exps"), _dcp("outputs")

rated = ", ".join(rated_gpus())

# Groups
uneven_group = ranks(Group.of(Layout(tp=2, pp=2, dp=2, expert_parallel=True), Axis.EP, 0).ranks)
dcp_group = ranks(Group.of(Layout(tp=4, pcp=2, dcp=8), Axis.DCP, 0).ranks)


def figure(drawing: str, label: str, caption: str) -> str:
    """A drawing in its box, which scrolls by itself where it is wider than the page."""
    return (
        f'<figure class="drawn" tabindex="0" aria-label="{escape(label)}">'
        f"{drawing}<figcaption>{caption}</figcaption></figure>"
    )


def copied_heads() -> str:
    """Qwen3-235B's heads on eight ranks."""
    split = HeadSplit(heads=tables.QWEN.heads, kv_heads=tables.QWEN.kv_heads, tp=8)
    return figure(
        head_diagram(split, "copied-heads"),
        "heads on ranks",
        "Qwen3-235B-A22B, tp8: query heads of each rank, and the KV head whose cache it keeps.",
    )


def uneven_stages() -> str:
    """Qwen3-235B's layers on four stages."""
    return figure(
        stage_diagram(Stages.of(PIPELINED), "uneven-stages"),
        "pipeline stages",
        "Qwen3-235B-A22B, tp4 pp4, one rank of each stage. E: embedding, H: head, which this "
        "family keeps on every stage.",
    )


def odd_stages() -> str:
    """DeepSeek-R1's layers on four stages."""
    deployment = tables.on("deepseek-r1", Layout(tp=8, pp=4), "h200")
    return figure(
        stage_diagram(Stages.of(deployment), "odd-stages"),
        "pipeline stages",
        "DeepSeek-R1, tp8 pp4: the first layers have no experts, so its first stage is lightest.",
    )


def engines() -> str:
    """Two engines of a model with experts on one node."""
    layout = Layout(tp=4, dp=2)
    drawn = diagram(Placement(layout=layout, cluster=ways.NODE, moe=True), "two-engines")
    return figure(
        drawn,
        "two engines",
        "tp4 dp2 with experts: tp joins the ranks of an engine, dp rank by rank the engines, and "
        "the ep group all eight, expert parallel or not. Of a dense model only the tp row is left.",
    )


def uneven_experts() -> str:
    """Qwen3-235B's experts on twelve ranks."""
    return figure(
        expert_diagram(DEALT, "uneven-experts"),
        "experts on ranks",
        f"{qwen_experts} experts on {ep_width} ranks (tp4 dp3): each rank's experts by number, the "
        "one more in another colour.",
    )


def prompt_chunks() -> str:
    """A short prompt on four ranks, token by token."""
    return figure(
        chunk_diagram(DRAWN, "prompt-chunks"),
        "chunks of a prompt",
        "Letters name the rank. The last chunk is short, so the first rank computes least.",
    )


def dealt_tokens() -> str:
    """Qwen3-235B's heads on eight ranks, tokens dealt to those that share one."""
    split = HeadSplit(heads=tables.QWEN.heads, kv_heads=tables.QWEN.kv_heads, tp=8, dcp=2)
    return figure(
        head_diagram(split, "dealt-heads"),
        "tokens on ranks",
        "Qwen3-235B-A22B, tp8 dcp2: two ranks keep each KV head, one its even tokens, one its odd.",
    )


def dealt_latent() -> str:
    """DeepSeek-R1's latent on eight ranks, tokens dealt to all of them."""
    split = HeadSplit(heads=tables.R1.heads, kv_heads=1, tp=8, dcp=8)
    return figure(
        head_diagram(split, "dealt-latent"),
        "tokens on ranks",
        "DeepSeek-R1, tp8 dcp8: one latent for all heads, every eighth token on each rank.",
    )
