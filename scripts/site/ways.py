"""One model under each way to split, and which two ways go together, as tables for pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

from vllm_parallel import (
    RULES,
    Cluster,
    Deployment,
    KvCache,
    Layout,
    Settings,
    Shard,
    Verdict,
    check,
    load_gpu,
    load_model,
)
from vllm_parallel.collectives import Batch, Collective, Device, EngineBatch, collectives
from vllm_parallel.layout import Axis
from vllm_parallel.model import ModelConfig
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import gib, size, whole

WIDTH: Final = 8
NODE: Final = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
EXAMPLE: Final = "deepseek-v2-lite"
DECODES: Final = 64
PROMPTS: Final = 8
PROMPT: Final = 1024
LENGTH: Final = 8192
EACH: Final = (
    Layout(),
    Layout(tp=WIDTH),
    Layout(pp=WIDTH),
    Layout(dp=WIDTH),
    Layout(dp=WIDTH, expert_parallel=True),
    Layout(pcp=WIDTH),
    Layout(tp=WIDTH, dcp=WIDTH),
)
PAIRED: Final = ("llama-3.1-70b", "qwen3-235b-a22b", "deepseek-r1", "deepseek-v3.2")
SPARSE: Final = Settings(kv_cache_dtype="fp8_ds_mla", enforce_eager=True)
FLAGS: Final = ("tp", "pp", "dp", "ep", "pcp", "dcp")
TRIED: Final = {"tp": (2, 4, 8, 16), "dcp": (2, 4, 8)}  # widths of a way in a pair; others two
BESIDE: Final = (1, 2, 4, 8, 16)  # tp where it is not of the pair: DCP takes its ranks there


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What one rank of the busiest stage calls on its GPU in a step."""

    calls: int
    bytes: int

    @classmethod
    def of(cls, deployment: Deployment, batch: Batch) -> Traffic:
        """Calls and the bytes that they take in."""
        stages = [gpu_calls(step.calls) for step in collectives(deployment, batch)]
        calls = [sum(call.count for call in stage) for stage in stages]
        taken = [sum(call.count * call.bytes for call in stage) for stage in stages]
        busiest = max(range(len(stages)), key=taken.__getitem__)
        return cls(calls=calls[busiest], bytes=taken[busiest])


def gpu_calls(calls: tuple[Collective, ...]) -> list[Collective]:
    """The calls that carry activations; what synchronises engines runs on the CPU."""
    return [call for call in calls if call.device is Device.GPU]


def calls_over(axis: Axis, deployment: Deployment, batch: Batch) -> list[Collective]:
    """The calls of one rank over one of its groups, without pipeline stages."""
    (step,) = collectives(deployment, batch)
    return [call for call in gpu_calls(step.calls) if call.group is axis]


def every_way() -> str:
    """DeepSeek-V2-Lite whole, then in each way alone: memory, traffic, what the service holds."""
    model = load_model(EXAMPLE)
    settings = Settings(max_model_len=LENGTH)
    rows = []
    for layout in EACH:
        deployment = Deployment(model=model, layout=layout, settings=settings, cluster=NODE)
        rows.append(_way_row(deployment))
    caption = (
        f"{EXAMPLE} in BF16 on H100 80GB, each way {WIDTH} wide and alone; the last needs tp to "
        "take its ranks from. Weights and KV are of one rank; copies are the ranks that keep the "
        "same KV. Decode and prefill: bytes that the calls of one rank take in, in a step that "
        f"decodes {DECODES} tokens in the whole service, and in one that computes {PROMPTS} "
        f"prompts of {whole(PROMPT)} tokens. Tokens are those of the service. Computed; they "
        "rest on an assumed overhead."
    )
    head = ("layout", "weights", "KV a token", "copies", "decode", "prefill", "tokens")
    return table(head, rows, caption=caption)


def _way_row(deployment: Deployment) -> list[Cell]:
    layout = deployment.layout
    capacity = Verdict.of(deployment).held
    decode = EngineBatch(decode=(LENGTH,) * (DECODES // layout.dp))
    prefill = EngineBatch(prefill=((PROMPT, 0),) * (PROMPTS // layout.dp))
    decoding, prefilling = (Traffic.of(deployment, one.share(layout)) for one in (decode, prefill))
    return [
        Cell(str(layout)),
        computed(gib(Shard.of(deployment, 0).weight_bytes, 1)),
        computed(size(token_bytes(deployment))),
        computed(str(token_copies(deployment))),
        computed(size(decoding.bytes) if decoding.calls else "none"),
        computed(gib(prefilling.bytes) if prefilling.calls else "none"),
        Cell(whole(capacity.tokens), Provenance.ASSUMED),
    ]


def token_bytes(deployment: Deployment) -> int:
    """KV bytes of one token on a rank that keeps it, on the stage with most of them."""
    return KvCache.of(deployment).token_bytes


def token_copies(deployment: Deployment) -> int:
    """Ranks that keep the same part of a token's KV.

    >>> llama = load_model("llama-3.1-70b")
    >>> token_copies(Deployment(model=llama, layout=Layout(tp=16)))
    2
    """
    layout, model = deployment.layout, deployment.model
    heads = 1 if model.is_latent else model.kv_heads
    return max(1, layout.tp // heads) * layout.pcp // layout.dcp


def pairs() -> str:
    """Every pair of ways: the smallest layout with both that no rule refuses, for four models."""
    rows = []
    for two in combinations(FLAGS, 2):
        cells = [_paired(load_model(name), two) for name in PAIRED]
        rows.append((f"{two[0]} + {two[1]}", *cells))
    return markdown(("ways", *PAIRED), rows)


def _paired(model: ModelConfig, two: tuple[str, str]) -> str:
    """The smallest layout, or the rule that refuses the one that comes furthest."""
    settings = SPARSE if model.traits.sparse_attention else Settings()
    fewest: Layout | None = None
    furthest = -1
    for layout in _candidates(two):
        found = check(Deployment(model=model, layout=layout, settings=settings))
        if found is None:
            if fewest is None or layout.ranks < fewest.ranks:
                fewest = layout
        else:
            furthest = max(furthest, ORDER[found.name])
    if fewest is not None:
        return str(fewest)
    name = RULES[furthest].name
    return f"no: [{name}](../reference/constraints/#{name})"


ORDER: Final[Mapping[str, int]] = {rule.name: place for place, rule in enumerate(RULES)}


def _candidates(two: tuple[str, str]) -> Iterator[Layout]:
    """Layouts with both ways above one, and with tp where DCP would have no ranks."""
    widths = [TRIED.get(way, (2,)) for way in two]
    beside = (1,) if "tp" in two or "dcp" not in two else BESIDE
    for first, second, tp in product(*widths, beside):
        given = dict(zip(two, (first, second), strict=True))
        ep = given.pop("ep", None) is not None
        yield Layout(**{"tp": tp, **given}, expert_parallel=ep)
