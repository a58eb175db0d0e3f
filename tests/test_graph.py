"""Weights of a rank against a model that is written out plainly and dealt piece by piece."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import UnevenSplitError
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import ContextSettings, ExpertSettings, Settings
from vllm_parallel.shard import Shard
from vllm_parallel.weight import Layer

Config = Mapping[str, Any]

LLAMA: Final = {
    "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "hidden_size": 96,
    "intermediate_size": 192, "num_hidden_layers": 7, "num_attention_heads": 24,
    "num_key_value_heads": 6, "head_dim": 16, "vocab_size": 1000, "max_position_embeddings": 512,
}  # fmt: skip
QWEN3_MOE: Final = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 10, "num_experts_per_tok": 2,
    "moe_intermediate_size": 96, "decoder_sparse_step": 2, "mlp_only_layers": [3],
    "attention_bias": True,
}  # fmt: skip
DEEPSEEK: Final = LLAMA | {
    "architectures": ["DeepseekV3ForCausalLM"], "q_lora_rank": None, "kv_lora_rank": 32,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "n_routed_experts": 10,
    "n_shared_experts": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
    "first_k_dense_replace": 2, "moe_layer_freq": 2, "topk_method": "noaux_tc",
}  # fmt: skip
INDEXED: Final = DEEPSEEK | {
    "architectures": ["DeepseekV32ForCausalLM"], "q_lora_rank": 40, "index_n_heads": 5,
    "index_head_dim": 24, "index_topk": 64,
}  # fmt: skip
INVENTED: Final[dict[str, Config]] = {
    "llama, biased and tied": LLAMA
    | {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    "qwen2": LLAMA | {"architectures": ["Qwen2ForCausalLM"], "head_dim": 4},
    "qwen3, biased": LLAMA | {"architectures": ["Qwen3ForCausalLM"], "attention_bias": True},
    "qwen3 experts on some layers": QWEN3_MOE,
    "qwen3 experts, tied": QWEN3_MOE | {"tie_word_embeddings": True},
    "deepseek without query ranks": DEEPSEEK,
    "deepseek with query ranks": DEEPSEEK | {"q_lora_rank": 40, "topk_method": "greedy"},
    "deepseek with an indexer": INDEXED,
    "glm with an indexer on some layers": INDEXED
    | {"architectures": ["GlmMoeDsaForCausalLM"], "index_topk_pattern": "FSFFSSF"},
    "glm, light": DEEPSEEK | {"architectures": ["Glm4MoeLiteForCausalLM"], "q_lora_rank": 24},
    "glm without query norms": LLAMA
    | {
        "architectures": ["Glm4MoeForCausalLM"], "n_routed_experts": 6, "n_shared_experts": 2,
        "num_experts_per_tok": 2, "moe_intermediate_size": 48, "first_k_dense_replace": 1,
        "attention_bias": False, "use_qk_norm": False,
    },
}  # fmt: skip
ODD: Final = Path(__file__).parent / "oracle" / "configs"

WHOLE_ENDS: Final = ("Qwen3MoeForCausalLM", "MixtralForCausalLM", "GptOssForCausalLM")
COPIES_SHARED: Final = ("Deepseek", "GlmMoeDsa", "Llama4")
COPIES_DENSE: Final = ("DeepseekV32", "GlmMoeDsa")
FLOAT32_ROUTER: Final = ("Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM")
WITHOUT_EPLB: Final = ("GptOssForCausalLM",)
FLOAT32: Final = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor, or a part of one, of the whole model, and who holds it."""

    name: str
    share: str
    elements: int
    bytes_each: int = 2


def grouped(c: Config) -> Iterator[Piece]:
    arch, hidden, heads = c["architectures"][0], c["hidden_size"], c["num_attention_heads"]
    size, kv = c.get("head_dim") or hidden // heads, c["num_key_value_heads"]
    bias = bool(c.get("attention_bias"))
    rows = [("tp", heads * size), ("kv", kv * size), ("kv", kv * size)]
    for share, count in rows:
        yield Piece("self_attn.qkv_proj.weight", share, count * hidden)
        if bias or arch in ("Qwen2ForCausalLM", "GptOssForCausalLM"):
            yield Piece("self_attn.qkv_proj.bias", share, count)
    yield Piece("self_attn.o_proj.weight", "tp", hidden * heads * size)
    if (bias and arch.startswith("Llama")) or arch == "GptOssForCausalLM":
        yield Piece("self_attn.o_proj.bias", "all", hidden)
    if arch.startswith("Qwen3") or (arch == "Glm4MoeForCausalLM" and c["use_qk_norm"]):
        yield Piece("self_attn.q_norm.weight", "all", size)
        yield Piece("self_attn.k_norm.weight", "all", size)
    if arch == "GptOssForCausalLM":
        yield Piece("self_attn.sinks", "tp", heads)


