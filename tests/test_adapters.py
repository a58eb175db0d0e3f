"""LoRA adapters: a rank written out by hand, their line in the ledger, and what is refused."""

from __future__ import annotations

import pytest

from vllm_parallel.adapters import adapter_bytes
from vllm_parallel.answers import answer
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Ledger
from vllm_parallel.settings import ContextSettings, Settings
from vllm_parallel.shard import Shard

ON = Settings(lora=True)


def held(name: str, settings: Settings, layout: Layout | None = None) -> int:
    model = load_model(name)
    deployment = Deployment(model=model, layout=layout or Layout(), settings=settings)
    return adapter_bytes(Shard.of(deployment, 0))


def test_llama_by_hand() -> None:
    """32 layers of 4096; 32 query and 8 KV heads of 128; 14,336 columns; 128,256 words."""
    rank, hidden, columns, words = 16, 4096, 14_336, 128_256
    qkv = 3 * rank * hidden + rank * (hidden + 1024 + 1024)
    out = rank * hidden + rank * hidden
    up = 2 * rank * hidden + rank * 2 * columns
    down = rank * columns + rank * hidden
    ends = 2 * rank * (words + hidden)
    assert held("llama-3.1-8b", ON) == 2 * (32 * (qkv + out + up + down) + ends)


def test_slots_and_ranks_multiply() -> None:
    one = held("llama-3.1-8b", ON)
    assert held("llama-3.1-8b", Settings(lora=True, max_loras=4)) == 4 * one
    assert held("llama-3.1-8b", Settings(lora=True, max_lora_rank=64)) == 4 * one
    assert held("llama-3.1-8b", Settings()) == 0


def test_sharding_halves_the_narrow_sides() -> None:
    layout, sharded = Layout(tp=2), Settings(lora=True, fully_sharded_loras=True)
    assert held("llama-3.1-8b", sharded, layout) < held("llama-3.1-8b", ON, layout)
    assert held("llama-3.1-8b", sharded) == held("llama-3.1-8b", ON)


def test_the_line_of_the_ledger() -> None:
    deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(), settings=ON)
    shard = Shard.of(deployment, 0)
    lines = {term.name: term.bytes for term in Ledger.of(shard).terms}
    assert lines["adapters"] == adapter_bytes(shard)
    without = Ledger.of(Shard.of(Deployment(model=deployment.model, layout=Layout()), 0))
    assert "adapters" not in {term.name for term in without.terms}
    assert Ledger.of(shard).loaded_bytes - without.loaded_bytes >= lines["adapters"]


def test_a_verdict_beside_adapters() -> None:
    asked = {
        "model": "kimi-k2",
        "as_bf16": True,
        "args": {"enable_lora": True, "max_loras": 4, "tensor_parallel_size": 8,
                 "pipeline_parallel_size": 2},
        "ask": ["verdict", "ranks"],
    }  # fmt: skip
    said = answer(asked)
    assert said["verdict"] == {"accepted": True, "stage": None, "message": None}


@pytest.mark.parametrize(
    "name, settings, layout, said",
    [
        ("granite-4.0-h-small", ON, Layout(), "for a GraniteMoeHybridForCausalLM"),
        (
            "qwen2.5-72b",
            Settings(lora=True, lora_target_modules=("lm_head",)),
            Layout(tp=8),
            "names lm_head, which is not modelled for a Qwen2ForCausalLM",
        ),
        (
            "deepseek-v2-lite",
            Settings(lora=True, context=ContextSettings(q_replicate=True)),
            Layout(tp=4, dcp=2),
            "beside --dcp-q-replicate",
        ),
    ],
)
def test_refusals(name: str, settings: Settings, layout: Layout, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        held(name, settings, layout)
