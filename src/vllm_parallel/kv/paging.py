"""The block size of a stage, and the pages that some of its layers are padded to."""

from __future__ import annotations

from typing import Final

from vllm_parallel.frozen import dataclass

DEFAULT_BLOCK: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Paging:
    """What the workers of one stage settle on before caches are planned.

    `state_page` is the page that states are padded to, None where they are left as they are;
    `aligned` says whether their blocks are those of attention; `skipped_page` is the page of
    windows where some layers are left out of the cache's quantisation.

    Source: vllm/platforms/interface.py, update_block_size_for_backend (v0.32.0)
    """

    block_size: int
    state_page: int | None = None
    aligned: bool = False
    skipped_page: int | None = None
