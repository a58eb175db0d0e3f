"""Inputs that another public kernel answers too: equal where both are exact, else itemised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vllm_parallel.catalog import load_model
from vllm_parallel.collectives import Batch, EngineBatch, Kind, collectives
from vllm_parallel.collectives.batch import pcp_tokens
from vllm_parallel.deployment import Deployment
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Layout
from vllm_parallel.price.reading import CacheRead, longest_share, prompt_pairs
from vllm_parallel.price.work import StageWork
from vllm_parallel.shard import Shard
from vllm_parallel.units import ceil_div

from same_input import THEIR_WEIGHTS, TP8, counted_there, difference  # isort: skip


def test_weights_differ_by_what_is_itemised() -> None:
    assert counted_there() == THEIR_WEIGHTS
    ours = Shard.of(TP8, 0).loaded_weight_bytes
    assert THEIR_WEIGHTS + sum(difference().values()) == ours
    assert all(amount > 0 for amount in difference().values())


def test_caches_agree() -> None:
    """35,136 bytes a token in fp8, twice that in 16 bits; 137.25 MiB for 4,096 tokens."""
    for dtype, each in (("fp8", 35_136), ("auto", 70_272)):
        settings = replace(TP8.settings, kv_cache_dtype=dtype)
        cache = KvCache.of(replace(TP8, settings=settings))
        assert cache.block_bytes(0) == each * cache.block_size
    assert 4096 * 35_136 == 137.25 * 2**20


def test_experts_touched_agree() -> None:
    """256 x (1 - (248 / 256)^B) experts of 44,040,192 bytes, cut over tp."""
    [(routed, layers)] = StageWork.of(TP8, 0).routed
    assert layers == 58
    for batch in (1, 2, 32, 256):
        assert routed.touched(batch) == pytest.approx(256 * (1 - (248 / 256) ** batch))
    assert routed.each.bytes == pytest.approx(44_040_192 / 8, rel=0.001)  # scales beside it


def test_shares_of_contexts() -> None:
    assert [longest_share(1000, 8, 1), longest_share(1000, 8, 32)] == [125, 128]
    assert [longest_share(100, 8, 1), longest_share(100, 8, 64)] == [13, 64]
    assert 4 * longest_share(1000, 3, 1) == 1336
    assert [8 * longest_share(1001, 4, 1), longest_share(8008, 4, 1)] == [2008, 2002]


def test_shares_of_prompts() -> None:
    """17 tokens leave a chunk empty and are copied; 16 are cut."""
    layout = Layout(tp=1, pcp=8, dcp=8)
    for tokens, most in ((17, 17), (16, 2)):
        step = EngineBatch(prefill=((tokens, 0),))
        assert max(sum(pcp_tokens(step, layout, rank)) for rank in range(8)) == most


@pytest.mark.parametrize(
    "new, cached, pcp, over",
    [(4096, 0, 8, 1.0), (1001, 0, 8, 1.014035), (1001, 8192, 4, 1.007398), (100, 0, 8, 1.2544)],
)
def test_pairs_over_an_even_share(new: int, cached: int, pcp: int, over: float) -> None:
    read = CacheRead(
        layers=1, token_bytes=1, fixed_bytes=0, reach=0, sharded=False, multiply_adds=1,
        pair_multiply_adds=1,
    )  # fmt: skip
    step = EngineBatch(prefill=((new, cached),))
    busiest = prompt_pairs(step, read, Layout(pcp=pcp))
    tokens = 2 * ceil_div(new, 2 * pcp)
    # They count a token's pair with itself by half.
    share = (busiest - tokens / 2) / (read.pairs(new, cached) - new / 2)
    assert share * pcp == pytest.approx(over, abs=1e-6)


def test_payloads_over_dcp() -> None:
    """32 rows of DeepSeek-V3: they count a gather's output, and a scatter's input."""
    layout = Layout(tp=8, dcp=8)
    [step] = collectives(
        Deployment(model=load_model("deepseek-v3"), layout=layout), Batch.decode(32)
    )
    found = {
        (call.kind, call.bytes * (8 if call.kind is Kind.ALL_GATHER else 1))
        for call in step.calls
        if call.group.value == "dcp"
    }
    assert found == {
        (Kind.ALL_GATHER, 4_718_592),
        (Kind.ALL_GATHER, 131_072),
        (Kind.REDUCE_SCATTER, 4_194_304),
    }