def latent(c: Config) -> Iterator[Piece]:
    hidden, heads, rank = c["hidden_size"], c["num_attention_heads"], c["q_lora_rank"]
    kv, nope, rope = c["kv_lora_rank"], c["qk_nope_head_dim"], c["qk_rope_head_dim"]
    if rank:
        yield Piece("self_attn.fused_qkv_a_proj.weight", "all", (rank + kv + rope) * hidden)
        yield Piece("self_attn.q_a_layernorm.weight", "all", rank)
        yield Piece("self_attn.q_b_proj.weight", "tp", heads * (nope + rope) * rank)
    else:
        yield Piece("self_attn.kv_a_proj_with_mqa.weight", "all", (kv + rope) * hidden)
        yield Piece("self_attn.q_proj.weight", "tp", heads * (nope + rope) * hidden)
    yield Piece("self_attn.kv_a_layernorm.weight", "all", kv)
    yield Piece("self_attn.kv_b_proj.weight", "tp", heads * (nope + c["v_head_dim"]) * kv)
    yield Piece("self_attn.o_proj.weight", "tp", hidden * heads * c["v_head_dim"])


def indexer(c: Config, layer: int) -> Iterator[Piece]:
    pattern = c.get("index_topk_pattern", "F" * c["num_hidden_layers"])
    if "index_topk" in c and pattern[layer] == "F":
        heads, size = c["index_n_heads"], c["index_head_dim"]
        yield Piece("self_attn.indexer.wq_b.weight", "all", heads * size * c["q_lora_rank"])
        columns = c["hidden_size"]
        yield Piece("self_attn.indexer.wk_weights_proj.weight", "all", (size + heads) * columns)
        yield Piece("self_attn.indexer.k_norm.weight", "all", size, FLOAT32)
        yield Piece("self_attn.indexer.k_norm.bias", "all", size, FLOAT32)


def experts_of(c: Config) -> int:
    return c.get("num_experts") or c.get("n_routed_experts") or c.get("num_local_experts") or 0


def has_experts(c: Config, layer: int) -> bool:
    match c["architectures"][0]:
        case "MixtralForCausalLM" | "GptOssForCausalLM":
            return True
        case "Qwen3MoeForCausalLM":
            step = c["decoder_sparse_step"]
            return layer not in c["mlp_only_layers"] and layer % step == step - 1
        case "Glm4MoeForCausalLM":
            return bool(layer >= c["first_k_dense_replace"])
        case arch if "n_routed_experts" in c and "kv_lora_rank" in c:
            assert arch.startswith(("Deepseek", "Glm"))
            return bool(layer >= c["first_k_dense_replace"] and layer % c["moe_layer_freq"] == 0)
        case "Llama4ForConditionalGeneration":
            return layer % 2 == 1
        case _:
            return False


def gated(name: str, share: str, width: int, hidden: int) -> Iterator[Piece]:
    yield Piece(f"{name}.gate_up_proj.weight", share, 2 * width * hidden)
    yield Piece(f"{name}.down_proj.weight", share, hidden * width)


def dense(c: Config) -> Iterator[Piece]:
    width = c.get("intermediate_size_mlp") or c["intermediate_size"]
    share = "dense" if c["architectures"][0].startswith(COPIES_DENSE) else "tp"
    yield from gated("mlp", share, width, c["hidden_size"])
    if c.get("mlp_bias"):
        yield Piece("mlp.gate_up_proj.bias", "tp", 2 * width)
        yield Piece("mlp.down_proj.bias", "all", c["hidden_size"])


def sparse(c: Config) -> Iterator[Piece]:
    arch, hidden, count = c["architectures"][0], c["hidden_size"], experts_of(c)
    width = c.get("moe_intermediate_size") or c["intermediate_size"]
    router = FLOAT32 if arch in FLOAT32_ROUTER else 2
    yield Piece("mlp.gate.weight", "all", count * hidden, router)
    yield Piece("mlp.experts.w13_weight", "experts", count * 2 * width * hidden)
    yield Piece("mlp.experts.w2_weight", "experts", count * hidden * width)
    if arch == "GptOssForCausalLM":
        yield Piece("mlp.gate.bias", "all", count)
        yield Piece("mlp.experts.w13_bias", "experts", count * 2 * width)
        yield Piece("mlp.experts.w2_bias", "experts' rows", count * hidden)
    if arch in FLOAT32_ROUTER or c.get("topk_method") == "noaux_tc":
        yield Piece("mlp.gate.e_score_correction_bias", "all", count, FLOAT32)
    shared = 1 if arch.startswith("Llama4") else c.get("n_shared_experts") or 0
    if shared:
        yield from gated("mlp.shared_experts", "shared", shared * width, hidden)


