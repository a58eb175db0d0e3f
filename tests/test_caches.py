"""Caches of layers that differ: dtypes, back ends, states, pages and groups, as CUDA answers them.

Figures named after a model are what vLLM v0.32.0 said of it under the stand-in for CUDA.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Final

import pytest

from tests.test_mixers import FALCON, JAMBA, OLMO, QWEN
from vllm_parallel.block import (
    Attention,
    Block,
    DenseMlp,
    GroupedQueryAttention,
    Indexer,
    LatentAttention,
)
from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import LayoutError
from vllm_parallel.kv import KvCache, KvKind
from vllm_parallel.kv.backends import Need
from vllm_parallel.kv.choice import choose
from vllm_parallel.kv.settling import preferred_block
from vllm_parallel.kv.words import packed_bytes
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Pool
from vllm_parallel.mixer import Mixer
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import ContextLimit
from vllm_parallel.settings import CacheSettings, Settings

BF16: Final = Dtype.BFLOAT16
HOPPER: Final = Cluster(gpu=load_gpu("h100-80gb"))
AUTO: Final = Settings(max_num_batched_tokens=8192)


def block_of(attention: Attention | None = None, mixer: Mixer | None = None) -> Block:
    return Block(attention=attention, mixer=mixer, mlp=DenseMlp(intermediate=256))


def model_of(*layers: Block, sparse: bool = False) -> ModelConfig:
    """A model of these layers; only what caches depend on is real."""
    kinds = list(dict.fromkeys(layers))
    return ModelConfig(
        name="made up",
        architecture="LlamaForCausalLM",
        dtype=BF16,
        hidden=4096,
        vocab=32000,
        kinds=tuple(kinds),
        pattern=tuple(kinds.index(layer) for layer in layers),
        tied=False,
        rotaries=(),
        context=ContextLimit(key="max_position_embeddings", tokens=8192),
        traits=Traits(sparse_attention=sparse),
    )


def heads(kv_heads: int, head_dim: int, window: int | None = None) -> GroupedQueryAttention:
    return GroupedQueryAttention(
        heads=kv_heads * 4, kv_heads=kv_heads, head_dim=head_dim, window=window
    )


def cache_of(
    model: ModelConfig,
    settings: Settings = AUTO,
    layout: Layout | None = None,
    cluster: Cluster = HOPPER,
) -> KvCache:
    layout = layout or Layout()
    return KvCache.of(Deployment(model=model, layout=layout, settings=settings, cluster=cluster))


def groups_of(cache: KvCache) -> list[tuple[str, int, int, list[int]]]:
    """Each group's kind, block size, page, and caches on each stage."""
    bounds = cache.plan.bounds
    return [
        (
            group.spec.kind.value,
            group.spec.block_size,
            group.spec.page_bytes,
            [
                sum(start <= layer < stop for layer in group.layers)
                for start, stop in pairwise(bounds)
            ],
        )
        for group in cache.groups
    ]


FP32: Final = Dtype.FLOAT32
GQA: Final = Need(90, 128, BF16, "auto", None, widest=128)
MLA: Final = Need(90, 576, BF16, "auto", None, widest=576, latent=True, heads=16, nope_dim=128)
DSA: Final = MLA._replace(sparse=True)


