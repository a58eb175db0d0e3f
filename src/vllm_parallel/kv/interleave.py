"""Which rank of a DCP group holds each token of a request."""

from __future__ import annotations

from vllm_parallel.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleave:
    """Tokens dealt to `width` ranks, `run` neighbours at a time (`--cp-kv-cache-interleave-size`).

    With a width of 1 nothing is dealt: every rank that has the KV head holds every token.

    Source: vllm/v1/attention/backends/utils.py, get_dcp_local_seq_lens (v0.32.0)

    >>> [Interleave(width=2).holder(token) for token in range(6)]
    [0, 1, 0, 1, 0, 1]
    >>> [Interleave(width=2, run=2).holder(token) for token in range(6)]
    [0, 0, 1, 1, 0, 0]
    """

    width: int
    run: int = 1

    def holder(self, token: int) -> int:
        """The rank in the group that holds a token, both counted from 0."""
        return token // self.run % self.width

    def tokens_on(self, rank: int, length: int) -> int:
        """Tokens of a request of this length that a rank holds.

        >>> Interleave(width=2, run=4).tokens_on(0, 10), Interleave(width=2, run=4).tokens_on(1, 10)
        (6, 4)
        """
        rounds = length // self.run // self.width
        left = length - rounds * self.run * self.width
        return rounds * self.run + min(max(left - rank * self.run, 0), self.run)
