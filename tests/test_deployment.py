"""What a deployment works out from its settings where vLLM derives it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import ContextSettings, ExpertSettings, Settings
from vllm_parallel.shard import Shard

DEEPSEEK: Final = load_model("deepseek-v3", as_bf16=True)
REPLICATED: Final = Settings(context=ContextSettings(q_replicate=True))


@pytest.mark.parametrize(
    "model, layout, settings, replicates",
    [
        (DEEPSEEK, Layout(tp=8, dcp=2), REPLICATED, True),
        (DEEPSEEK, Layout(tp=8), REPLICATED, False),
        (DEEPSEEK, Layout(tp=8, pcp=2, dcp=2), REPLICATED, False),
        (DEEPSEEK, Layout(tp=8, dcp=2), Settings(), False),
        (load_model("llama-3.1-70b"), Layout(tp=16, dcp=2), REPLICATED, False),
    ],
)
def test_replicated_queries(
    model: ModelConfig,
    layout: Layout,
    settings: Settings,
    replicates: bool,
) -> None:
    deployment = Deployment(model=model, layout=layout, settings=settings)
    assert deployment.replicates_queries is replicates


@pytest.mark.parametrize(
    "backend, layout, gpu, tokens",
    [
        ("deepep_low_latency", Layout(dp=2, expert_parallel=True), "h100-80gb", 256),
        ("nixl_ep", Layout(dp=2, expert_parallel=True), "b200", 256),
        ("deepep_low_latency", Layout(dp=2), "h100-80gb", 8192),
        ("deepep_low_latency", Layout(tp=2, expert_parallel=True), "h100-80gb", 8192),
        ("deepep_high_throughput", Layout(dp=2, expert_parallel=True), "h100-80gb", 8192),
    ],
)
def test_default_batch(backend: str, layout: Layout, gpu: str, tokens: int) -> None:
    """engine/arg_utils.py, get_batch_defaults: low-latency back ends take small batches."""
    deployment = Deployment(
        model=DEEPSEEK,
        layout=layout,
        settings=Settings(experts=ExpertSettings(all2all_backend=backend)),
        cluster=Cluster(gpu=load_gpu(gpu)),
    )
    assert deployment.max_num_batched_tokens == tokens


@pytest.mark.parametrize("method", ["eagle", "eagle3", "draft_model", "medusa"])
def test_draft_models_are_not_sized(method: str) -> None:
    """Their weights are not modelled, and are never left out in silence; ngram has none."""
    deployment = Deployment(
        model=DEEPSEEK, layout=Layout(tp=8), settings=Settings(speculative_method=method)
    )
    with pytest.raises(CatalogError, match="not modelled"):
        Shard.of(deployment, 0)
    without = replace(deployment, settings=Settings(speculative_method="ngram"))
    bare = replace(deployment, settings=Settings())
    assert Shard.of(without, 0).weight_bytes == Shard.of(bare, 0).weight_bytes
