"""What a deployment works out from its settings where vLLM derives it."""

from __future__ import annotations

from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import ContextSettings, Deployment, ExpertSettings, Settings
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig

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
