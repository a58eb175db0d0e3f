"""Pages of unlike layers made equal."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.caches.made import AUTO, block_of, cache_of, groups_of, heads, model_of
from tests.caches.test_formats import INDEXED
from vllm_parallel.block import (
    GroupedQueryAttention,
)
from vllm_parallel.catalog import load_model
from vllm_parallel.errors import LayoutError
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Pool
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import CacheSettings


def shared() -> ModelConfig:
    """Gemma 4's kind: wide full layers, windows, and ten layers that read others' caches."""
    full, window = heads(4, 512), heads(4, 256, 512)
    layers = [block_of(full if n % 6 == 5 else window) for n in range(20)]
    borrowing = [
        block_of(replace(full, borrows_kv=True)),
        block_of(replace(window, borrows_kv=True)),
    ]
    return model_of(*layers, *borrowing * 5)


@pytest.mark.parametrize(
    "word, block, pages, window, unified, blocks",
    [
        ("auto", 16, (65_536, 131_072), 32, 131_072, 76_293),
        ("fp8", 64, (131_072, 262_144), 128, 262_144, 12_715),
        ("int8_per_token_head", 16, (33_280, 66_048), 16, 66_048, 50_468),
    ],
)
def test_pages_made_equal(
    word: str, block: int, pages: tuple[int, ...], window: int, unified: int, blocks: int
) -> None:
    """Windows take more tokens until their page is as large, or are padded where none fit."""
    settings = replace(AUTO, kv_cache_dtype=word, max_model_len=8192)
    cache = cache_of(shared(), settings)
    assert (cache.layers(0), cache.block_size, cache.page_bytes(0)) == (20, block, pages)
    assert groups_of(cache) == [
        *(("sliding window", window, unified, [3]) for _ in range(5)),
        ("sliding window", window, unified, [2]),
        ("full attention", block, unified, [3]),
    ]
    if word != "auto":
        assert Pool.of(cache.deployment, (10_000_000_000,)).num_blocks == blocks


@pytest.mark.parametrize("asked, window", [(16, 16), (48, 32), (128, 64), (192, 64)])
def test_windows_of_kernels_with_few_blocks(asked: int, window: int) -> None:
    """FlashInfer reads blocks of 16, 32 and 64: a window takes the largest, unsplit."""
    layer = block_of(heads(2, 128, 64))
    settings = replace(AUTO, kv_cache_dtype="fp8_e5m2", block_size=asked)
    assert cache_of(model_of(layer), settings).groups[0].spec.block_size == window


def test_fp8_of_wide_heads_in_blocks_of_16() -> None:
    """FlashAttention's tiles of 64 are asked away: Triton reads all layers."""
    settings = replace(AUTO, kv_cache_dtype="fp8", block_size=16)
    cache = cache_of(shared(), settings)
    assert (cache.block_size, cache.page_bytes(0)) == (16, (32_768, 65_536))


ALTERNATING: Final = model_of(*[block_of(heads(8, 256, 4096)), block_of(heads(8, 256))] * 21)
WHOLE: Final = CacheSettings(disable_hybrid_kv_cache_manager=True)


def test_windows_allocated_whole() -> None:
    """Gemma 2 without the hybrid manager: one group, and pages as the layers report them."""
    cache = cache_of(ALTERNATING, replace(AUTO, caches=WHOLE, max_model_len=8192))
    assert groups_of(cache) == [("full attention", 16, 131_072, [42])]
    pool = Pool.of(cache.deployment, (10_000_000_000,))
    assert (pool.num_blocks, pool.tokens) == (1816, 29_056)
    apart = cache_of(ALTERNATING, replace(AUTO, max_model_len=8192))
    assert [group[0] for group in groups_of(apart)] == ["sliding window", "full attention"]


def test_windows_alone_stay_windows() -> None:
    cache = cache_of(model_of(*[block_of(heads(8, 128, 4096))] * 4), replace(AUTO, caches=WHOLE))
    assert [group[0] for group in groups_of(cache)] == ["sliding window"]


