"""What is in a step: of an engine, and of one of its ranks."""

from __future__ import annotations

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import Layout
from vllm_parallel.units import ceil_div


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one rank sees of a step. With prefill-context parallelism `tokens` is its padded share.

    `tokens_across_dp` are the tokens of every engine; empty: all have as many as this one.
    """

    tokens: int
    sampled: int
    decode_tokens: int
    tokens_across_dp: tuple[int, ...] = ()
    any_request_has_context: bool = True
    monolithic_experts: bool = False  # the kernel routes itself: logits travel, not choices
    dispatch_dtype: Dtype | None = None  # None: the model's

    @classmethod
    def decode(cls, requests: int) -> Batch:
        """A step in which every request decodes one token.

        Raises:
            ValueError: there are fewer than none.

        >>> Batch.decode(64).sampled
        64
        """
        if requests < 0:
            raise ValueError(f"a step of {requests} requests; give 0 or more")
        return cls(tokens=requests, sampled=requests, decode_tokens=requests)

    def engines(self, layout: Layout) -> tuple[int, ...]:
        """Tokens of every engine, as one rank of each sees them."""
        return self.tokens_across_dp or (self.tokens,) * layout.dp


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBatch:
    """A step of one engine: prompts with new and cached tokens, and requests that decode.

    `prefill` are pairs of new tokens and tokens already in the cache; `decode` the context of
    each request that decodes one token.
    """

    prefill: tuple[tuple[int, int], ...] = ()
    decode: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens that the step computes."""
        return sum(new for new, _ in self.prefill) + len(self.decode)

    @property
    def requests(self) -> int:
        """Requests in the step; each has a row of logits, whether its prompt is done or not.

        Source: vllm/v1/worker/gpu/input_batch.py, logits_indices (v0.32.0)
        """
        return len(self.prefill) + len(self.decode)

    def share(self, layout: Layout) -> Batch:
        """What a rank of this engine sees, padded to the busiest PCP rank.

        >>> step = EngineBatch(prefill=((10, 0),), decode=(100, 200, 300))
        >>> step.share(Layout()).tokens, step.share(Layout(pcp=2)).tokens
        (13, 7)
        """
        shares = [pcp_tokens(self, layout, rank) for rank in range(layout.pcp)]
        tokens = max(shares, key=sum)
        return Batch(
            tokens=sum(tokens),
            sampled=self.requests,
            decode_tokens=tokens[1],
            any_request_has_context=bool(self.decode) or any(old for _, old in self.prefill),
        )


def pcp_tokens(step: EngineBatch, layout: Layout, rank: int) -> tuple[int, int]:
    """Prefill and decode tokens of one PCP rank.

    A prompt is cut into twice as many chunks as there are ranks, and a rank takes one from each
    end. Beside DCP all ranks take the decodes, and the prompts too short to fill every chunk.

    Source: vllm/v1/worker/gpu/pcp_manager.py, PCPManager._iter_rank_chunks (v0.32.0)

    >>> [pcp_tokens(EngineBatch(prefill=((7, 0),)), Layout(pcp=2), rank) for rank in (0, 1)]
    [(3, 0), (4, 0)]
    """
    new = [tokens for tokens, _ in step.prefill]
    decodes = len(step.decode)
    if layout.pcp == 1:
        return sum(new), decodes
    if layout.dcp > 1:
        cut = [n for n in new if fills_chunks(n, layout.pcp)]
        whole = [n for n in new if not fills_chunks(n, layout.pcp)]
        return sum(_of_rank(n, layout.pcp, rank) for n in cut), sum(whole) + decodes
    owned = decodes // layout.pcp + (rank < decodes % layout.pcp)
    return sum(_of_rank(n, layout.pcp, rank) for n in new), owned


def fills_chunks(tokens: int, pcp: int) -> bool:
    """Whether a prompt leaves none of its `2 * pcp` chunks empty."""
    chunks = 2 * pcp
    return (chunks - 1) * ceil_div(tokens, chunks) < tokens


def _of_rank(tokens: int, pcp: int, rank: int) -> int:
    """Tokens of the two chunks of a rank."""
    return sum(map(len, chunk_pair(tokens, pcp, rank)))


def chunk_pair(tokens: int, pcp: int, rank: int) -> tuple[range, range]:
    """The tokens of a prompt that a PCP rank computes: one chunk from the front, one from the back.

    Source: vllm/v1/worker/gpu/pcp_manager.py, PCPManager._iter_rank_chunks (v0.32.0)

    >>> chunk_pair(7, 2, 0), chunk_pair(7, 2, 1)
    ((range(0, 2), range(6, 7)), (range(2, 4), range(4, 6)))
    """
    size = ceil_div(tokens, 2 * pcp)
    chunks = (rank, 2 * pcp - 1 - rank)
    ends = [(min(tokens, n * size), min(tokens, (n + 1) * size)) for n in chunks]
    return range(*ends[0]), range(*ends[1])
