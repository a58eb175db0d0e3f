"""The KV cache: tokens dealt one at a time, layers dealt to groups, requests tried one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from tests.graph.dealing import stages
from vllm_parallel.block import Block, DenseMlp, GroupedQueryAttention
from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.kv import KvCache, KvGroup, KvKind, KvSpec
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Pool
from vllm_parallel.model import ModelConfig
from vllm_parallel.positions import ContextLimit
from vllm_parallel.settings import ExpertSettings, Settings
from vllm_parallel.units import GIB

FULL: Final = GroupedQueryAttention(heads=8, kv_heads=2, head_dim=16)
WINDOW: Final = GroupedQueryAttention(heads=8, kv_heads=2, head_dim=16, window=40)
CHUNK: Final = GroupedQueryAttention(heads=8, kv_heads=2, head_dim=16, chunk=64)
KINDS: Final = {"f": FULL, "w": WINDOW, "c": CHUNK}


def model_of(pattern: str) -> ModelConfig:
    """A small model with one layer for each letter: full, window or chunk."""
    letters = list(dict.fromkeys(pattern))
    return ModelConfig(
        name="made up",
        architecture="LlamaForCausalLM",
        dtype=Dtype.BFLOAT16,
        hidden=128,
        vocab=640,
        kinds=tuple(
            Block(attention=KINDS[letter], mlp=DenseMlp(intermediate=256)) for letter in letters
        ),
        pattern=tuple(letters.index(letter) for letter in pattern),
        tied=False,
        rotaries=(),
        context=ContextLimit(key="max_position_embeddings", tokens=4096),
    )


def cache_of(
    pattern: str, layout: Layout | None = None, *, batch: int = 24, block_size: int | None = None
) -> KvCache:
    settings = Settings(max_num_batched_tokens=batch, block_size=block_size)
    layout = layout or Layout()
    return KvCache.of(Deployment(model=model_of(pattern), layout=layout, settings=settings))


def spec_of(group: KvGroup) -> KvSpec:
    """What the layers of a group of attention keep."""
    assert isinstance(group.spec, KvSpec)
    return group.spec


@pytest.mark.parametrize(
    "name, tp, kv_cache_dtype, token_bytes",
    [
        ("llama-3.1-70b", 8, "auto", 512),
        ("llama-3.1-70b", 4, "auto", 1024),
        ("llama-3.1-70b", 16, "auto", 512),  # never below one head
        ("llama-3.1-70b", 64, "auto", 512),
        ("llama-3.1-70b", 8, "bfloat16", 512),
        ("llama-3.1-70b", 8, "float16", 512),
        ("llama-3.1-70b", 8, "fp8", 256),
        ("llama-3.1-70b", 8, "fp8_e4m3", 256),
        ("qwen3-235b-a22b", 1, "auto", 2048),
        ("gpt-oss-120b", 8, "auto", 256),
        ("deepseek-v3", 1, "auto", 1152),
        ("deepseek-v3", 8, "auto", 1152),  # latent attention is not divided
        ("deepseek-v3", 8, "fp8", 576),
    ],
)
def test_bytes_of_a_token(name: str, tp: int, kv_cache_dtype: str, token_bytes: int) -> None:
    """One layer on one rank; a page is a block of them."""
    deployment = Deployment(
        model=load_model(name, as_bf16=True),
        layout=Layout(tp=tp),
        settings=Settings(kv_cache_dtype=kv_cache_dtype, block_size=32),
    )
    cache = KvCache.of(deployment)
    assert {spec_of(group).token_bytes for group in cache.groups} == {token_bytes}
    assert cache.page_bytes(0) == (32 * token_bytes,)


@pytest.mark.parametrize(
    "dtype, token_bytes", [(Dtype.BFLOAT16, 128), (Dtype.FLOAT16, 128), (Dtype.FLOAT32, 256)]
)
def test_auto_takes_the_models_dtype(dtype: Dtype, token_bytes: int) -> None:
    model = replace(model_of("f"), dtype=dtype)
    spec = spec_of(KvCache.of(Deployment(model=model, layout=Layout())).groups[0])
    assert (spec.word, spec.token_bytes) == ("auto", token_bytes)


def test_dtypes_of_other_vendors() -> None:
    """A format whose pages are not known there is refused, never counted as another."""
    cluster = Cluster(gpu=load_gpu("mi300x"))
    for word in ("ultraquant_4bit", "int8_per_token_head", "nvfp4"):
        settings = Settings(kv_cache_dtype=word)
        deployment = Deployment(
            model=model_of("f"), layout=Layout(), settings=settings, cluster=cluster
        )
        with pytest.raises(CatalogError, match=f"--kv-cache-dtype {word} is not modelled on GPUs"):
            KvCache.of(deployment)


@pytest.mark.parametrize(
    "name, gpu, kv_cache_dtype, block_size",
    [
        ("llama-3.1-8b", None, "auto", 16),
        ("llama-3.1-8b", "h100-80gb", "fp8", 16),
        ("llama-3.1-8b", "b200", "auto", 16),
        ("deepseek-v3", None, "auto", 16),
        ("deepseek-v3", "h100-80gb", "auto", 16),
        ("deepseek-v3", "h100-80gb", "fp8", 64),
        ("deepseek-v3", "h200", "fp8_e4m3", 64),
        ("deepseek-v3", "a100-80gb", "fp8", 16),
        ("deepseek-v3", "b200", "auto", 32),
        ("deepseek-v3", "b200", "fp8", 32),
    ],
)
def test_block_size(name: str, gpu: str | None, kv_cache_dtype: str, block_size: int) -> None:
    """What the attention back end prefers, unless one is asked for."""
    model, cluster = load_model(name, as_bf16=True), Cluster(gpu=load_gpu(gpu) if gpu else None)
    settings = Settings(kv_cache_dtype=kv_cache_dtype)
    asked = Settings(kv_cache_dtype=kv_cache_dtype, block_size=48)
    deployment = Deployment(model=model, layout=Layout(), settings=settings, cluster=cluster)
    assert KvCache.of(deployment).groups[0].spec.block_size == block_size
    deployment = Deployment(model=model, layout=Layout(), settings=asked, cluster=cluster)
    assert KvCache.of(deployment).groups[0].spec.block_size == 48


def blocks_filled(tokens: int, block_size: int) -> int:
    """Blocks opened by tokens that come one at a time."""
    blocks, room = 0, 0
    for _ in range(tokens):
        if room == 0:
            blocks, room = blocks + 1, block_size
        room -= 1
    return blocks


def test_tokens_dealt_to_dcp_ranks() -> None:
    """Interleave 1: token after token to the next rank; the fullest rank's blocks count."""
    for dcp, block_size in product((1, 2, 3, 4, 8), (1, 5, 16)):
        cache = cache_of("f", Layout(tp=8 * dcp, dcp=dcp), block_size=block_size)
        for length in (*range(1, 70), 127, 128, 129, 1000, 1024, 1025):
            held = [0] * dcp
            for token in range(length):
                held[token % dcp] += 1
            fullest = max(blocks_filled(tokens, block_size) for tokens in held)
            assert cache.blocks_per_request(length) == fullest, (dcp, block_size, length)