def block(c: Config, layer: int) -> Iterator[Piece]:
    yield from latent(c) if "kv_lora_rank" in c else grouped(c)
    yield from indexer(c, layer)
    yield from sparse(c) if has_experts(c, layer) else dense(c)
    yield Piece("input_layernorm.weight", "all", c["hidden_size"])
    yield Piece("post_attention_layernorm.weight", "all", c["hidden_size"])


def padded(rows: int) -> int:
    while rows % 64:
        rows += 1
    return rows


def ends(c: Config, *, first: bool, last: bool) -> Iterator[Piece]:
    table = padded(c["vocab_size"]) * c["hidden_size"]
    tied = c.get("tie_word_embeddings", False)
    everywhere = c["architectures"][0] in WHOLE_ENDS
    if first or everywhere or (last and tied):
        yield Piece("embed_tokens.weight", "tp", table)
    if last or everywhere:
        yield Piece("norm.weight", "all", c["hidden_size"])
        if not tied:
            yield Piece("lm_head.weight", "tp", table)


def stages(layers: int, count: int) -> list[list[int]]:
    """Layers of each stage: the spare ones go to the second-last, the third-last, ..."""
    sizes = [layers // count] * count
    for spare in range(layers % count):
        sizes[count - 2 - spare] += 1
    numbers = iter(range(layers))
    return [[next(numbers) for _ in range(size)] for size in sizes]


def ranks_of_stage(layout: Layout, stage: int) -> list[int]:
    """DP slowest, then PCP, then TP: the order of the EP group."""
    numbers, number = [], 0
    for _ in range(layout.dp):
        for pp in range(layout.pp):
            for _ in range(layout.pcp * layout.tp):
                if pp == stage:
                    numbers.append(number)
                number += 1
    return numbers


def dealt(units: int, hands: int) -> list[int]:
    held = [0] * hands
    for unit in range(units):
        held[unit % hands] += 1
    return held


def kv_heads_held(heads: int, tp: int) -> list[int]:
    """Distinct heads that the query heads of each rank read, head `h` for queries `h/heads` on."""
    places = heads * tp  # so fine that both heads and ranks take whole runs of them
    held = []
    for rank in range(tp):
        read = {place * heads // places for place in range(rank * heads, (rank + 1) * heads)}
        held.append(len(read))
    return held


def shares(c: Config, deployment: Deployment, piece: Piece) -> tuple[list[int], int]:
    """Units of a piece on each rank of a stage, and units of the whole piece."""
    layout, redundant = deployment.layout, deployment.settings.experts.redundant_experts
    if c["architectures"][0] in WITHOUT_EPLB:
        redundant = 0
    total = layout.dp * layout.pcp * layout.tp
    cut_experts = not layout.expert_parallel or total == 1
    whole_copies = (
        layout.expert_parallel and layout.tp > 1 and layout.dp > 1
        and c["architectures"][0].startswith(COPIES_SHARED)
        and deployment.settings.experts.all2all_backend == "allgather_reducescatter"
    )  # fmt: skip
    match piece.share:
        case "kv":
            kv = c["num_key_value_heads"]
            return kv_heads_held(kv, layout.tp) * (layout.dp * layout.pcp), kv
        case "experts" | "experts' rows" if not cut_experts:
            return dealt(experts_of(c) + redundant, total), experts_of(c)
        case "experts":
            return [1] * total, total
        case "shared" if not whole_copies:
            return [1] * total, layout.tp
        case "dense" if not whole_copies or layout.pp > 1:
            return [1] * total, layout.tp
        case "tp":
            return [1] * total, layout.tp
        case _:
            return [1] * total, 1


def expected(c: Config, deployment: Deployment, stage: int) -> list[Counter[tuple[str, int]]]:
    """Elements by name and width on each rank of a stage."""
    layout = deployment.layout
    held: list[Counter[tuple[str, int]]] = [Counter() for _ in ranks_of_stage(layout, stage)]
    pieces = [
        piece
        for layer in stages(c["num_hidden_layers"], layout.pp)[stage]
        for piece in block(c, layer)
    ]
    pieces += ends(c, first=stage == 0, last=stage == layout.pp - 1)
    for piece, repeats in Counter(pieces).items():
        units, whole = shares(c, deployment, piece)
        for rank, count in enumerate(units):
            assert piece.elements * count % whole == 0, piece
            held[rank][piece.name, piece.bytes_each] += repeats * piece.elements * count // whole
    return held


def found(shard: Shard) -> Counter[tuple[str, int]]:
    held: Counter[tuple[str, int]] = Counter()
    for layer, repeats in shard.layers.items():
        for weight in layer.weights:
            held[weight.name, weight.dtype.bytes] += repeats * prod(weight.shape(shard.cut))
    return held


SPELT_OUT: Final = (  # what `block` above spells out, of the catalog
    "deepseek-r1", "deepseek-v2-lite", "deepseek-v3", "deepseek-v3.2", "glm-4.5", "glm-5.1",
    "gpt-oss-120b", "kimi-k2", "llama-3.1-405b", "llama-3.1-70b", "llama-3.1-8b", "qwen2.5-7b",
    "llama-4-maverick", "mixtral-8x7b", "qwen3-235b-a22b", "qwen3-30b-a3b", "qwen3-32b",
)  # fmt: skip


def configs() -> dict[str, Config]:
    catalog = files("vllm_parallel.catalog").joinpath("models")
    named: dict[str, Config] = {
        name: json.loads(catalog.joinpath(f"{name}.json").read_text("utf-8")) for name in SPELT_OUT
    }
    named |= {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(ODD.glob("*.json"))}
    return named | INVENTED


CONFIGS: Final = configs()
WIDTHS: Final = (
    Layout(),
    Layout(tp=2),
    Layout(tp=3),
    Layout(tp=4, pp=2),
    Layout(tp=8),
    Layout(tp=16),
    Layout(tp=2, pp=3, dp=2),
    Layout(tp=2, pp=7),
    Layout(tp=1, dp=2, expert_parallel=True),
    Layout(tp=2, dp=3, expert_parallel=True),
    Layout(tp=4, pp=2, dp=3, expert_parallel=True),
    Layout(tp=8, expert_parallel=True),
    Layout(tp=16, expert_parallel=True),
    Layout(tp=2, pcp=2),
    Layout(tp=2, pp=2, pcp=2, dp=2, expert_parallel=True),
    Layout(expert_parallel=True),
)
SPLIT_SHARED: Final = ExpertSettings(all2all_backend="flashinfer_nvlink_two_sided")
REDUNDANT: Final = ExpertSettings(eplb=True, redundant_experts=5)


def flat(c: Config) -> Config:
    """A multimodal config's text part is what is built."""
    return {**c, **c.get("text_config", {})}


def splits_evenly(c: Config, layout: Layout) -> bool:
    """Whether vLLM would build it: everything that is cut divides."""
    tp, moe = layout.tp, experts_of(c)
    widths = [c["num_attention_heads"], padded(c["vocab_size"])]
    widths += [c.get("intermediate_size_mlp") or c["intermediate_size"]]
    width = c.get("moe_intermediate_size") or c["intermediate_size"]
    if moe:
        widths += [width]
        slices = 1 if layout.expert_parallel else layout.tp * layout.dp * layout.pcp
        if width % slices:
            return False
    kv = tp if "kv_lora_rank" in c else c["num_key_value_heads"]
    copies = c["architectures"][0] != "GptOssForCausalLM"
    if kv % tp and (tp % kv or not copies):
        return False
    return all(width % tp == 0 for width in widths) and (moe > 0 or not layout.expert_parallel)


def deployments(name: str) -> Iterator[Deployment]:
    model, c = load_model(CONFIGS[name], as_bf16=True), flat(CONFIGS[name])
    for layout in WIDTHS:
        if splits_evenly(c, layout):
            yield Deployment(model=model, layout=layout)
            if layout.expert_parallel and layout.ranks > 1:  # EPLB asks for several ranks
                for experts in (SPLIT_SHARED, REDUNDANT):
                    yield Deployment(model=model, layout=layout, settings=Settings(experts=experts))


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


def summed(model: ModelConfig, layout: Layout, ranks: list[int]) -> Counter[str]:
    """Elements by name over these ranks."""
    deployment = Deployment(model=model, layout=layout)
    total: Counter[str] = Counter()
    for number in ranks:
        for (weight, _), count in found(Shard.of(deployment, number)).items():
            total[weight] += count
    return total


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


def layer_shapes(layer: Layer, shard: Shard) -> dict[str, tuple[int, ...]]:
    return {weight.name: weight.shape(shard.cut) for weight in layer.weights}


def block_shapes(deployment: Deployment, rank: int, *, kind: int) -> dict[str, tuple[int, ...]]:
    layer = ModelGraph.of(deployment.model).kinds[kind]
    return layer_shapes(layer, Shard.of(deployment, rank))


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
