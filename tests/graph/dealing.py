"""Pieces of a model dealt to ranks one at a time: the oracle of `graph` and `shard`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from math import prod
from typing import Final

from tests.graph.pieces import (
    COPIES_SHARED,
    INVENTED,
    ODD,
    WITHOUT_EPLB,
    Config,
    Piece,
    block,
    ends,
    experts_of,
    padded,
)
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import ExpertSettings, Settings
from vllm_parallel.shard import Shard
from vllm_parallel.weight import Layer


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


def summed(model: ModelConfig, layout: Layout, ranks: list[int]) -> Counter[str]:
    """Elements by name over these ranks."""
    deployment = Deployment(model=model, layout=layout)
    total: Counter[str] = Counter()
    for number in ranks:
        for (weight, _), count in found(Shard.of(deployment, number)).items():
            total[weight] += count
    return total


def layer_shapes(layer: Layer, shard: Shard) -> dict[str, tuple[int, ...]]:
    return {weight.name: weight.shape(shard.cut) for weight in layer.weights}


def block_shapes(deployment: Deployment, rank: int, *, kind: int) -> dict[str, tuple[int, ...]]:
    layer = ModelGraph.of(deployment.model).kinds[kind]
    return layer_shapes(layer, Shard.of(deployment, rank))