@pytest.mark.parametrize(
    "need, name",
    [
        (GQA, "FLASH_ATTN"),
        (GQA._replace(word="fp8"), "FLASH_ATTN"),
        (GQA._replace(word="fp8", chip=80), "FLASHINFER"),
        (GQA._replace(word="fp8", chip=80, head_size=96), "TRITON_ATTN"),
        (GQA._replace(word="fp8", head_size=320), "TRITON_ATTN"),
        (GQA._replace(word="fp8", head_size=512), "FLASH_ATTN"),
        (GQA._replace(head_size=512), "FLASH_ATTN"),
        (GQA._replace(head_size=576), "TRITON_ATTN"),
        (GQA._replace(head_size=100), "TRITON_ATTN"),
        (GQA._replace(head_size=16, dtype=FP32), "FLEX_ATTENTION"),
        (GQA._replace(word="fp8_e5m2", head_size=80), "TRITON_ATTN"),
        (GQA._replace(word="int8_per_token_head"), "TRITON_ATTN"),
        (GQA._replace(word="int8_per_token_head", dcp=True), None),
        (GQA._replace(word="nvfp4"), "FLASHINFER"),
        (GQA._replace(word="nvfp4", head_size=64), None),
        (GQA._replace(word="nvfp4", sinks=True), None),
        (GQA._replace(word="nvfp4", dcp=True), None),
        (GQA._replace(word="nvfp4_4over6"), None),
        (GQA._replace(word="nvfp4_4over6", chip=100), "FLASHINFER"),
        (GQA._replace(word="turboquant_k8v4"), "TURBOQUANT"),
        (GQA._replace(word="turboquant_k8v4", windowed=True), None),
        (GQA._replace(word="fp8_ds_mla"), None),
        (GQA._replace(dtype=FP32), "TRITON_ATTN"),
        (GQA._replace(sinks=True), "FLASH_ATTN"),
        (GQA._replace(sinks=True, chip=80), "TRITON_ATTN"),
        (GQA._replace(chip=75), "TRITON_ATTN"),
        (GQA._replace(chip=100), "FLASHINFER"),
        (GQA._replace(chip=100, head_size=96), "FLASH_ATTN"),
        (GQA._replace(chip=100, head_size=96, word="fp8"), "FLASH_ATTN"),
        (GQA._replace(chip=100, head_size=192, word="fp8"), "TRITON_ATTN"),
        (GQA._replace(chip=0, word="whatever"), "of another vendor"),
        (GQA._replace(block_size=48), "FLASH_ATTN"),
        (GQA._replace(block_size=40), None),
        (GQA._replace(dcp=True), "FLASH_ATTN"),
        (GQA._replace(pcp=True), None),
        (GQA._replace(word="fp8", widest=512, block_size=32, head_size=256), "FLASHINFER"),
        (MLA, "FLASH_ATTN_MLA"),
        (MLA._replace(pcp=True, dcp=True), "FLASH_ATTN_MLA"),
        (MLA._replace(word="fp8"), "FLASHMLA"),
        (MLA._replace(word="fp8", block_size=32), "TRITON_MLA"),
        (MLA._replace(head_size=640), "TRITON_MLA"),
        (MLA._replace(word="fp8_e5m2"), None),
        (MLA._replace(dtype=FP32), None),
        (MLA._replace(chip=80), "TRITON_MLA"),
        (MLA._replace(chip=100), "FLASHINFER_MLA"),
        (MLA._replace(chip=100, nope_dim=96), "CUTLASS_MLA"),
        (MLA._replace(chip=100, block_size=16), "TRITON_MLA"),
        (DSA, "FLASH_ATTN_MLA_SPARSE"),
        (DSA._replace(word="fp8"), "FLASHMLA_SPARSE"),
        (DSA._replace(word="fp8_ds_mla"), "FLASHMLA_SPARSE"),
        (DSA._replace(word="fp8_e4m3"), None),
        (DSA._replace(word="nvfp4_ds_mla"), None),
        (DSA._replace(word="nvfp4_ds_mla", chip=100), "FLASHMLA_SPARSE"),
        (DSA._replace(dcp=True), "FLASHMLA_SPARSE"),
        (DSA._replace(dtype=Dtype.FLOAT16, word="fp8"), None),
        (DSA._replace(block_size=96), None),
        (DSA._replace(chip=80), None),
        (DSA._replace(chip=100, heads=16), "FLASHINFER_MLA_SPARSE"),
        (DSA._replace(chip=100, heads=17), "FLASHMLA_SPARSE"),
        (DSA._replace(chip=100, heads=17, word="fp8"), "FLASHINFER_MLA_SPARSE"),
        (DSA._replace(chip=100, heads=8, pcp=True, dcp=True), "FLASHMLA_SPARSE"),
    ],
)
def test_back_ends(need: Need, name: str | None) -> None:
    backend = choose(need)
    assert (None if backend is None else backend.name) == name


