"""What a layer asks of an attention back end, and what a back end is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass

UNKNOWN_CHIP: Final = 0  # not NVIDIA's: its back ends are not modelled
HALF: Final = frozenset((Dtype.FLOAT16, Dtype.BFLOAT16))
PLAIN: Final = frozenset(("auto", "float16", "bfloat16"))
FP8: Final = frozenset(("fp8", "fp8_e4m3"))
PER_TOKEN_HEAD: Final = frozenset(
    ("int4_per_token_head", "int8_per_token_head", "fp8_per_token_head")
)
TURBOQUANT: Final = frozenset(
    ("turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc")
)
NVFP4: Final = frozenset(("nvfp4", "nvfp4_4over6"))
WIDEST_FA3: Final = 256  # beyond, FlashAttention 4 takes over on Hopper
WIDEST_FA4: Final = 512
FA4_FP8_BLOCK: Final = 64  # FlashAttention 4 on Hopper reads an fp8 cache in tiles of 64 tokens


class Need(NamedTuple):
    """What a layer asks of its back end. `word` is the cache dtype by vLLM's name.

    Source: vllm/v1/attention/selector.py, AttentionSelectorConfig (v0.32.0)
    """

    chip: int  # compute capability times ten
    head_size: int
    dtype: Dtype
    word: str
    block_size: int | None  # only one that was asked for
    widest: int = 0  # the head size of the whole model
    latent: bool = False
    sparse: bool = False
    sinks: bool = False
    windowed: bool = False
    dcp: bool = False
    pcp: bool = False
    heads: int = 0  # query heads on a rank
    nope_dim: int = 0

    @property
    def major(self) -> int:
        """Generation of the chip: 9 is Hopper."""
        return self.chip // 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Backend:
    """One attention back end.

    `sizes` are the blocks that its kernels read; unless `fixed`, multiples of them too.
    `packs` are the cache dtypes that it lays out in a way of its own.

    Source: vllm/v1/attention/backend.py, AttentionBackend (v0.32.0)
    """

    name: str
    words: frozenset[str]
    takes: Callable[[Need], bool]
    sizes: tuple[int, ...] = (16,)
    fixed: bool = False
    packs: frozenset[str] = frozenset()
    tiles: bool = False  # reads an fp8 cache of the widest heads in tiles on Hopper
    dtypes: frozenset[Dtype] = HALF

    def kernel_sizes(self, head_size: int, word: str, chip: int) -> tuple[int, ...]:
        """Blocks that the kernels read for a cache of such heads.

        Source: vllm/v1/attention/backends/flash_attn.py, get_supported_kernel_block_sizes
        """
        if self.tiles and wants_tiles(head_size, word, chip):
            return (FA4_FP8_BLOCK,)
        return self.sizes

    def splits(self, block_size: int, sizes: tuple[int, ...]) -> bool:
        """Whether a block can be split into blocks that the kernels read."""
        return any(block_size % size == 0 for size in sizes)

    def accepts(self, need: Need) -> bool:
        """Whether vLLM finds no reason against this back end.

        Source: vllm/v1/attention/backend.py, validate_configuration (v0.32.0)
        """
        if need.word not in self.words or need.dtype not in self.dtypes:
            return False
        sizes = self.kernel_sizes(need.widest, need.word, need.chip)
        if need.block_size is not None and not self.splits(need.block_size, sizes):
            return False
        return self.takes(need)

    def window_block(self, block_size: int, sizes: tuple[int, ...]) -> int:
        """The block of a layer with a window: the largest that the kernels read unsplit.

        Source: vllm/model_executor/layers/attention/attention.py, _largest_kernel_block_within
        (v0.32.0)

        >>> triton = Backend(name="TRITON_ATTN", words=PLAIN, takes=lambda need: True)
        >>> triton.window_block(40, (16,))
        32
        """
        fixed = self.fixed or sizes != self.sizes
        found = sizes if fixed else [max(size, block_size // size * size) for size in sizes]
        fitting = [size for size in found if size <= block_size]
        return max(fitting) if fitting else min(found)


def wants_tiles(head_size: int, word: str, chip: int) -> bool:
    """Whether FlashAttention 4 reads this cache in tiles of 64 tokens."""
    return chip // 10 == 9 and word in FP8 and head_size == WIDEST_FA4
