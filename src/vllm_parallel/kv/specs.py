"""What an attention layer keeps on one rank: keys and values of tokens, block by block."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.units import ceil_div


class KvKind(StrEnum):
    """Which tokens of a request a layer has to keep."""

    FULL = "full attention"
    LATENT = "latent attention"
    INDEX = "indexer"
    WINDOW = "sliding window"
    CHUNK = "chunked local"
    STATE = "state of fixed size"


LOCAL: Final = (KvKind.WINDOW, KvKind.CHUNK)


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSpec:
    """The keys and values of one kind of layer on one rank.

    `reach` is the window or chunk in tokens, 0 for full attention. `head_bytes` is one token in
    one head, keys and values. `padded_bytes` is the page where it is made larger than its tokens.

    Source: vllm/v1/kv_cache_interface.py, AttentionSpec (v0.32.0)
    """

    kind: KvKind
    heads: int
    key_size: int
    value_size: int
    word: str  # the cache dtype, by vLLM's name
    head_bytes: int
    block_size: int
    reach: int = 0
    padded_bytes: int | None = None

    @property
    def token_bytes(self) -> int:
        """Bytes that one token takes in one layer on one rank."""
        return self.heads * self.head_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of one block in one layer on one rank."""
        return self.padded_bytes or self.block_size * self.token_bytes

    def blocks(self, length: int, *, dcp: int, in_flight_tokens: int) -> int:
        """Blocks that a request of this length may hold at once.

        Source: vllm/v1/kv_cache_interface.py, max_memory_usage_bytes of each spec (v0.32.0)

        >>> spec = KvSpec(kind=KvKind.WINDOW, heads=1, key_size=64, value_size=64, word="auto",
        ...     head_bytes=256, block_size=16, reach=128)
        >>> spec.blocks(131072, dcp=1, in_flight_tokens=8192)
        521
        """
        if self.kind is KvKind.CHUNK:
            return ceil_div(min(self.reach + in_flight_tokens, length), self.block_size)
        if self.kind is KvKind.WINDOW:
            held = min(self.reach - 1 + in_flight_tokens, length)
            return ceil_div(held, self.block_size) + 1
        return ceil_div(ceil_div(length, dcp), self.block_size)

    def with_page(self, page_bytes: int) -> KvSpec | None:
        """The same with a larger page: more tokens if they fill it, else padding.

        None for latent attention whose pages do not divide, as its rows are read in place, and
        for padded pages that would be multiplied.

        Source: vllm/v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size (v0.32.0)
        """
        if page_bytes % self.page_bytes == 0:
            times = page_bytes // self.page_bytes
            if times == 1:
                return self
            if self.padded_bytes is None:
                return replace(self, block_size=self.block_size * times)
            return None
        if self.kind in (KvKind.LATENT, KvKind.INDEX):
            return None
        return replace(self, padded_bytes=page_bytes)

    @property
    def family(self) -> tuple[object, ...]:
        """Specs that agree on this need as many blocks, so they may share a block table."""
        local = self.kind in LOCAL
        return (self.kind, self.block_size, self.reach) if local else ("tokens", self.block_size)
