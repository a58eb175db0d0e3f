"""Sizes and shapes of weights, their copies and buffers, and widths that divide nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.graph.dealing import CONFIGS, block_shapes, layer_shapes, summed
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import UnevenSplitError
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.settings import ContextSettings, ExpertSettings, Settings
from vllm_parallel.shard import Shard

TOTALS: Final = (  # model-configs/SOURCES.md; parameters, and how many of them are fp32
    ("llama-3.1-8b", 8_030_261_248, 0),
    ("llama-3.1-70b", 70_553_706_496, 0),
    ("llama-3.1-405b", 405_853_388_800, 0),
    ("qwen3-32b", 32_762_123_264, 0),
    ("qwen3-30b-a3b", 30_532_122_624, 0),
    ("qwen3-235b-a22b", 235_093_634_560, 0),
    ("deepseek-v3", 671_026_419_200, 58 * 256),  # the correction biases
    ("deepseek-r1", 671_026_419_200, 58 * 256),
    ("deepseek-v2-lite", 15_706_484_224, 0),
    ("kimi-k2", 1_026_408_232_448, 60 * 384),
    ("mixtral-8x7b", 46_702_792_704, 0),
    ("gpt-oss-120b", 116_829_156_672, 0),
    ("glm-4.5", 352_797_829_024, 89 * (160 + 160 * 5120)),  # and the routers
    ("llama-4-maverick", 400_711_848_960, 0),
)


@pytest.mark.parametrize("name, parameters, float32", TOTALS)
def test_parameter_totals(name: str, parameters: int, float32: int) -> None:
    model = load_model(name, as_bf16=True)
    assert summed(model, Layout(), [0]).total() == parameters
    alone = Shard.of(Deployment(model=model, layout=Layout()), 0)
    assert alone.weight_bytes == 2 * (parameters - float32) + 4 * float32


@pytest.mark.parametrize(
    "name, rank_bytes",
    [("gpt-oss-120b", 29_254_295_232), ("llama-4-maverick", 100_206_356_480)],
)
def test_bytes_that_were_tried(name: str, rank_bytes: int) -> None:
    """BF16 twins at tp 8, as vLLM built them."""
    deployment = Deployment(model=load_model(name, as_bf16=True), layout=Layout(tp=8))
    assert {Shard.of(deployment, rank).weight_bytes for rank in range(8)} == {rank_bytes}


def test_shapes_of_llama() -> None:
    """Llama-3.1-70B, tp 8: 8 of 64 query heads and 1 of 8 KV heads, of 128."""
    deployment = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=8))
    assert block_shapes(deployment, 3, kind=0) == {
        "self_attn.qkv_proj.weight": (1024 + 128 + 128, 8192),
        "self_attn.o_proj.weight": (8192, 1024),
        "mlp.gate_up_proj.weight": (7168, 8192),
        "mlp.down_proj.weight": (8192, 3584),
        "input_layernorm.weight": (8192,),
        "post_attention_layernorm.weight": (8192,),
    }
    graph, shard = ModelGraph.of(deployment.model), Shard.of(deployment, 3)
    assert layer_shapes(graph.embedding, shard) == {"embed_tokens.weight": (16032, 8192)}
    assert layer_shapes(graph.norm, shard) == {"norm.weight": (8192,)}
    assert layer_shapes(graph.head, shard) == {"lm_head.weight": (16032, 8192)}
    assert shard.layers == {graph.embedding: 1, graph.kinds[0]: 80, graph.norm: 1, graph.head: 1}


LATENT_TP_8: Final = {  # DeepSeek-V3: 16 of 128 heads
    "self_attn.fused_qkv_a_proj.weight": (1536 + 512 + 64, 7168),
    "self_attn.q_a_layernorm.weight": (1536,),
    "self_attn.q_b_proj.weight": (16 * 192, 1536),
    "self_attn.kv_a_layernorm.weight": (512,),
    "self_attn.kv_b_proj.weight": (16 * 256, 512),
    "self_attn.o_proj.weight": (7168, 16 * 128),
    "input_layernorm.weight": (7168,),
    "post_attention_layernorm.weight": (7168,),
}


def test_shapes_of_deepseek() -> None:
    """DeepSeek-V3, tp 8: 3 dense layers, then 58 with 256 experts and a shared one."""
    model = load_model("deepseek-v3", as_bf16=True)
    sliced = Deployment(model=model, layout=Layout(tp=8))
    assert block_shapes(sliced, 0, kind=0) == LATENT_TP_8 | {
        "mlp.gate_up_proj.weight": (2 * 2304, 7168),
        "mlp.down_proj.weight": (7168, 2304),
    }
    with_experts = LATENT_TP_8 | {
        "mlp.gate.weight": (256, 7168),
        "mlp.gate.e_score_correction_bias": (256,),
        "mlp.shared_experts.gate_up_proj.weight": (512, 7168),
        "mlp.shared_experts.down_proj.weight": (7168, 256),
    }
    assert block_shapes(sliced, 7, kind=1) == with_experts | {
        "mlp.experts.w13_weight": (256, 512, 7168),
        "mlp.experts.w2_weight": (256, 7168, 256),
    }
    whole = Deployment(model=model, layout=Layout(tp=8, expert_parallel=True))
    assert block_shapes(whole, 7, kind=1) == with_experts | {
        "mlp.experts.w13_weight": (32, 4096, 7168),
        "mlp.experts.w2_weight": (32, 7168, 2048),
    }
    spread = Deployment(model=model, layout=Layout(tp=8, dp=2, expert_parallel=True))
    assert block_shapes(spread, 15, kind=1) == with_experts | {
        "mlp.experts.w13_weight": (16, 4096, 7168),
        "mlp.experts.w2_weight": (16, 7168, 2048),
        "mlp.shared_experts.gate_up_proj.weight": (4096, 7168),  # tokens, not columns, are split
        "mlp.shared_experts.down_proj.weight": (7168, 2048),
    }
    graph = ModelGraph.of(model)
    assert Shard.of(sliced, 0).layers[graph.kinds[0]] == 3
    assert Shard.of(sliced, 0).layers[graph.kinds[1]] == 58


def test_copies_that_loading_makes() -> None:
    """Latent attention keeps both halves of kv_b_proj again: 4 MiB a layer at tp 8."""
    deployment = Deployment(model=load_model("deepseek-v3", as_bf16=True), layout=Layout(tp=8))
    shard = Shard.of(deployment, 0)
    for layer in ModelGraph.of(deployment.model).kinds:
        assert {weight.name: weight.shape(shard.cut) for weight in layer.copies} == {
            "self_attn.W_UV": (16, 512, 128),
            "self_attn.W_UK_T": (16, 128, 512),
            "self_attn.W_UK_T_dcp_qrep": (0, 128, 512),
        }
    assert shard.post_load_bytes == 61 * 4 * 2**20
    settings = Settings(context=ContextSettings(q_replicate=True))
    shared = replace(deployment, layout=Layout(tp=8, dcp=2), settings=settings)
    assert Shard.of(shared, 0).post_load_bytes == 61 * (4 + 4) * 2**20
    grown = 61 * 16 * 192 * 1536 * 2  # q_b_proj of 16 more heads
    assert Shard.of(shared, 0).weight_bytes - shard.weight_bytes == grown
    llama = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=8))
    assert Shard.of(llama, 0).post_load_bytes == 0


def test_buffers() -> None:
    """A rotary table, four scalars a layer, and with EP an int32 for each expert of each layer."""
    llama = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=2, pp=2))
    for rank in range(4):
        assert Shard.of(llama, rank).buffer_bytes == 131072 * 128 * 2 + 16 * 4 * 4
    experts = ExpertSettings(eplb=True, redundant_experts=8)
    for settings, entries in ((Settings(), 128), (Settings(experts=experts), 136)):
        qwen = Deployment(
            model=load_model("qwen3-30b-a3b"),
            layout=Layout(tp=4, pp=2, expert_parallel=True),
            settings=settings,
        )
        table = 40960 * 128 * 2
        assert Shard.of(qwen, 7).buffer_bytes == table + 24 * (4 * 4 + entries * 4)
    alone = Deployment(model=load_model("qwen3-30b-a3b"), layout=Layout(expert_parallel=True))
    assert Shard.of(alone, 0).buffer_bytes == 40960 * 128 * 2 + 48 * 16
    empty = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(pp=40))
    assert Shard.of(empty, 0).buffer_bytes == 0  # no layer, no attention, no table


@pytest.mark.parametrize(
    "name, layout, amount, width, what",
    [
        ("llama-3.1-70b", Layout(tp=3), 64, 3, "query heads"),
        ("odd-gqa3", Layout(tp=4), 6, 4, "KV heads"),
        ("odd-gqa3", Layout(tp=8), 8, 6, "tensor-parallel ranks"),
        ("glm-4.5", Layout(tp=3), 8, 3, "KV heads"),
        ("qwen3-30b-a3b", Layout(dp=5), 768, 5, "columns of an expert"),
        ("deepseek-v3", Layout(tp=128, dp=2), 2048, 256, None),  # divides
    ],
)
def test_uneven_splits(
    name: str, layout: Layout, amount: int, width: int, what: str | None
) -> None:
    """What does not divide is an error with both numbers, as vLLM's own assert."""
    model = load_model(CONFIGS[name], as_bf16=True)
    shard = Shard.of(Deployment(model=model, layout=layout), 0)
    if what is None:
        assert shard.weight_bytes > 0
        return
    with pytest.raises(UnevenSplitError) as raised:
        _ = shard.weight_bytes
    assert (raised.value.what, raised.value.amount, raised.value.width) == (what, amount, width)
