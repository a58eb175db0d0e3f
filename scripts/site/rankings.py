"""Searches over layouts, as tables and charts for pages."""

from __future__ import annotations

from functools import cache
from typing import Final

from drawn import placed
from guided import MODEL, NODE
from vllm_parallel import Cluster, Deployment, Layout, Settings, Verdict, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.ledger import Capacity
from vllm_parallel.outcome import Found, Goal, Outcome, ranked
from vllm_parallel.render.charts import Curves, curves
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import milliseconds, whole
from vllm_parallel.search import Search, SteadyDecode, appraised

CONCURRENCY: Final = 64
CONTEXT: Final = 4096
GOALS_LENGTH: Final = 8192  # --max-model-len
MODELS: Final = (
    ("llama-3.1-70b", "h100-80gb", 8),
    ("llama-3.1-405b", "h100-80gb", 16),
    ("gpt-oss-120b", "h100-80gb", 8),
    ("qwen3-235b-a22b", "h200", 8),
    ("deepseek-r1", "h200", 8),
    ("deepseek-r1", "h100-80gb", 64),
)
DCP_MODEL: Final = "deepseek-r1"
DCP_GPU: Final = "h200"
DCP_WIDTHS: Final = (1, 2, 4, 8)
DCP_CONTEXTS: Final = ((1024, "1K"), (8192, "8K"), (32768, "32K"), (65536, "64K"))
DCP_REQUESTS: Final = 8
TICKS: Final = tuple(base * 10**power for power in (-1, 0, 1, 2) for base in (1, 1.5, 2, 3, 5, 7))
SAME: Final = 0.01  # a change of TPOT that is none


@cache
def guide_search(goal: Goal) -> Outcome:
    """Llama-3.1-70B on the guide's node."""
    settings = Settings(max_model_len=GOALS_LENGTH)
    search = Search(model=MODEL, gpus=8, cluster=NODE, settings=settings)
    return search.run(goal, _load("h100-80gb").figures if goal.needs_rates else None)


def _load(gpu: str, concurrency: int = CONCURRENCY, context: int = CONTEXT) -> SteadyDecode:
    return SteadyDecode(concurrency=concurrency, context=context, rates=load_rates(gpu))


def found_layouts() -> str:
    """Every layout that vLLM starts, by TPOT."""
    outcome = guide_search(Goal.TPOT)
    head = ("layout", "at once", "TPOT", "tokens/s a GPU", "tokens", "longest")
    caption = (
        f"The {len(outcome.found)} of {outcome.searched} layouts that vLLM starts, under "
        f"{CONCURRENCY} requests of {whole(CONTEXT)} tokens: how many decode at once, their TPOT, "
        "KV tokens of the service, and its longest request. --gpu-memory-utilization is the "
        f"default, {Settings().gpu_memory_utilization}. Computed, not measured; memory rests on an "
        "assumed overhead."
    )
    return table(head, [_row(found) for found in outcome.found], caption=caption)


def _row(found: Found) -> list[Cell]:
    if found.figures is None:
        raise ValueError(f"{found.layout} has no figures")
    return [
        Cell(str(found.layout)),
        computed(str(found.figures.running)),
        computed(milliseconds(found.figures.tpot_seconds)),
        computed(whole(round(found.tokens_per_second_per_gpu))),
        computed(whole(found.capacity.tokens)),
        computed(whole(found.longest_request)),
    ]


def fallen_layouts() -> str:
    """What the others broke."""
    rows = [
        (
            str(row.count),
            f"[{row.rule}](../../reference/constraints/#{row.rule})",
            f"{row.example}: {row.fix}",
        )
        for row in guide_search(Goal.TPOT).refused
    ]
    return markdown(("layouts", "rule", "such as, and its way out"), rows, right=(0,))


