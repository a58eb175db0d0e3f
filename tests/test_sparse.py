"""Sparse latent attention: which layers have an indexer, and what else its families read."""

from __future__ import annotations

from typing import Final

import pytest

from tests.test_catalog import refused
from tests.test_families import LATENT, Config, dense_layers, experts, read
from vllm_parallel.block import Indexer, LatentAttention
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import ContextSettings, Settings
from vllm_parallel.shard import Shard

INDEXED: Final[dict[str, object]] = LATENT | {
    "index_topk": 256,
    "index_head_dim": 96,
    "index_n_heads": 12,
}


def selecting(model: ModelConfig) -> str:
    """F for each layer with an indexer, S for the others."""
    kinds = [kind.attention for kind in model.kinds]
    return "".join(
        "F" if isinstance(a := kinds[n], LatentAttention) and a.indexer else "S"
        for n in model.pattern
    )


@pytest.mark.parametrize(
    "keys, found",
    [
        ({}, "FFFFFFFF"),
        ({"index_topk_freq": 4}, "FFSSSFSS"),
        ({"index_topk_freq": 3, "index_skip_topk_offset": 1}, "FSSFSSFS"),
        ({"index_topk_freq": 3, "index_skip_topk_offset": 0}, "SSFSSFSS"),
        ({"index_topk_pattern": "FSSFSSFS"}, "FSSFSSFS"),
        ({"index_topk_pattern": ["F", "S"]}, "FSFFFFFF"),
        ({"index_topk_pattern": "SS"}, "SSFFFFFF"),
        ({"index_topk_pattern": "FS", "index_topk_freq": 4}, "FSFFFFFF"),
        ({"indexer_types": ["shared"] * 8}, "FFFFFFFF"),  # a key that vLLM does not look at
    ],
)
def test_layers_with_an_indexer(keys: Config, found: str) -> None:
    for family in ("DeepseekV32", "GlmMoeDsa"):
        assert selecting(read(family, INDEXED, **keys)) == found


def test_what_the_families_fill_in() -> None:
    glm = read("GlmMoeDsa", LATENT).attention
    assert isinstance(glm, LatentAttention)
    assert glm.q_lora_rank == 2048
    assert glm.indexer == Indexer(heads=32, head_dim=128, selected_tokens=2048)
    deepseek = read("DeepseekV32", INDEXED).attention
    assert isinstance(deepseek, LatentAttention)
    assert deepseek.q_lora_rank == 1536
    assert deepseek.indexer == Indexer(heads=12, head_dim=96, selected_tokens=256)
    light = read("Glm4MoeLite", LATENT, first_k_dense_replace=1)
    assert isinstance(light.attention, LatentAttention)
    assert light.attention.q_lora_rank == 768
    assert light.attention.indexer is None


def test_experts_of_the_families() -> None:
    light = read("Glm4MoeLite", LATENT, first_k_dense_replace=2, n_shared_experts=3)
    assert dense_layers(light) == [0, 1]
    assert experts(light).router_dtype is Dtype.FLOAT32
    assert experts(light).correction_bias
    assert experts(light).shared_intermediate == 144
    assert not light.traits.sequence_parallel_experts
    sparse = read("DeepseekV32", INDEXED)
    assert dense_layers(sparse) == [0, 1, 2]
    assert experts(sparse).shared_intermediate == 48
    assert experts(sparse).router_dtype is None


def test_tables() -> None:
    """Asked: the indexer rotates in another order, and then has a table of its own."""
    for model, tables in (
        (read("DeepseekV32", INDEXED), 2),
        (read("GlmMoeDsa", INDEXED, indexer_rope_interleave=True), 1),
        (read("Glm4MoeLite", LATENT, first_k_dense_replace=1), 1),
    ):
        held = Shard.of(Deployment(model=model, layout=Layout()), 0).buffer_bytes
        assert held == tables * 4096 * 64 * 2 + 8 * 16, model.architecture


def test_refusals() -> None:
    for family, config, said in (
        ("DeepseekV32", LATENT, "lacks 'index_n_heads'"),
        ("DeepseekV32", INDEXED | {"q_lora_rank": None}, "an indexer without a query rank"),
        ("GlmMoeDsa", LATENT | {"q_lora_rank": None}, "'q_lora_rank': null"),
        ("GlmMoeDsa", LATENT | {"index_topk": None}, "'index_topk': null"),
        ("Glm4MoeLite", LATENT, "lacks 'first_k_dense_replace'"),
        ("Glm4MoeLite", INDEXED | {"first_k_dense_replace": 1}, "has an indexer"),
    ):
        assert said in refused({**config, "architectures": [f"{family}ForCausalLM"]}), said


def test_queries_are_not_replicated() -> None:
    """Asked: the CUDA module has no such projections, though GLM-5 asks for them."""
    asked = Settings(context=ContextSettings(q_replicate=True))
    for family, config, replicated in (
        ("GlmMoeDsa", INDEXED, False),
        ("DeepseekV32", INDEXED, False),
        ("DeepseekV3", LATENT, True),
    ):
        deployment = Deployment(
            model=read(family, config), layout=Layout(tp=4, dcp=2), settings=asked
        )
        assert deployment.replicates_queries is replicated, family