@pytest.mark.parametrize(
    "sizes, block",
    [
        ([(16,)], 16),
        ([(64,)], 64),
        ([(64,), (16,)], 64),
        ([(32, 64), (64,)], 64),
        ([(48,), (32,)], 96),
        ([(16, 32, 64), (8,)], 16),
    ],
)
def test_the_smallest_block_that_all_read(sizes: list[tuple[int, ...]], block: int) -> None:
    assert preferred_block(sizes) == block


@pytest.mark.parametrize(
    "word, head, held",
    [
        ("int8_per_token_head", 128, 264),
        ("fp8_per_token_head", 256, 520),
        ("int4_per_token_head", 128, 136),
        ("nvfp4", 128, 144),
        ("nvfp4_4over6", 256, 288),
        ("turboquant_k8v4", 128, 196),  # 50,176 bytes: 8 heads, 32 tokens
        ("turboquant_4bit_nc", 128, 134),
        ("turboquant_k3v4_nc", 128, 118),
        ("turboquant_3bit_nc", 128, 102),  # 26,112
        ("turboquant_3bit_nc", 100, 82),
        ("turboquant_k8v4", 50, 80),  # 79, made even
    ],
)
def test_packed_heads(word: str, head: int, held: int) -> None:
    assert packed_bytes(word, head, head) == held


@pytest.mark.parametrize(
    "word, page",
    [
        ("auto", 65_536),
        ("float16", 65_536),
        ("fp8", 32_768),
        ("fp8_e5m2", 32_768),
        ("fp8_per_token_head", 33_792),
        ("int4_per_token_head", 17_408),
        ("nvfp4", 18_432),
    ],
)
def test_pages_of_dtypes(word: str, page: int) -> None:
    """Llama 3.1 8B on one rank: 16 tokens of 8 heads of 128."""
    settings = replace(AUTO, kv_cache_dtype=word)
    assert cache_of(model_of(block_of(heads(8, 128))), settings).page_bytes(0) == (page,)


INDEXED: Final = LatentAttention(
    heads=16, q_lora_rank=None, kv_lora_rank=512, nope_dim=128, rope_dim=64, value_dim=128,
    indexer=Indexer(heads=32, head_dim=128, selected_tokens=2048),
)  # fmt: skip


@pytest.mark.parametrize(
    "word, block, pages",
    [("auto", None, (8448, 73_728)), ("fp8", None, (8448, 41_984)),
     ("fp8_ds_mla", 128, (16_896, 83_968))],
)  # fmt: skip
def test_sparse_layers_have_two_caches(
    word: str, block: int | None, pages: tuple[int, ...]
) -> None:
    """Keys of the indexer in blocks of the latent vectors, one table for both."""
    model = model_of(*[block_of(INDEXED)] * 14, sparse=True)
    cache = cache_of(model, replace(AUTO, kv_cache_dtype=word, block_size=block))
    assert (cache.layers(0), cache.page_bytes(0)) == (28, pages)
    assert cache.block_size == (block or 64)
    assert cache.block_bytes(0) == 14 * sum(pages)
    assert cache.blocks_per_request(4096) == 4096 // cache.block_size
    assert len(cache.groups) == 1


def test_the_indexer_reads_blocks_of_64() -> None:
    """On Blackwell too, where the latent vectors could lie in blocks of 32."""
    model, b200 = model_of(block_of(INDEXED), sparse=True), Cluster(gpu=load_gpu("b200"))
    assert cache_of(model, cluster=b200).block_size == 64
    alone = block_of(replace(INDEXED, indexer=None))
    assert cache_of(model_of(alone, sparse=True), cluster=b200).block_size == 32


