"""Which layout to try: by whether the model fits, and by the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from dcp import NAMES as SHORT
from figure import assumed
from figures import SPREAD
from guided import INPUT, OUTPUT, RESTS, guide
from prices import FULLEST, LAYOUTS, Range, leader, throughput, tpot
from vllm_parallel import Cluster, Deployment, Layout, Settings, Verdict, load_gpu, load_model
from vllm_parallel.layouts import PER_NODE
from vllm_parallel.ledger import Capacity
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import whole

LENGTH: Final = 8192  # --max-model-len
REQUESTS: Final = 32  # of full length that a pool should hold
MODELS: Final = (  # model, GPU
    ("llama-3.1-8b", "h100-80gb"),
    ("qwen3-32b", "h100-80gb"),
    ("llama-3.1-70b", "h100-80gb"),
    ("gpt-oss-120b", "h100-80gb"),
    ("qwen3-235b-a22b", "h200"),
    ("deepseek-r1", "h200"),
    ("llama-3.1-405b", "h100-80gb"),
    ("kimi-k2", "h100-80gb"),
)
NODES: Final = (1, 2, 4)
SAME: Final = 0.02  # a difference of tokens that is none: the overhead is not known so well


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The fewest GPUs that hold a model with room for requests, and the layout that follows."""

    model: str
    gpu: str
    layout: Layout
    nodes: int
    capacity: Capacity

    @property
    def layout_text(self) -> str:
        """Its widths."""
        return str(self.layout)

    @property
    def tokens(self) -> int:
        """Tokens of its pool."""
        return self.capacity.pool.tokens

    @property
    def advice(self) -> str:
        """The layout to try first, on the whole of the nodes."""
        model, tp = load_model(self.model), self.layout.tp
        if self.nodes > 1:
            text = f"tp{tp} pp{self.layout.pp}"
        elif tp == 1:
            text = f"{PER_NODE} instances of one GPU"
        elif tp == PER_NODE:
            text = f"tp{tp}"
        else:
            text = f"tp{tp} dp{PER_NODE // tp} or tp{PER_NODE}"
        if model.is_latent and tp > 1:
            text += f", with -dcp {tp}"
        if model.is_moe and self.nodes == 1:
            text += ", with and without -ep"
        return text


@cache
def fit(model: str, gpu: str) -> Fit:
    """The first rung that holds it: one GPU, more of a node, then a stage for each node.

    Raises:
        ValueError: no rung does.
    """
    rungs = [(Layout(tp=tp), 1) for tp in (1, 2, 4, 8)]
    rungs += [(Layout(tp=PER_NODE, pp=nodes), nodes) for nodes in NODES[1:]]
    for layout, nodes in rungs:
        cluster = Cluster(gpu=load_gpu(gpu), gpus_per_node=PER_NODE, nodes=nodes)
        deployment = Deployment(
            model=load_model(model),
            layout=layout,
            settings=Settings(max_model_len=LENGTH),
            cluster=cluster,
        )
        capacity = Verdict.of(deployment).capacity
        if capacity is not None and capacity.pool.max_concurrency >= REQUESTS:
            return Fit(model=model, gpu=gpu, layout=layout, nodes=nodes, capacity=capacity)
    raise ValueError(f"{model} does not fit {NODES[-1]} nodes of {gpu}")


def fits() -> str:
    """Models on the ladder: where each fits first, and what to try."""
    rows = []
    for name, gpu in MODELS:
        one = fit(name, gpu)
        rows.append(
            [
                Cell(f"{SHORT.get(name, name)}, {load_gpu(gpu).label.split()[0]}"),
                computed(str(one.layout)),
                Cell(whole(one.tokens), Provenance.ASSUMED),
                Cell(one.advice),
            ]
        )
    head = ("model, as published", "fits first with", "tokens of a pool", "try first")
    caption = (
        f"The fewest ranks whose pool holds {REQUESTS} requests of {whole(LENGTH)} tokens: tp 1, "
        "2, 4, 8, then a stage for each node; --gpu-memory-utilization at its default, "
        f"{Settings().gpu_memory_utilization}. Computed; tokens rest on an assumed overhead."
    )
    return table(head, rows, caption=caption)


def goals() -> str:
    """The three layouts of the guide by each goal, and which is first."""
    rows = [
        _timed("TPOT at concurrency 1", 1, tpot, least=True),
        _timed(f"TPOT at concurrency {FULLEST}", FULLEST, tpot, least=True),
        _timed(f"tokens/s a GPU at {FULLEST}", FULLEST, throughput, least=False),
        _held("tokens of one request, at most", lambda capacity: capacity.pool.tokens),
        _held("tokens of all requests", lambda capacity: capacity.tokens),
    ]
    head = ("goal", *(str(layout) for layout in LAYOUTS), "first")
    caption = (
        f"Llama-3.1-70B on eight H100, {INPUT} tokens in, {OUTPUT} out; TPOT in milliseconds. "
        f"Computed, times ±{SPREAD:.0%}; tokens rest on an assumed overhead."
    )
    return table(head, rows, caption=caption)


def _timed(
    what: str, width: int, figure: Callable[[Layout, int], Range], *, least: bool
) -> list[Cell]:
    """A goal of time: its ranges, and who leads beyond them."""
    ranges = {layout: figure(layout, width) for layout in LAYOUTS}
    places = 1 if least else 0
    cells = [computed(one.text(places)) for one in ranges.values()]
    return [Cell(what), *cells, Cell(leader(ranges, least=least))]


def _held(what: str, figure: Callable[[Capacity], int]) -> list[Cell]:
    """A goal of memory; layouts within two hundredths of the best tie."""
    tokens = {}
    for layout in LAYOUTS:
        tokens[layout] = figure(guide(layout).verdict.held)
    best = max(tokens.values())
    first = [str(layout) for layout, held in tokens.items() if held > best * (1 - SAME)]
    cells = [Cell(whole(held), Provenance.ASSUMED) for held in tokens.values()]
    return [Cell(what), *cells, Cell(" and ".join(first))]


qwen = fit("qwen3-32b", "h100-80gb")
throughput_first = leader({layout: throughput(layout, FULLEST) for layout in LAYOUTS}, least=False)
qwen_tokens = assumed(qwen.tokens, RESTS)
full_requests = assumed(guide(LAYOUTS[0]).tokens / LENGTH, RESTS)
