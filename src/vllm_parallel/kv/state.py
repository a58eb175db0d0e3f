"""What a Mamba or linear-attention layer keeps on one rank: states of fixed size."""

from __future__ import annotations

from typing import ClassVar

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.kv.specs import KvKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec:
    """The state of a Mamba or linear-attention layer on one rank: a page for each kept state.

    `blocks_kept` counts the states of one request: its own, those of draft tokens, and with
    prefix caching the one before and the one at a block's end.

    Source: vllm/v1/kv_cache_interface.py, MambaSpec (v0.32.0)
    """

    kind: ClassVar[KvKind] = KvKind.STATE
    reach: ClassVar[int] = 0

    states: tuple[tuple[tuple[int, ...], Dtype], ...]  # shape and dtype of each
    state_bytes: int
    block_size: int
    blocks_kept: int
    padded_bytes: int | None = None

    @property
    def page_bytes(self) -> int:
        """Bytes of one block in one layer on one rank."""
        return self.padded_bytes or self.state_bytes

    def blocks(self, length: int, *, dcp: int, in_flight_tokens: int) -> int:  # noqa: ARG002
        """Blocks that a request holds, whatever its length is."""
        return self.blocks_kept

    def with_page(self, page_bytes: int) -> StateSpec:
        """The same with its page padded."""
        return self if self.page_bytes == page_bytes else replace(self, padded_bytes=page_bytes)

    @property
    def family(self) -> tuple[object, ...]:
        """As of a `KvSpec`."""
        return ("states", self.block_size, self.blocks_kept, self.page_bytes)