def test_windows_and_chunks() -> None:
    """A window keeps its last tokens and all in flight, and may cut into one more block."""
    for batch, block_size, pp in product((1, 3, 7, 24), (16, 32), (1, 2)):
        in_flight = batch * (pp + 1)
        full, window, chunk = (
            cache_of(letter * 2, Layout(pp=pp), batch=batch, block_size=block_size)
            for letter in "fwc"
        )
        for length in (*range(1, 140), 500, 4096):
            kept_by_window = [token for token in range(length) if token < 39 + in_flight]
            kept_by_chunk = [token for token in range(length) if token < 64 + in_flight]
            case = (batch, block_size, pp, length)
            assert full.blocks_per_request(length) == blocks_filled(length, block_size), case
            windowed = blocks_filled(len(kept_by_window), block_size) + 1
            assert window.blocks_per_request(length) == windowed, case
            chunked = blocks_filled(len(kept_by_chunk), block_size)
            assert chunk.blocks_per_request(length) == chunked, case


@pytest.mark.parametrize("asked, window", [(1, 16), (16, 16), (17, 16), (40, 32), (64, 64)])
def test_blocks_of_windows(asked: int, window: int) -> None:
    """A window takes the largest block that its kernels read, whatever is asked for."""
    cache = cache_of("w" * 3, block_size=asked)
    assert (cache.block_size, cache.groups[0].spec.block_size) == (asked, window)
    assert cache.page_bytes(0) == (window * 128,)


