"""What ranks hold adds up to the whole model, however it is split."""

from __future__ import annotations

import pytest

from tests.graph.dealing import (
    CONFIGS,
    block_shapes,
    deployments,
    expected,
    flat,
    found,
    ranks_of_stage,
    summed,
)
from tests.graph.pieces import ODD
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.settings import ExpertSettings, Settings
from vllm_parallel.shard import Shard


@pytest.mark.parametrize("name", CONFIGS)
def test_slices_make_the_whole(name: str) -> None:
    """Every rank of every stage holds what it was dealt, and together each layer once."""
    c, tried = flat(CONFIGS[name]), 0
    for deployment in deployments(name):
        layout = deployment.layout
        covered: list[int] = []
        for stage in range(layout.pp):
            dealing, runs = expected(c, deployment, stage), set()
            for number, held in zip(ranks_of_stage(layout, stage), dealing, strict=True):
                shard = Shard.of(deployment, number)
                case = f"{name}, {layout}, {deployment.settings.experts}: rank {number}"
                assert +found(shard) == +held, case
                total = sum(count * width for (_, width), count in held.items())
                assert shard.weight_bytes == total, case
                runs.add(range(shard.start, shard.stop))
            assert len(runs) == 1
            covered += runs.pop()
        assert covered == list(range(c["num_hidden_layers"]))
        tried += 1
    assert tried >= 3


def test_one_row_of_tp_is_one_model() -> None:
    """Cut parts add up to the model; copied ones come once a rank, KV heads tp / kv times."""
    model = load_model("llama-3.1-70b")  # 64 query and 8 KV heads of 128
    whole = summed(model, Layout(), [0])
    for tp in (2, 4, 8, 16, 32):
        row = summed(model, Layout(tp=tp, dp=2), list(range(tp)))
        for name in ("o_proj", "gate_up_proj", "down_proj"):
            key = next(key for key in whole if name in key)
            assert row[key] == whole[key], (tp, key)
        for key in ("embed_tokens.weight", "lm_head.weight"):
            assert row[key] == whole[key] == 128256 * 8192
        assert row["norm.weight"] == tp * 8192
        copies = max(1, tp // 8)
        assert row["self_attn.qkv_proj.weight"] == 80 * 8192 * (64 + copies * 2 * 8) * 128


def test_experts_of_a_stage_are_all_experts() -> None:
    """Whole or sliced, over dp x pcp x tp; an uneven deal goes to the first ranks."""
    model = load_model("qwen3-30b-a3b")  # 48 layers of 128 experts, 768 wide
    keys = ("mlp.experts.w13_weight", "mlp.experts.w2_weight")
    whole = summed(model, Layout(), [0])
    assert [whole[key] for key in keys] == [48 * 128 * 2 * 768 * 2048, 48 * 128 * 2048 * 768]
    sliced, spread = Layout(tp=4, dp=3), Layout(tp=4, dp=3, expert_parallel=True)
    for layout in (sliced, spread):
        stage = summed(model, layout, list(range(12)))
        assert [stage[key] for key in keys] == [whole[key] for key in keys]
        assert stage["mlp.gate.weight"] == 12 * 48 * 128 * 2048
    for rank in range(12):
        shapes = block_shapes(Deployment(model=model, layout=spread), rank, kind=0)
        assert shapes["mlp.experts.w13_weight"] == (11 if rank < 8 else 10, 1536, 2048)


@pytest.mark.parametrize(
    "layout, backend, copied",
    [
        (Layout(tp=2, dp=2, expert_parallel=True), "allgather_reducescatter", True),
        (Layout(tp=2, dp=2, expert_parallel=True), "deepep_low_latency", True),
        (Layout(tp=2, dp=2, expert_parallel=True), "naive", True),  # falls back to the first
        (Layout(tp=2, dp=2, expert_parallel=True), "flashinfer_nvlink_two_sided", False),
        (Layout(tp=2, dp=2, expert_parallel=True), "moonep", False),
        (Layout(tp=2, dp=2), "allgather_reducescatter", False),
        (Layout(tp=4, expert_parallel=True), "allgather_reducescatter", False),
        (Layout(dp=4, expert_parallel=True), "allgather_reducescatter", False),
        (Layout(tp=2, pcp=2, expert_parallel=True), "allgather_reducescatter", False),
    ],
)
def test_sequence_parallel_experts(layout: Layout, backend: str, copied: bool) -> None:
    """Tokens are split over tp around the experts: EP, tp, dp and the back end must agree."""
    settings = Settings(experts=ExpertSettings(all2all_backend=backend))
    model = load_model("deepseek-v3", as_bf16=True)
    deployment = Deployment(model=model, layout=layout, settings=settings)
    assert deployment.sequence_parallel_experts is copied
    shape = block_shapes(deployment, 0, kind=1)["mlp.shared_experts.down_proj.weight"]
    assert shape == (7168, 2048 if copied else 2048 // layout.tp)


def test_more_ranks_than_experts() -> None:
    """The last ranks hold none, and are built all the same (tried: Mixtral at tp 16)."""
    deployment = Deployment(
        model=load_model("mixtral-8x7b"), layout=Layout(tp=16, expert_parallel=True)
    )
    held = [
        block_shapes(deployment, rank, kind=0)["mlp.experts.w2_weight"][0] for rank in range(16)
    ]
    assert held == [1] * 8 + [0] * 8


@pytest.mark.parametrize("tp", [1, 4])
@pytest.mark.parametrize("pp, tables", [(1, 1), (2, 2), (3, 2)])
def test_tied_embeddings(tp: int, pp: int, tables: int) -> None:
    """One table does for both ends, unless they are on different stages."""
    model = load_model(str(ODD / "odd-mqa.json"))  # 49,157 rows, padded to 49,216
    layout = Layout(tp=tp, pp=pp)
    total = summed(model, layout, list(range(layout.ranks)))
    assert total["embed_tokens.weight"] == tables * 49216 * 4096
    assert "lm_head.weight" not in total
    assert total["norm.weight"] == tp * 4096


@pytest.mark.parametrize("pp", [1, 2, 4])
def test_ends_of_the_pipeline(pp: int) -> None:
    """Llama's ends sit on the ends; Qwen3-MoE builds both on every stage."""
    for name, stages_with_ends in (("llama-3.1-8b", 1), ("qwen3-30b-a3b", pp)):
        model = load_model(name)
        table = model.vocab * model.hidden
        total = summed(model, Layout(pp=pp), list(range(pp)))
        ends_held = (total["embed_tokens.weight"], total["norm.weight"], total["lm_head.weight"])
        assert ends_held == (
            stages_with_ends * table,
            stages_with_ends * model.hidden,
            stages_with_ends * table,
        )