def test_layers_without_an_indexer_of_their_own() -> None:
    """They read the choice of an earlier layer and keep latent vectors alone."""
    alone = block_of(replace(INDEXED, indexer=None))
    cache = cache_of(model_of(block_of(INDEXED), alone, alone, sparse=True))
    assert (cache.layers(0), cache.block_bytes(0)) == (4, 8448 + 3 * 73_728)


@pytest.mark.parametrize(
    "architecture, gpu, asked, held",
    [
        ("DeepseekV32ForCausalLM", "h100-80gb", "bfloat16", "auto"),
        ("DeepseekV3ForCausalLM", "h100-80gb", "bfloat16", "bfloat16"),
        ("GlmMoeDsaForCausalLM", "h100-80gb", "auto", "auto"),
        ("GlmMoeDsaForCausalLM", "b200", "auto", "fp8_e4m3"),
        ("GlmMoeDsaForCausalLM", "b200", "bfloat16", "bfloat16"),
        ("DeepseekV32ForCausalLM", "b200", "auto", "auto"),
    ],
)
def test_dtypes_that_models_change(architecture: str, gpu: str, asked: str, held: str) -> None:
    model = replace(model_of(block_of(INDEXED), sparse=True), architecture=architecture)
    settings = replace(AUTO, kv_cache_dtype=asked)
    cache = cache_of(model, settings, cluster=Cluster(gpu=load_gpu(gpu)))
    assert cache.plan.forms[0][1].word == held  # type: ignore[union-attr]  # of latent vectors


def jamba() -> ModelConfig:
    mixer, attention = block_of(mixer=JAMBA), block_of(heads(8, 128))
    return model_of(*[attention if n % 8 == 4 else mixer for n in range(32)])


def falcon() -> ModelConfig:
    return model_of(*[block_of(heads(4, 128), FALCON)] * 36)


def every_fourth(mixer: Mixer, attention: Attention, layers: int) -> ModelConfig:
    blocks = block_of(mixer=mixer), block_of(attention)
    return model_of(*[blocks[n % 4 == 3] for n in range(layers)])


OLMO_HYBRID: Final = every_fourth(OLMO, heads(30, 128), 32)
QWEN_NEXT: Final = every_fourth(QWEN, heads(2, 256), 48)
NO_PREFIX: Final = replace(AUTO, prefix_caching=False, max_model_len=5000)


