"""Pages that hold a state, and states on stages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import pytest

from tests.caches.made import AUTO, block_of, cache_of, groups_of, heads, model_of
from tests.test_mixers import FALCON, JAMBA, OLMO, QWEN
from vllm_parallel.block import (
    Attention,
)
from vllm_parallel.kv import KvKind
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Pool
from vllm_parallel.mixer import Mixer
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import CacheSettings, Settings


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
