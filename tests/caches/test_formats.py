"""Caches of one layer: back ends, block sizes, dtypes, sparse layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.caches.made import AUTO, BF16, block_of, cache_of, heads, model_of
from vllm_parallel.block import (
    Indexer,
    LatentAttention,
)
from vllm_parallel.catalog import load_gpu
from vllm_parallel.cluster import Cluster
from vllm_parallel.dtype import Dtype
from vllm_parallel.kv.backends import Need
from vllm_parallel.kv.choice import choose
from vllm_parallel.kv.settling import preferred_block
from vllm_parallel.kv.words import packed_bytes

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