@pytest.mark.parametrize(
    "layers, sentence",
    [
        ((heads(8, 128, 64), heads(8, 128, 128)), "Failed to promote local KV cache specs"),
        ((heads(8, 128), heads(8, 128, 64), heads(8, 128, 128)), "must have the same window size"),
    ],
)
def test_windows_that_cannot_be_whole(
    layers: tuple[GroupedQueryAttention, ...], sentence: str
) -> None:
    model = model_of(*[block_of(layer) for layer in layers])
    with pytest.raises(LayoutError, match=sentence):
        cache_of(model, replace(AUTO, caches=WHOLE))


def test_layers_of_unlike_heads() -> None:
    """Full attention with other heads on some layers: one table, pages side by side."""
    cache = cache_of(model_of(*[block_of(heads(8, 128)), block_of(heads(2, 128))] * 3))
    assert (len(cache.groups), cache.block_bytes(0)) == (1, 3 * (65_536 + 16_384))
    assert cache.blocks_per_request(100) == 7


def test_latent_attention_beside_windows() -> None:
    """Latent pages cannot be padded: beside larger ones the windows are allocated whole."""
    latent = block_of(replace(INDEXED, indexer=None))
    large = cache_of(model_of(latent, latent, block_of(heads(8, 128, 1024))))
    assert groups_of(large) == [("latent attention", 16, 18_432, [3])]
    assert large.block_bytes(0) == 2 * 18_432 + 65_536
    small = cache_of(model_of(latent, latent, block_of(heads(1, 128, 1024))))
    assert groups_of(small) == [
        ("latent attention", 16, 18_432, [1]),
        ("latent attention", 16, 18_432, [1]),
        ("sliding window", 16, 18_432, [1]),
    ]


def test_layers_left_out_of_quantisation() -> None:
    """Gemma 2 in fp8 but for its windows: blocks are raised until both fit one page."""
    caches = CacheSettings(kv_cache_dtype_skip_layers=("sliding_window",))
    cache = cache_of(ALTERNATING, replace(AUTO, kv_cache_dtype="fp8", caches=caches))
    assert cache.block_size == 32
    assert groups_of(cache) == [
        ("sliding window", 16, 131_072, [21]),
        ("full attention", 32, 131_072, [21]),
    ]
    full = CacheSettings(kv_cache_dtype_skip_layers=("1", "3"))
    with pytest.raises(LayoutError, match="page size"):
        cache_of(ALTERNATING, replace(AUTO, kv_cache_dtype="fp8", caches=full))


def test_llama_with_two_layers_left_out() -> None:
    caches = CacheSettings(kv_cache_dtype_skip_layers=("0", "3"))
    settings = replace(AUTO, kv_cache_dtype="fp8", caches=caches)
    cache = cache_of(model_of(*[block_of(heads(8, 128))] * 32), settings)
    assert (cache.block_size, cache.block_bytes(0)) == (32, 2_228_224)
    assert cache.page_bytes(0) == (65_536, 131_072)


def test_turboquant_leaves_out_both_ends() -> None:
    model = model_of(*[block_of(heads(8, 128))] * 32)
    one = cache_of(model, replace(AUTO, kv_cache_dtype="turboquant_k8v4"))
    assert (one.block_size, one.page_bytes(0), one.block_bytes(0)) == (
        32, (50_176, 131_072), 1_929_216,
    )  # fmt: skip
    two = cache_of(model, replace(AUTO, kv_cache_dtype="turboquant_3bit_nc"), Layout(pp=2))
    assert [paging.block_size for paging in two.plan.pagings] == [32, 96]
    pool = Pool.of(replace(two.deployment, settings=replace(two.deployment.settings,
                   max_model_len=4096)), (10_000_000_000,) * 2)  # fmt: skip
    assert (pool.num_blocks, pool.tokens) == (6357, 35_816)


def test_block_size_is_what_the_first_stage_settles_on() -> None:
    model = load_model("deepseek-v3", as_bf16=True)
    fp8 = replace(AUTO, kv_cache_dtype="fp8")
    assert cache_of(model, fp8, Layout(tp=8)).block_size == 64