@pytest.mark.parametrize(
    "model, tp, settings, block, page, state_block, kept",
    [
        (jamba(), 1, AUTO, 80, 327_680, 80, 2),
        (jamba(), 8, AUTO, 80, 40_960, 80, 2),
        (jamba(), 1, replace(AUTO, kv_cache_dtype="fp8"), 160, 327_680, 160, 2),
        (jamba(), 2, replace(NO_PREFIX, block_size=32), 96, 196_608, 5000, 1),
        (jamba(), 4, replace(AUTO, block_size=16), 80, 81_920, 80, 2),
        (jamba(), 4, replace(AUTO, block_size=256), 256, 262_144, 256, 2),
        (falcon(), 2, NO_PREFIX, 672, 688_128, 5000, 1),
        (falcon(), 4, AUTO, 672, 344_064, 672, 3),
        (OLMO_HYBRID, 1, AUTO, 80, 1_228_800, 80, 2),
        (QWEN_NEXT, 2, NO_PREFIX, 544, 557_056, 5000, 1),
    ],
)
def test_pages_that_hold_a_state(
    model: ModelConfig,
    tp: int,
    settings: Settings,
    block: int,
    page: int,
    state_block: int,
    kept: int,
) -> None:
    """Blocks of attention are raised until a page holds a state, and the state is padded to it."""
    cache = cache_of(model, settings, Layout(tp=tp))
    assert (cache.block_size, cache.page_bytes(0)) == (block, (page,))
    states = [group for group in cache.groups if group.spec.kind is KvKind.STATE]
    assert {group.spec.block_size for group in states} == {state_block}
    assert {group.blocks(5000, dcp=1, in_flight_tokens=0) for group in states} == {kept}
    full = -(-5000 // block)
    assert cache.blocks_per_request(5000) == full + kept * len(states)


def test_states_in_other_dtypes() -> None:
    """Jamba at tp 1: 3 x 8192 of the convolution, 8192 x 16 of the state space."""
    for caches, page in (
        (CacheSettings(mamba_cache_dtype="float32"), 4 * 8192 * 19),
        (CacheSettings(mamba_ssm_cache_dtype="float32"), 8192 * (3 * 2 + 16 * 4)),
        (CacheSettings(), 2 * 8192 * 19),
    ):
        cache = cache_of(model_of(block_of(mixer=JAMBA)), replace(AUTO, caches=caches))
        assert cache.page_bytes(0) == (page,)
        assert cache.blocks_per_request(8192) == 1  # no attention: no prefix caching either


def test_states_alone_with_prefix_caching() -> None:
    model = model_of(block_of(mixer=JAMBA))
    for settings, block in (
        (replace(AUTO, prefix_caching=True), 16),
        (replace(AUTO, prefix_caching=True, block_size=32), 32),
        (
            replace(AUTO, prefix_caching=True, caches=CacheSettings(mamba_block_size=64)),
            64,
        ),
    ):
        cache = cache_of(model, settings)
        assert (cache.groups[0].spec.block_size, cache.blocks_per_request(1)) == (block, 2)


def test_drafts_lengthen_states() -> None:
    """A draft of three: three states more for each request, and batches that wait."""
    settings = replace(AUTO, speculative_method="ngram", speculative_tokens=3)
    cache = cache_of(falcon(), settings)
    state = cache.plan.forms[0][1]
    assert state.states[0][0] == (6, 5376)  # type: ignore[union-attr]  # the convolution's
    assert cache.groups[1].blocks(1, dcp=1, in_flight_tokens=0) == 3 + 3
    assert cache.deployment.in_flight_tokens == 8192
    assert replace(cache.deployment, settings=AUTO).in_flight_tokens == 2 * 8192


def test_stages_without_attention() -> None:
    """Jamba at pp 8: four stages have mixers alone, which neither pad nor align their states."""
    cache = cache_of(jamba(), AUTO, Layout(pp=8))
    assert [paging.block_size for paging in cache.plan.pagings] == [16, 80] * 4
    assert [cache.page_bytes(stage) for stage in (0, 1)] == [(311_296,), (327_680,)]
    counts = Counter(map(str, groups_of(cache)))
    assert counts == {
        str(("state of fixed size", 16, 327_680, [1, 0] * 4)): 4,
        str(("full attention", 80, 327_680, [0, 1] * 4)): 1,
        str(("state of fixed size", 80, 327_680, [0, 1] * 4)): 3,
    }
    pool = Pool.of(replace(cache.deployment), (10_000_000_000,) * 8)
    assert (pool.num_blocks, pool.tokens) == (30_517, 2_136_711)


def test_states_of_stages_are_dealt_together() -> None:
    """Jamba at pp 3 in blocks of 128: the middle stage has mixers alone, padded like the others."""
    model = replace(jamba(), pattern=jamba().pattern[:16])
    settings = replace(AUTO, block_size=128, caches=CacheSettings(mamba_cache_dtype="float16"))
    cache = cache_of(model, settings, Layout(tp=2, pp=3))
    counts = Counter(str(group[3]) for group in groups_of(cache))
    assert counts == {"[1, 1, 0]": 3, "[1, 0, 1]": 2, "[0, 1, 1]": 3}
    assert [cache.block_bytes(stage) for stage in range(3)] == [262_144] * 3


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
