"""What attention reads and multiplies: caches of decodes, pairs of tokens in prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

from vllm_parallel.block import Attention, LatentAttention
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv.interleave import Interleave
from vllm_parallel.kv.plan import KvPlan
from vllm_parallel.kv.specs import KvKind
from vllm_parallel.kv.state import StateSpec
from vllm_parallel.layout import Layout
from vllm_parallel.units import ceil_div, round_up

SPARSE_HEADS: Final = 64  # that a kernel of sparse attention takes at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRead:
    """The caches of one kind of layer on a rank, `layers` of them.

    A decode reads `token_bytes` for each token it sees, at most `reach` of them (0: all), and
    `fixed_bytes` whatever it sees. Each token it sees costs `multiply_adds`.
    """

    layers: int
    token_bytes: int
    fixed_bytes: int
    reach: int
    sharded: bool  # over DCP ranks
    multiply_adds: int
    pair_multiply_adds: int  # of a prompt's token with one before it

    def seen(self, contexts: Collection[int], layout: Layout, interleave: int) -> int:
        """Tokens of these contexts that this rank reads, the rank with most of each."""
        if self.reach:
            contexts = [min(context, self.reach) for context in contexts]
        if not self.sharded or layout.dcp == 1:
            return sum(contexts)
        return sum(longest_share(tokens, layout.dcp, interleave) for tokens in contexts)

    def pairs(self, new: int, cached: int) -> int:
        """Pairs of a new token and one that it sees, itself among them.

        >>> read = CacheRead(layers=1, token_bytes=1, fixed_bytes=0, reach=0, sharded=False,
        ...     multiply_adds=1, pair_multiply_adds=1)
        >>> read.pairs(3, 10)
        36
        """
        if not self.reach:
            return new * cached + new * (new + 1) // 2
        short = max(0, min(new, self.reach - cached))
        return short * cached + short * (short + 1) // 2 + (new - short) * self.reach


def longest_share(tokens: int, dcp: int, interleave: int) -> int:
    """Tokens of the DCP rank with most of them, dealt `interleave` at a time.

    >>> longest_share(1000, 8, 1), longest_share(1000, 8, 32), longest_share(100, 8, 64)
    (125, 128, 64)
    """
    return Interleave(width=dcp, run=interleave).tokens_on(0, tokens)


def cache_reads(deployment: Deployment, stage: int) -> tuple[CacheRead, ...]:
    """The caches that a rank of a stage reads for a decode."""
    plan, model = KvPlan.of(deployment), deployment.model
    start, stop = plan.bounds[stage], plan.bounds[stage + 1]
    counts = Counter(zip(model.pattern[start:stop], plan.plan[start:stop], strict=True))
    reads: list[CacheRead] = []
    for (kind, form), layers in counts.items():
        attention = model.kinds[kind].attention
        for spec in plan.forms[form]:
            if isinstance(spec, StateSpec):
                reads.append(_of_states(2 * spec.state_bytes, layers))
            elif attention is not None:
                selected = _selected(attention) if spec.kind is KvKind.LATENT else 0
                adds, pairs = _multiply_adds(attention, deployment.layout.tp, spec.kind)
                reads.append(
                    CacheRead(
                        layers=layers,
                        token_bytes=spec.token_bytes,
                        fixed_bytes=0,
                        reach=spec.reach or selected,
                        sharded=spec.kind in (KvKind.FULL, KvKind.LATENT),
                        multiply_adds=adds,
                        pair_multiply_adds=pairs,
                    )
                )
    return tuple(reads)


def prompt_pairs(step: EngineBatch, read: CacheRead, layout: Layout) -> int:
    """Pairs that the busiest PCP rank multiplies in one layer."""
    if layout.pcp == 1:
        return sum(read.pairs(new, cached) for new, cached in step.prefill)
    return max(
        sum(_chunk_pairs(new, cached, read, (rank, layout.pcp)) for new, cached in step.prefill)
        for rank in range(layout.pcp)
    )


def _chunk_pairs(new: int, cached: int, read: CacheRead, place: tuple[int, int]) -> int:
    """Pairs of the two chunks of a rank: what its last tokens see, less what came before."""
    rank, pcp = place
    size, total = ceil_div(new, 2 * pcp), 0
    for chunk in (rank, 2 * pcp - 1 - rank):
        first, last = min(new, chunk * size), min(new, (chunk + 1) * size)
        total += read.pairs(last, cached) - read.pairs(first, cached)
    return total


def _of_states(size: int, layers: int) -> CacheRead:
    return CacheRead(
        layers=layers,
        token_bytes=0,
        fixed_bytes=size,
        reach=0,
        sharded=False,
        multiply_adds=0,
        pair_multiply_adds=0,
    )


def _selected(attention: Attention) -> int:
    """Tokens that sparse attention reads of any context, 0 if it reads all."""
    if isinstance(attention, LatentAttention) and attention.indexer is not None:
        return attention.indexer.selected_tokens
    return 0


def _multiply_adds(attention: Attention, tp: int, kind: KvKind) -> tuple[int, int]:
    """Of one decoded token with one in its context, and of a pair inside a prompt.

    Sparse kernels work on the latent vectors in prompts too, on heads padded to their tile; the
    indexer scores on every rank, in fp8, at half the price of 16 bits.

    Source: vllm/v1/attention/backends/mla/flashmla_sparse.py, FlashMLASparseImpl;
    vllm/model_executor/layers/sparse_attn_indexer.py (v0.32.0)
    """
    heads = max(1, attention.heads // tp)
    if not isinstance(attention, LatentAttention):
        return heads * 2 * attention.head_dim, heads * 2 * attention.head_dim
    absorbed = attention.latent_dim + attention.kv_lora_rank
    if attention.indexer is None:
        return heads * absorbed, heads * (attention.query_dim + attention.value_dim)
    if kind is KvKind.INDEX:
        return attention.indexer.query_dim // 2, attention.indexer.query_dim // 2
    padded = round_up(heads, SPARSE_HEADS) * absorbed
    return padded, padded
