"""What attention exchanges: its output over tp, and what context parallelism gathers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.block import Attention, LatentAttention
from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.collective import Collective, Kind
from vllm_parallel.dtype import Dtype
from vllm_parallel.layout import Axis

PACKED_LSE: Final = 2  # elements of 16 bits that carry an fp32 log-sum-exp beside an output


def attention_calls(attention: Attention, caller: Caller) -> Iterator[Collective]:
    """What one layer of attention exchanges before its output is summed over tp."""
    layout = caller.deployment.layout
    if isinstance(attention, LatentAttention):
        yield from _latent_keys(attention, caller)
    if layout.dcp == 1:
        return
    if layout.pcp > 1:
        yield from _both_contexts(attention, caller)
    else:
        yield from _decode_context(attention, caller)


def _latent_keys(a: LatentAttention, caller: Caller) -> Iterator[Collective]:
    """Every PCP rank writes every token's latent; with DCP decodes are computed everywhere.

    Source: vllm/v1/attention/ops/pcp.py (v0.32.0)
    """
    batch = caller.batch
    shared = 0 if caller.deployment.layout.dcp == 1 else batch.decode_tokens
    rows = batch.tokens - shared
    for width, where in ((a.kv_lora_rank, "latent"), (a.rope_dim, "rope key")):
        yield caller.call(Axis.PCP, Kind.ALL_GATHER, (rows, width), where)


def _decode_context(a: Attention, caller: Caller) -> Iterator[Collective]:
    """Queries out, partial outputs and their log-sum-exps back.

    Latent attention does this for decode tokens, grouped-query attention for all tokens of a
    step in which any request has context.

    Source: vllm/model_executor/layers/attention/mla_attention.py;
    vllm/v1/attention/backends/flash_attn.py, _forward_with_dcp (v0.32.0)
    """
    deployment = caller.deployment
    layout = deployment.layout
    heads = a.heads // layout.tp
    rows, asked, given = _exchanged(a, caller)
    if not deployment.replicates_queries:
        yield caller.call(Axis.DCP, Kind.ALL_GATHER, (rows, heads, asked), "queries")
    if deployment.dcp_comm_backend == "a2a":
        packed = (layout.dcp, rows, heads, given + PACKED_LSE)
        yield caller.call(Axis.DCP, Kind.ALL_TO_ALL, packed, "outputs with their sums")
        return
    every = heads * layout.dcp
    sums = (rows, every)
    yield caller.call(Axis.DCP, Kind.ALL_GATHER, sums, "log-sum-exps").typed(Dtype.FLOAT32)
    yield caller.call(Axis.DCP, Kind.REDUCE_SCATTER, (rows, every, given), "outputs")


def _exchanged(a: Attention, caller: Caller) -> tuple[int, int, int]:
    """Rows that are exchanged, and the width of a query head and of its output."""
    batch = caller.batch
    if isinstance(a, LatentAttention):
        return batch.decode_tokens, a.latent_dim, a.kv_lora_rank
    return batch.tokens if batch.any_request_has_context else 0, a.head_dim, a.head_dim


def _both_contexts(a: Attention, caller: Caller) -> Iterator[Collective]:
    """DCP beside PCP: outputs are summed whole, and each rank takes its own heads of them.

    Source: vllm/v1/attention/ops/dcp.py, MLADCPManager (v0.32.0)
    """
    if not isinstance(a, LatentAttention):
        return
    layout, rows = caller.deployment.layout, caller.batch.decode_tokens
    heads = a.heads // layout.tp
    if layout.dcp > layout.pcp:
        yield caller.call(Axis.TP, Kind.ALL_GATHER, (rows, heads, a.latent_dim), "queries")
        heads = a.heads
    sums = (rows, heads)
    yield caller.call(Axis.DCP, Kind.ALL_GATHER, sums, "log-sum-exps").typed(Dtype.FLOAT32)
    yield caller.call(Axis.DCP, Kind.ALL_REDUCE, (rows, heads, a.kv_lora_rank), "outputs")