def groups_dealt(pattern: str) -> list[tuple[str, list[int]]]:
    """Buckets in order of appearance; each dealt like cards to as few groups as hold it."""
    buckets: dict[str, list[int]] = {}
    for layer, letter in enumerate(pattern):
        buckets.setdefault(letter, []).append(layer)
    smallest = min(len(layers) for layers in buckets.values())
    largest = max(len(layers) for layers in buckets.values())
    size = largest if 2 * largest < 3 * smallest else smallest
    groups = []
    for letter, layers in buckets.items():
        count = 1
        while count * size < len(layers):
            count += 1
        hands: list[list[int]] = [[] for _ in range(count)]
        for place, layer in enumerate(layers):
            hands[place % count].append(layer)
        groups += [(letter, hand) for hand in hands]
    return groups


PATTERNS: Final = (
    "f",
    "w",
    "ffff",
    "wf" * 6,
    "cccf" * 5,
    "fw",
    "fwwwww",
    "ffffww",
    "fffffwwww",  # 5 and 4: the larger sets the size
    "ffffffwwww",  # 6 and 4: exactly 1.5, no longer few
    "fffffffffffwwwwwwww",  # 11 and 8: under 1.5
    "wffwcfwcwcffw",
    "wwwwwfccccc",
    "fwwfwwfwwfwwf",
)
KIND_OF: Final = {"f": KvKind.FULL, "w": KvKind.WINDOW, "c": KvKind.CHUNK}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_groups(pattern: str) -> None:
    found = [(group.spec.kind, list(group.layers)) for group in cache_of(pattern).groups]
    assert found == [(KIND_OF[letter], layers) for letter, layers in groups_dealt(pattern)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_bytes_of_a_block(pattern: str) -> None:
    """On each stage the largest group's pages there; the groups are made over all stages."""
    page = 16 * 2 * 2 * 16 * 2  # tokens, K and V, heads, head_dim, bytes
    for pp in range(1, len(pattern) + 1):
        cache = cache_of(pattern, Layout(pp=pp))
        assert list(cache.stages) == list(range(pp))
        for stage, layers in enumerate(stages(len(pattern), pp)):
            here = [len(set(group) & set(layers)) for _, group in groups_dealt(pattern)]
            assert cache.block_bytes(stage) == max(here) * page, (pp, stage)
            assert cache.layers(stage) == len(layers)
            assert cache.page_bytes(stage) == (page,)


def blocks_of_request(pattern: str, length: int, in_flight: int) -> int:
    """All groups draw from one pool: a table of blocks for each."""
    total = 0
    for letter, _ in groups_dealt(pattern):
        match letter:
            case "f":
                total += blocks_filled(length, 16)
            case "w":
                total += blocks_filled(min(39 + in_flight, length), 16) + 1
            case _:
                total += blocks_filled(min(64 + in_flight, length), 16)
    return total


@pytest.mark.parametrize("pattern", PATTERNS)
def test_longest_request(pattern: str) -> None:
    """Lengths tried from 1 up, until one does not fit."""
    cache, in_flight = cache_of(pattern), 2 * 24
    needs = [blocks_of_request(pattern, length, in_flight) for length in range(1, 401)]
    assert [cache.blocks_per_request(length) for length in range(1, 401)] == needs
    for blocks in range(max(needs) + 3):
        for at_most in (1, 17, 400):
            longest = 0
            while longest < at_most and needs[longest] <= blocks:
                longest += 1
            assert cache.longest_request(blocks, at_most=at_most) == longest, (blocks, at_most)


def test_longest_request_of_dcp() -> None:
    cache = cache_of("ff", Layout(tp=16, dcp=4))
    for blocks in range(12):
        longest = 0
        while blocks_filled((longest + 4) // 4, 16) <= blocks:  # a rank's share of one more
            longest += 1
        assert cache.longest_request(blocks, at_most=4096) == longest == blocks * 64


@pytest.mark.parametrize(
    "name, sizes, first, blocks, per_request, tokens",
    [
        ("gpt-oss-120b", [18, 18], KvKind.WINDOW, 582_542, 8192 + 521, 8_763_335),
        ("llama-4-maverick", [12] * 4, KvKind.CHUNK, 436_906, 8192 + 3 * 1024, 5_083_997),
    ],
)
def test_hybrids_that_were_tried(
    name: str, sizes: Sequence[int], first: KvKind, blocks: int, per_request: int, tokens: int
) -> None:
    """tp 8, blocks of 16, 40 GiB, 131,072 tokens, 8192 in flight: two batches of 4096."""
    deployment = Deployment(
        model=load_model(name, as_bf16=True),
        layout=Layout(tp=8),
        settings=Settings(max_model_len=131072, max_num_batched_tokens=4096, block_size=16),
    )
    cache = KvCache.of(deployment)
    assert [len(group.layers) for group in cache.groups] == list(sizes)
    assert cache.groups[0].spec.kind is first
    assert cache.blocks_per_request(131072) == per_request
    pool = Pool.of(deployment, (40 * GIB,))
    assert (pool.num_blocks, pool.tokens) == (blocks, tokens)


def test_layers_of_the_hybrids() -> None:
    """gpt-oss alternates, window first; Llama 4 has every fourth layer whole."""
    oss = KvCache.of(Deployment(model=load_model("gpt-oss-120b", as_bf16=True), layout=Layout()))
    assert [(group.spec.kind, group.spec.reach, group.layers) for group in oss.groups] == [
        (KvKind.WINDOW, 128, tuple(range(0, 36, 2))),
        (KvKind.FULL, 0, tuple(range(1, 36, 2))),
    ]
    four = KvCache.of(Deployment(model=load_model("llama-4-maverick"), layout=Layout()))
    local = [layer for layer in range(48) if layer % 4 != 3]
    assert [(group.spec.kind, group.spec.reach, group.layers) for group in four.groups] == [
        *((KvKind.CHUNK, 8192, tuple(local[hand::3])) for hand in range(3)),
        (KvKind.FULL, 0, tuple(range(3, 48, 4))),
    ]


def test_batches_in_flight() -> None:
    """One batch more than there are stages; the batch is asked for or the GPU's default."""
    model = model_of("ff")
    for pp in (1, 2):
        settings = Settings(max_num_batched_tokens=100)
        deployment = Deployment(model=model, layout=Layout(pp=pp), settings=settings)
        assert deployment.in_flight_tokens == (pp + 1) * 100
        waiting = replace(settings, async_scheduling=False)
        assert replace(deployment, settings=waiting).in_flight_tokens == pp * 100
        for method, ahead in (("ngram", 0), ("ngram_gpu", 1), ("eagle", 1), ("suffix", 0)):
            drafting = replace(settings, speculative_method=method)
            found = replace(deployment, settings=drafting).in_flight_tokens
            assert found == (pp + ahead) * 100, method
        older = replace(settings, experts=ExpertSettings(dual_batch_overlap=True))
        assert replace(deployment, settings=older).in_flight_tokens == 200  # with or without stages
    for gpu, batch in (("h100-80gb", 8192), ("a100-80gb", 2048), ("b200", 16384), ("l40s", 2048)):
        deployment = Deployment(model=model, layout=Layout(), cluster=Cluster(gpu=load_gpu(gpu)))
        assert deployment.max_num_batched_tokens == batch


def test_specs_are_compared_by_what_they_keep() -> None:
    """Kinds of block that cache alike share a group, whatever their MLPs are."""
    model = load_model("deepseek-v3", as_bf16=True)  # dense and MoE layers, one kind of cache
    cache = KvCache.of(Deployment(model=model, layout=Layout(pp=4)))
    assert [group.layers for group in cache.groups] == [tuple(range(61))]
    assert [cache.block_bytes(stage) for stage in cache.stages] == [
        layers * 16 * 1152 for layers in (15, 15, 16, 15)
    ]
    spec = spec_of(cache_of("f").groups[0])
    assert (spec.kind, spec.heads, spec.key_size, spec.value_size) == (KvKind.FULL, 2, 16, 16)