def by_goal() -> str:
    """The first layout by each goal, of several models."""
    rows = []
    for name, gpu, gpus in MODELS:
        nodes = max(1, gpus // 8)
        cluster = Cluster(gpu=load_gpu(gpu), gpus_per_node=8, nodes=nodes)
        settings = Settings(max_model_len=GOALS_LENGTH)
        search = Search(model=load_model(name), gpus=gpus, cluster=cluster, settings=settings)
        tried = search.tried()
        timed = [
            appraised(one, _load(gpu).figures) if isinstance(one, Found) else one for one in tried
        ]
        outcomes = {
            goal: ranked(timed if goal.needs_rates else tried, goal)
            for goal in (Goal.TPOT, Goal.LONGEST_REQUEST, Goal.CAPACITY)
        }
        tpot = outcomes[Goal.TPOT]
        firsts = [Cell(str(outcome.found[0].layout)) for outcome in outcomes.values()]
        counts = computed(f"{len(tpot.found)} of {tpot.searched}")
        rows.append([Cell(f"{name} on {gpus} × {load_gpu(gpu).label}"), counts, *firsts])
    head = ("model", "start", "least TPOT", "longest request", "most tokens")
    caption = (
        f"The first layout by each goal, --max-model-len {GOALS_LENGTH}, else vLLM's defaults; "
        f"TPOT of {CONCURRENCY} requests of {whole(CONTEXT)} tokens. Computed."
    )
    return table(head, rows, caption=caption)


@cache
def dcp_deployment(dcp: int) -> tuple[Deployment, Capacity]:
    """DeepSeek-R1 on eight H200 with the cache over so many ranks.

    Raises:
        ValueError: vLLM refuses it.
    """
    cluster = Cluster(gpu=load_gpu(DCP_GPU), gpus_per_node=8)
    deployment = Deployment(
        model=load_model(DCP_MODEL), layout=Layout(tp=8, dcp=dcp), cluster=cluster
    )
    return deployment, Verdict.of(deployment).held


def dcp_tpot(dcp: int, context: int) -> float:
    """Milliseconds of a token, of requests with so long a context.

    Raises:
        ValueError: they do not fit at once.
    """
    figures = _load(DCP_GPU, DCP_REQUESTS, context).figures(*dcp_deployment(dcp))
    if figures is None or figures.running < figures.asked:
        raise ValueError(f"dcp {dcp} does not hold {DCP_REQUESTS} requests of {context} tokens")
    return figures.tpot_seconds * 1e3


def dcp_charts() -> str:
    """Capacity and TPOT over the width of DCP."""
    across = tuple((float(width), f"dcp{width}") for width in DCP_WIDTHS)
    tokens = tuple((float(dcp), dcp_deployment(dcp)[1].tokens / 1e6) for dcp in DCP_WIDTHS)
    up = _ticks([value for _, value in tokens], "M")
    capacity = Curves(lines=(("", tokens),), across=across, up=up)
    lines = tuple(
        (label, tuple((float(dcp), dcp_tpot(dcp, context)) for dcp in DCP_WIDTHS))
        for context, label in DCP_CONTEXTS
    )
    up = _ticks([value for _, points in lines for _, value in points], "ms")
    times = Curves(lines=lines, across=across, up=up)
    model = "DeepSeek-R1, tp8 on eight H200"
    held = f"{model}: KV tokens of the service over the width of DCP"
    paid = f"{model}: TPOT of {DCP_REQUESTS} requests over the width of DCP, a line a context"
    return placed(curves(capacity, "dcp-capacity", held), held) + placed(
        curves(times, "dcp-tpot", paid), paid
    )


def _ticks(values: list[float], unit: str) -> tuple[tuple[float, str], ...]:
    """Round numbers from below the least value to above the greatest."""
    first = max(tick for tick in TICKS if tick <= min(values))
    last = min(tick for tick in TICKS if tick >= max(values))
    return tuple((tick, f"{tick:g} {unit}") for tick in TICKS if first <= tick <= last)


def dcp_words() -> str:
    """What the widest DCP saves or costs at each context, in words from the figures."""
    widest = DCP_WIDTHS[-1]
    parts = []
    for context, _ in DCP_CONTEXTS:
        change = dcp_tpot(widest, context) / dcp_tpot(1, context) - 1
        if abs(change) < SAME:
            text = "makes no difference"
        else:
            text = f"{'costs' if change > 0 else 'saves'} {abs(change):.0%} of TPOT"
        parts.append(f"at {whole(context)} tokens it {text}")
    return f"Of dcp{widest} against dcp1, under {DCP_REQUESTS} requests: {', '.join(parts)}."
