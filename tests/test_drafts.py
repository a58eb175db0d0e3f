"""MTP modules: which models have one, where it is built, and which methods are refused."""

from __future__ import annotations

from typing import Final

import pytest

from tests.test_families import LATENT, MOE, Config, read
from vllm_parallel.adapters import adapter_bytes
from vllm_parallel.block import Experts, LatentAttention
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Layout
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard

MTP: Final = Settings(speculative_method="mtp", speculative_tokens=1)
INDEXED: Final[dict[str, object]] = LATENT | {
    "index_topk": 256, "index_head_dim": 96, "index_n_heads": 12, "index_topk_pattern": "SSSSSSSS",
}  # fmt: skip


@pytest.mark.parametrize(
    "family, config, found",
    [
        ("DeepseekV3", LATENT, True),
        ("DeepseekV3", LATENT | {"num_nextn_predict_layers": 0}, False),
        ("DeepseekV3", LATENT | {"num_nextn_predict_layers": 2}, False),
        ("DeepseekV3", LATENT | {"model_type": "kimi_k2"}, False),
        ("DeepseekV2", LATENT, False),
        ("DeepseekV32", INDEXED, True),
        ("GlmMoeDsa", INDEXED, True),
        ("Glm4Moe", MOE, False),
        ("Glm4Moe", MOE | {"num_nextn_predict_layers": 1}, True),
        ("Glm4MoeLite", LATENT | {"first_k_dense_replace": 1}, False),
        ("Llama", MOE, False),
    ],
)
def test_models_with_a_module(family: str, config: Config, found: bool) -> None:
    assert (read(family, config).mtp is not None) is found


def test_its_block() -> None:
    """Experts always, and an indexer even where the layers share one."""
    block = read("DeepseekV32", INDEXED).mtp
    assert block is not None
    assert isinstance(block.mlp, Experts)
    assert isinstance(block.attention, LatentAttention)
    assert block.attention.indexer is not None


def test_where_it_is_built() -> None:
    """On the last stage, which finds the embedding there or keeps one."""
    model = read("DeepseekV3", LATENT)
    hidden, words = 512, 1024  # 1000, padded
    for stages in (1, 2):
        layout = Layout(pp=stages)
        with_module, without = (
            [Shard.of(Deployment(model=model, layout=layout, settings=s), rank).weight_bytes
             for rank in range(stages)]
            for s in (MTP, Settings())
        )  # fmt: skip
        assert with_module[:-1] == without[:-1]
        layers = 8 // stages - 3 * (stages == 1)
        block = with_module[-1] - without[-1] - 2 * (3 * hidden + 2 * hidden * hidden)
        block -= 2 * words * hidden if stages == 2 else 0
        assert block > 0
        assert layers > 0
        cache = KvCache.of(Deployment(model=model, layout=layout, settings=MTP))
        assert [cache.layers(stage) for stage in cache.stages] == ([9] if stages == 1 else [4, 5])


def test_other_methods_are_refused() -> None:
    model = read("DeepseekV2", LATENT)
    for method in ("mtp", "eagle", "eagle3", "draft_model", "medusa"):
        settings = Settings(speculative_method=method, speculative_tokens=1)
        with pytest.raises(CatalogError, match=f"speculative method '{method}'"):
            Shard.of(Deployment(model=model, layout=Layout(), settings=settings), 0)
    ngram = Settings(speculative_method="ngram", speculative_tokens=1)
    assert Shard.of(Deployment(model=model, layout=Layout(), settings=ngram), 0).weight_bytes


def test_adapters_beside_a_module_are_refused() -> None:
    settings = Settings(speculative_method="mtp", speculative_tokens=1, lora=True)
    deployment = Deployment(model=read("DeepseekV3", LATENT), layout=Layout(), settings=settings)
    with pytest.raises(CatalogError, match="beside an MTP module"):
        adapter_bytes(Shard.of(deployment, 0))
