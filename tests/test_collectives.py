"""Collectives against vLLM's recorded calls, against formulas, and against tokens dealt singly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.block import Experts
from vllm_parallel.catalog import load_model
from vllm_parallel.collectives import Batch, Collective, EngineBatch, Kind, collectives
from vllm_parallel.collectives.batch import chunk_pair, pcp_tokens
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Axis, Layout, pipeline_bounds
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import ContextSettings, ExpertSettings, Settings

Row = Mapping[str, Any]
Calls = Counter[tuple[str, str, int, str]]
ORACLE: Final = Path(__file__).parent / "oracle"
ROWS: Final = 51
MINIS: Final = (
    "llama-mini", "qwen3moe-mini", "mixtral-mini", "glm4moe-mini", "gpt-oss-mini",
    "deepseek-v2-mini", "deepseek-v3-mini",
)  # fmt: skip


def mini(name: str) -> ModelConfig:
    config = ORACLE / "configs" / f"{name}.json"
    return load_model(str(config) if config.is_file() else name, as_bf16=True)


def recorded() -> list[Row]:
    lines = (ORACLE / "collectives.jsonl").read_text("utf-8").splitlines()
    rows: list[Row] = [json.loads(line) for line in lines]
    assert len(rows) == ROWS
    return rows


@pytest.mark.parametrize("row", recorded(), ids=lambda row: f"{row['model']}-{row['stage']}")
def test_recorded(row: Row) -> None:
    """What one rank of a stage called, as NCCL would have been asked."""
    config = ORACLE / "configs" / f"{row['model']}.json"
    said = answer(
        {
            "model": str(config) if config.is_file() else row["model"],
            "args": row["args"],
            "as_bf16": True,
            "ask": ["collectives"],
            "step": row["step"],
        }
    )
    assert "error" not in said, said
    calls: Any = said["collectives"]
    keys = ("group", "kind", "bytes", "dtype")
    found: Calls = Counter()
    for call in calls:
        if call["stage"] == row["stage"] and call["device"] == "gpu":
            found[tuple(call[key] for key in keys)] += call["count"]
    wanted: Calls = Counter()
    for call in row["records"]:
        wanted[tuple(call[key] for key in keys)] += call["count"]
    assert found == wanted


def formulas(d: Deployment, b: Batch, stage: int) -> Iterator[tuple[str, str, int, int]]:
    """Group, kind, count and bytes by counting layers, for 16-bit models without DCP."""
    m, w, n, h = d.model, d.layout, b.tokens, d.model.hidden
    start, stop = pipeline_bounds(m.layers, w.pp)[stage : stage + 2]
    moe = [isinstance(m.kinds[k].mlp, Experts) for k in m.pattern[start:stop]]
    layers, sparse = len(moe), sum(moe)
    split = d.sequence_parallel_experts and m.traits.sequence_parallel_experts
    stays = split and m.traits.stays_split and w.pp == 1
    mine = ceil(n / w.tp)
    yield "tp", "all_reduce", int(stage == 0), n * h * 2
    yield "tp", "all_reduce", layers - sparse * stays, n * h * 2
    yield "tp", "all_reduce", layers - sparse * split, n * h * 2
    if stays:
        yield "tp", "reduce_scatter", sparse, mine * w.tp * h * 2
        runs = sum(1 for a, z in zip(moe, [*moe[1:], False], strict=True) if a and not z)
        yield "tp", "all_gather", sparse - runs, mine * h * 2
        yield "tp", "all_gather", runs, 2 * mine * h * 2
    elif split:
        yield "tp", "all_gather", sparse, mine * h * 2
    vocabulary = ceil(m.vocab / 64) * 64
    yield "tp", "all_gather", int(stage == w.pp - 1), b.sampled * vocabulary // w.tp * 2
    if w.pp > 1:
        slices = w.tp if n * h % w.tp == 0 else 1
        yield "pp", "recv", 2 * (stage > 0), n * h * 2 // slices
        yield "tp", "all_gather", 2 * (stage > 0) * (slices > 1), n * h * 2 // slices
        yield "pp", "send", 2 * (stage < w.pp - 1), n * h * 2 // slices
        yield "pp", "broadcast", 2, 8 * b.sampled
    if m.is_latent and w.pcp > 1:
        yield "pcp", "all_gather", layers, n * 512 * 2
        yield "pcp", "all_gather", layers, n * 64 * 2
    if w.pcp > 1:
        yield "pcp", "all_gather", int(stage == w.pp - 1), n * h * 2
    if sparse:
        yield from ((g, k, c * sparse, s) for g, k, c, s in around_experts(d, b, split=split))


def around_experts(d: Deployment, b: Batch, *, split: bool) -> Iterator[tuple[str, str, int, int]]:
    """The same for one layer of experts."""
    w, n, h = d.layout, b.tokens, d.model.hidden
    experts = d.model.experts
    assert experts is not None
    engines = b.tokens_across_dp or (n,) * w.dp
    uneven = "v" if len(set(engines)) > 1 else ""
    group, own, every = "", 0, 0
    if w.dp > 1 and not w.expert_parallel:
        group, own, every = "dp", w.pcp * n, w.pcp * sum(engines)
    elif w.dp > 1 and w.tp > 1 and split:
        group, own = "ep", ceil(n / w.tp)
        every = sum(ceil(t / w.tp) for t in engines for _ in range(w.pcp * w.tp))
    elif w.dp > 1:
        group, own, every = ("ep" if w.pcp > 1 else "dp"), n, w.pcp * sum(engines)
    elif w.pcp > 1 and w.expert_parallel:
        group, own, every = "pcp", n, w.pcp * n
    if group:
        yield group, f"all_gather{uneven}", 1, own * h * 2
        yield group, f"all_gather{uneven}", 2, own * experts.per_token * 4
        yield group, f"reduce_scatter{uneven}", 1, every * h * 2
    if w.pcp > 1 and not w.expert_parallel:
        router = experts.router_dtype or d.model.dtype
        yield "pcp", "all_gather", 1, n * h * 2
        yield "pcp", "all_gather", 1, n * experts.count * router.bytes
        yield "pcp", "reduce_scatter", 1, w.pcp * n * h * 2


def layouts(model: ModelConfig) -> Iterator[Layout]:
    for tp, pp, dp, pcp, ep in product((1, 2, 4), (1, 2, 3), (1, 2), (1, 2), (False, True)):
        if pcp == 1 or model.is_latent:
            yield Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, expert_parallel=ep)


@pytest.mark.parametrize("name", MINIS)
def test_formulas(name: str) -> None:
    """Layers counted agree with layers walked, on every small layout and uneven engines."""
    model = mini(name)
    for layout, tokens, other in product(layouts(model), (7, 12), (7, 5)):
        across = (tokens, other)[: layout.dp]
        batch = Batch(tokens=tokens, sampled=3, decode_tokens=tokens, tokens_across_dp=across)
        d = Deployment(model=model, layout=layout)
        for exchange in collectives(d, batch):
            found: Counter[tuple[str, str, int]] = Counter()
            for call in exchange.calls:
                if call.device == "gpu":
                    found[call.group.value, call.kind.value, call.bytes] += call.count
            wanted: Counter[tuple[str, str, int]] = Counter()
            widths = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "pcp": layout.pcp}
            for group, kind, count, size in formulas(d, batch, exchange.stage):
                if widths.get(group, layout.expert_width) > 1 and count:
                    wanted[group, kind, size] += count
            assert found == wanted, (str(layout), tokens, other, exchange.stage)


def test_bytes_are_elements_times_width() -> None:
    call = Collective(
        group=Axis.TP, kind=Kind.ALL_REDUCE, shape=(3, 5, 7), dtype=Dtype.FLOAT32, where="here"
    )
    assert call.bytes == 3 * 5 * 7 * 4
    assert call.typed(Dtype.FLOAT8_E4M3).bytes == 3 * 5 * 7


@pytest.mark.parametrize("name", MINIS)
def test_one_rank_exchanges_nothing(name: str) -> None:
    (alone,) = collectives(Deployment(model=mini(name), layout=Layout()), Batch.decode(8))
    assert alone.calls == ()


def test_an_empty_batch_moves_nothing_but_the_engines_words() -> None:
    layout = Layout(tp=2, pp=2, dp=2, expert_parallel=True)
    for exchange in collectives(
        Deployment(model=mini("qwen3moe-mini"), layout=layout), Batch.decode(0)
    ):
        assert [call.device.value for call in exchange.calls] == ["cpu"]


def dealt(prompts: list[int], decodes: int, layout: Layout) -> list[tuple[int, int]]:
    """Prefill and decode tokens of each PCP rank, token by token."""
    shares = [[0, 0] for _ in range(layout.pcp)]
    chunks = 2 * layout.pcp
    for prompt in prompts:
        size = -(-prompt // chunks)
        owners = [min(place // size, chunks - 1 - place // size) for place in range(prompt)]
        whole = layout.dcp > 1 and len({place // size for place in range(prompt)}) < chunks
        for owner in owners:
            for rank in range(layout.pcp):
                if whole:
                    shares[rank][1] += 1
                elif rank == owner:
                    shares[rank][0] += 1
    for number in range(decodes):
        for rank in range(layout.pcp):
            if layout.dcp > 1 or layout.pcp == 1 or number % layout.pcp == rank:
                shares[rank][1] += 1
    return [(prefill, decode) for prefill, decode in shares]


@pytest.mark.parametrize("pcp", [1, 2, 4])
@pytest.mark.parametrize("dcp", [1, 2])
def test_context_shares_are_dealt(pcp: int, dcp: int) -> None:
    layout = Layout(tp=2, pcp=pcp, dcp=dcp if pcp == 1 or dcp == 1 else pcp)
    for prompts, decodes in product(([], [1], [3, 9], [16, 17, 100]), (0, 1, 5)):
        step = EngineBatch(prefill=tuple((n, 0) for n in prompts), decode=(9,) * decodes)
        found = [pcp_tokens(step, layout, rank) for rank in range(pcp)]
        if pcp == 1:
            assert found == [(sum(prompts), decodes)]
        else:
            assert found == dealt(prompts, decodes, layout)
        assert step.share(layout).tokens == max(map(sum, found))


REFUSED: Final = {
    "all2all": Settings(experts=ExpertSettings(all2all_backend="deepep_low_latency")),
    "lora": Settings(lora=True),
    "speculative": Settings(speculative_method="ngram"),
    "dbo": Settings(experts=ExpertSettings(dual_batch_overlap=True)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_modelled_is_refused(what: str) -> None:
    layout = Layout(tp=2, dp=2, expert_parallel=True)
    deployment = Deployment(model=mini("qwen3moe-mini"), layout=layout, settings=REFUSED[what])
    with pytest.raises(CatalogError, match=what):
        collectives(deployment, Batch.decode(8))


def dcp_calls(
    name: str, layout: Layout, context: ContextSettings
) -> list[tuple[str, str, tuple[int, ...]]]:
    d = Deployment(model=mini(name), layout=layout, settings=Settings(context=context))
    calls = collectives(d, Batch.decode(8))[0].calls
    return [
        (call.group.value, call.kind.value, call.shape)
        for call in calls
        if call.where in ("queries", "log-sum-exps", "outputs", "outputs with their sums")
    ]


def test_both_contexts() -> None:
    """DCP over all of TP x PCP gathers queries over tp; DCP over PCP alone does not."""
    name, heads = "deepseek-v2-mini", mini("deepseek-v2-mini").heads
    wide = dcp_calls(name, Layout(tp=2, pcp=2, dcp=4), ContextSettings())
    assert wide == [
        ("tp", "all_gather", (8, heads // 2, 576)),
        ("dcp", "all_gather", (8, heads)),
        ("dcp", "all_reduce", (8, heads, 512)),
    ]
    narrow = dcp_calls(name, Layout(tp=2, pcp=2, dcp=2), ContextSettings())
    assert narrow == [
        ("dcp", "all_gather", (8, heads // 2)),
        ("dcp", "all_reduce", (8, heads // 2, 512)),
    ]


def test_replicated_queries_are_not_gathered() -> None:
    name = "deepseek-v2-mini"
    context = ContextSettings(q_replicate=True, dcp_comm_backend="a2a")
    calls = dcp_calls(name, Layout(tp=4, dcp=2), context)
    assert [kind for _, kind, _ in calls] == ["all_to_all"]


STEPS_WRONG: Final = {
    "an unknown key": ({"token": 8}, "did you mean tokens"),
    "both forms": ({"tokens": 8, "decode": [1]}, "give either"),
    "no object": ([8], "it should be an object"),
    "nothing of a rank": ({"sampled": 3}, "step: tokens is missing"),
    "no whole number": ({"tokens": 1.5}, "a whole number"),
    "true for a number": ({"tokens": True}, "a whole number"),
    "a pair of three": ({"prefill": [[1, 2, 3]]}, "pairs of new and cached tokens"),
    "a prompt of nothing": ({"prefill": [[0, 5]]}, "a whole number from 1"),
    "decodes without context": ({"decode": [0]}, "a whole number from 1"),
    "more decodes than tokens": ({"tokens": 4, "decode_tokens": 5}, "at most the 4 tokens"),
    "too few engines": ({"tokens": 4, "tokens_across_dp": [4]}, "each of 2 engines"),
    "another engine's": ({"tokens": 4, "tokens_across_dp": [5, 6]}, "the 4 tokens of this"),
    "no kernel": ({"tokens": 4, "moe_kernel": "fast"}, "modular or monolithic"),
    "no dtype": ({"tokens": 4, "dispatch_dtype": "fp8"}, "float8_e4m3fn"),
    "no flag": ({"tokens": 4, "any_request_has_context": 1}, "true or false"),
    "no list": ({"decode": 5}, "it should be a list"),
}


@pytest.mark.parametrize("what", STEPS_WRONG)
def test_steps_that_cannot_be_read(what: str) -> None:
    step, says = STEPS_WRONG[what]
    args = {"data_parallel_size": 2}
    said = answer({"model": "qwen3-30b-a3b", "args": args, "ask": ["collectives"], "step": step})
    assert says in str(said["error"]), said


def test_without_a_step_there_are_no_collectives() -> None:
    said = answer({"model": "llama-3.1-8b", "args": {}, "ask": ["collectives"]})
    assert said["collectives"] is None


def test_refused_at_load_still_exchanges() -> None:
    """As the answer format says: the config is accepted, so its step can be asked about."""
    question = {"model": "glm-4.5", "args": {"pipeline_parallel_size": 46}, "step": {"tokens": 1}}
    said = answer(question | {"ask": ["verdict", "collectives"]})
    verdict: Any = said["verdict"]
    assert verdict["stage"] == "load"
    assert said["collectives"]
    refused = answer(
        {"model": "glm-4.5", "args": {"tensor_parallel_size": 7}, "step": {"tokens": 1}}
    )
    assert refused["collectives"] is None


def test_chunks_are_cut_as_vllm_cuts_them() -> None:
    """Chunk by chunk: equal ones from the front until the tokens run out."""
    for tokens in (5, 30, 1003):
        for pcp in (2, 3, 4):
            size = -(-tokens // (2 * pcp))
            chunks: list[list[int]] = [[] for _ in range(2 * pcp)]
            for token in range(tokens):
                chunks[token // size].append(token)
            for rank in range(pcp):
                front, back = chunk_pair(tokens, pcp, rank)
                assert [list(front), list(back)] == [chunks[rank], chunks[-1 - rank]]


def test_a_step_of_fewer_than_no_requests() -> None:
    with pytest.raises(ValueError, match="a step of -8 requests; give 0 or more"):
        Batch.decode(-8)
