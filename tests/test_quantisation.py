"""`--quantization`: what is built, what is held once loading has quantised it, and checkpoints."""

from __future__ import annotations

from typing import Final

import pytest

from vllm_parallel.catalog import load_model, with_quantization
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Ledger
from vllm_parallel.methods import METHODS, ONLINE, UNMODELLED, WITHOUT_CONFIG
from vllm_parallel.shard import Shard

LAYERS, HIDDEN, QUERIES, KEYS, WIDTH = 32, 4096, 4096, 1024, 14336  # of llama-3.1-8b
LINEAR: Final = (QUERIES + 2 * KEYS) * HIDDEN + QUERIES * HIDDEN + 3 * WIDTH * HIDDEN
OUTPUTS: Final = (QUERIES + 2 * KEYS) + HIDDEN + 2 * WIDTH + HIDDEN
FUSED: Final = 3 + 1 + 2 + 1
BLOCKS: Final = LINEAR // 128**2


@pytest.mark.parametrize(
    "asked, scale_bytes",
    [
        ("fp8", 4 * FUSED),
        ("fp8_per_tensor", 4 * FUSED),
        ("fp8_per_channel", 4 * OUTPUTS),
        ("fp8_per_block", 4 * BLOCKS),
    ],
)
def test_quantised_while_loading(asked: str, scale_bytes: int) -> None:
    """Built in bfloat16; a byte for each weight and the scales are left."""
    plain = load_model("llama-3.1-8b")
    shards = [
        Shard.of(Deployment(model=model, layout=Layout()), 0)
        for model in (plain, with_quantization(plain, asked))
    ]
    built, held = (shard.weight_bytes for shard in shards), shards[1].loaded_weight_bytes
    assert len(set(built)) == 1
    assert held == shards[0].weight_bytes - LAYERS * (LINEAR - scale_bytes)
    assert Ledger.of(shards[1]).terms[0].bytes == held
    assert (shards[0].post_load_bytes, shards[1].post_load_bytes) == (0, None)


def test_only_experts() -> None:
    """int8 of experts leaves attention as it is."""
    plain = load_model("qwen3-30b-a3b")
    model = with_quantization(plain, "int8_per_channel_weight_only")
    assert model.loaded is not None
    (kind,) = model.loaded.kinds
    assert [name for name, _ in kind.schemes] == ["mlp.experts"]


def test_checkpoints_keep_theirs() -> None:
    kimi = load_model("kimi-k2")
    assert with_quantization(kimi, "fp8") == kimi
    assert with_quantization(kimi, None) is kimi
    with pytest.raises(CatalogError, match="--quantization humming is not modelled"):
        with_quantization(kimi, "humming")


def test_words() -> None:
    """Every word is vLLM's; none is both modelled and not."""
    assert {*ONLINE, *UNMODELLED, *WITHOUT_CONFIG} <= set(METHODS)
    assert not set(ONLINE) & {*UNMODELLED, *WITHOUT_CONFIG}
