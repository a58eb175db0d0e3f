"""Decode-context parallelism: what is copied, what vLLM asks, what the pool becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Final

from figure import assumed
from guided import RESTS
from vllm_parallel import (
    RULES,
    Budget,
    Cluster,
    Deployment,
    KvCache,
    Layout,
    Ledger,
    Settings,
    Verdict,
    load_gpu,
    load_model,
)
from vllm_parallel.collectives import Batch, collectives
from vllm_parallel.constraints.constraint import divisors
from vllm_parallel.layout import Axis
from vllm_parallel.ledger import Capacity, stage_shards
from vllm_parallel.provenance import Provenance
from vllm_parallel.ranks import all_groups
from vllm_parallel.render.heads import HeadSplit, head_diagram
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.interleave import Dealing, diagram
from vllm_parallel.render.markdown import code
from vllm_parallel.render.numbers import counted, gib, size, times, whole
from vllm_parallel.settings import ContextSettings, ExpertSettings

RANKS: Final = 8
NODE: Final = Cluster(gpu=load_gpu("h200"), gpus_per_node=RANKS)
TWO_NODES: Final = replace(NODE, nodes=2)
QWEN: Final = "qwen3-235b-a22b"
LONG: Final = Settings(max_model_len=32768, gpu_memory_utilization=0.90, prefix_caching=False)
INPUT, OUTPUT = 16384, 512  # tokens, the load of long prompts
CONCURRENCY: Final = (8, 32, 64, 128)
GPUS: Final = ("h100-80gb", "h200")
NAMES: Final = {
    "llama-3.1-70b": "Llama-3.1-70B",
    "qwen3-235b-a22b": "Qwen3-235B-A22B",
    "deepseek-r1": "DeepSeek-R1",
    "kimi-k2": "Kimi-K2",
    "llama-3.1-8b": "Llama-3.1-8B",
    "llama-3.1-405b": "Llama-3.1-405B",
    "qwen3-32b": "Qwen3-32B",
}
RULE_MODELS: Final = (  # name, whom it binds, an example on the page
    ("tp-divides-by-dcp", "all, without PCP"),
    ("dcp-spans-pcp", "all, with PCP"),
    ("dcp-needs-tp-above-kv-heads", "GQA, MQA"),
    ("dcp-at-most-copies", "GQA, MQA"),
    ("queries-divide-by-dcp", "GQA, MQA"),
)
DOCUMENTED: Final = (  # model, tp, the dcp that are suggested, cluster
    ("deepseek-r1", 8, (8,), NODE),
    ("kimi-k2", 16, (8, 16), TWO_NODES),
    ("qwen3-235b-a22b", 8, (2,), NODE),
)
REQUESTS: Final = 64
FLAG: Final = re.compile(r"(?<![\w-])(--?[a-z][\w-]*(?: \d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A launch of a model, and what its pool holds."""

    deployment: Deployment

    @property
    def capacity(self) -> Capacity:
        """What the service holds.

        Raises:
            ValueError: vLLM refuses the launch.
        """
        capacity = Verdict.of(self.deployment).capacity
        if capacity is None:
            raise ValueError(f"{self.deployment.layout} is refused")
        return capacity

    @property
    def budget(self) -> Budget:
        """The budget of the rank with least left."""
        gpu = self.deployment.cluster.gpu
        if gpu is None:
            raise ValueError("a budget needs a GPU")
        shards = stage_shards(self.deployment)
        budgets = [Budget.of(Ledger.of(shard), gpu) for shard in shards]
        return min(budgets, key=lambda budget: budget.available_kv_bytes)

    @property
    def weights(self) -> str:
        """Weights of a rank."""
        return gib(self.budget.ledger.terms[0].bytes)

    @property
    def left(self) -> str:
        """What is left for KV on a rank."""
        return gib(self.budget.available_kv_bytes)

    @property
    def blocks(self) -> int:
        """Blocks of the pool."""
        return self.capacity.pool.num_blocks

    @property
    def block_size(self) -> int:
        """Tokens of a block on one rank, as `/metrics` has them."""
        return KvCache.of(self.deployment).block_size

    @property
    def block_tokens(self) -> int:
        """Tokens that a block stands for in the scheduler."""
        return self.block_size * self.deployment.layout.dcp

    @property
    def product(self) -> int:
        """Blocks times block size, which is not the pool's tokens with DCP."""
        return self.blocks * self.block_size

    @property
    def tokens(self) -> int:
        """Tokens of the pool."""
        return self.capacity.pool.tokens

    @property
    def full_requests(self) -> float:
        """Requests of `--max-model-len` that fit at once."""
        return self.capacity.pool.max_concurrency

    def requests(self, length: int) -> int:
        """Requests of a length that fit at once, the null block set aside."""
        pool = self.capacity.pool
        return (pool.num_blocks - 1) // pool.cache.blocks_per_request(length)


@cache
def held(model: str, layout: Layout, cluster: Cluster, settings: Settings | None = None) -> Held:
    """A launch, with vLLM's defaults where no settings are given."""
    return Held(
        deployment=Deployment(
            model=load_model(model), layout=layout, settings=settings or Settings(), cluster=cluster
        )
    )


def pair(gpu: str) -> tuple[Held, Held]:
    """The two launches that are compared, on eight of a GPU: without DCP and with it."""
    cluster = Cluster(gpu=load_gpu(gpu), gpus_per_node=RANKS)
    copied, dealt = (
        held(QWEN, Layout(tp=RANKS, dcp=dcp), cluster, LONG) for dcp in (1, qwen_copies)
    )
    return copied, dealt


def copies(model: str, tp: int) -> int:
    """Ranks of a tp group that hold the same KV head."""
    return max(1, tp // load_model(model).kv_heads)


qwen_heads = load_model(QWEN).kv_heads
qwen_copies = copies(QWEN, RANKS)
llama_heads = load_model("llama-3.1-70b").kv_heads
request_tokens = INPUT + OUTPUT
h100, h100_dcp = pair("h100-80gb")
h200, h200_dcp = pair("h200")
h100_left, h200_left = (assumed(one.left, RESTS) for one in (h100, h200))
h200_fits = max(width for width in CONCURRENCY if width <= h200.requests(request_tokens))
most_at_once = CONCURRENCY[-1]
gain = h200_dcp.tokens / h200.tokens
llama_widths = [
    dcp
    for dcp in divisors(2 * RANKS)
    if Verdict.of(
        held("llama-3.1-70b", Layout(tp=2 * RANKS, dcp=dcp), TWO_NODES).deployment
    ).accepted
]
llama_widest = max(llama_widths)


def heads() -> str:
    """Which KV head each of eight tp ranks holds, of three models."""
    figures = []
    for name in ("llama-3.1-70b", QWEN, "deepseek-r1"):
        model = load_model(name)
        split = HeadSplit(heads=model.heads, kv_heads=model.kv_heads, tp=RANKS)
        each = counted(split.copies, "rank")
        what = "the latent vector" if model.is_latent else "each KV head"
        title = f"{NAMES[name]}, tp {RANKS}: {what} on {each}"
        figures.append(_figure(head_diagram(split, f"heads-{name}".replace(".", "-")), title))
    return "\n".join(figures)


def dealt() -> str:
    """The first tokens of one KV head on the two ranks that have it."""
    dealing = Dealing(ranks=qwen_copies, tokens=8, run=4)
    title = (
        f"{NAMES[QWEN]}, tp {RANKS}: eight tokens of KV head 0. "
        "A letter names the only rank that holds a token; dashed places become free"
    )
    return _figure(diagram(dealing, "interleave"), title)


def rules() -> str:
    """The rules of DCP with vLLM's sentences, in the order in which it tests them."""
    rows = {rule.name: rule for rule in RULES}
    cards = []
    for name, models in RULE_MODELS:
        rule = rows[name]
        cards.append(
            f'<div class="rule" id="rule-{name}"><p class="rule-name">'
            f'<a href="../../reference/constraints/#{name}"><code>{name}</code></a>'
            f'<span class="known">{escape(models)}</span></p>'
            f'<p class="rule-says"><code>{escape(rule.sentence)}</code></p></div>'
        )
    return "\n".join(cards)


def refused_routed_experts() -> str:
    """The refusal of returned experts under DCP, prefix caching left on."""
    settings = Settings(experts=ExpertSettings(return_routed_experts=True))
    return refusal(QWEN, Layout(tp=RANKS, dcp=qwen_copies), settings)


def refusal(model: str, layout: Layout, settings: Settings | None = None) -> str:
    """What vLLM says of a launch that it refuses, and the way out."""
    deployment = Deployment(
        model=load_model(model, as_bf16=True), layout=layout, settings=settings or Settings()
    )
    found = Verdict.of(deployment).refusal
    if found is None:
        raise ValueError(f"{model} starts with {layout}")
    fix = FLAG.sub(r"`\1`", found.fix)
    return f"> {code(found.message)}\n\nWay out: {fix}."


def documented() -> str:
    """The suggestions of vLLM's documentation, computed: what they remove and what they leave."""
    rows = []
    for name, tp, suggested, cluster in DOCUMENTED:
        plain = held(name, Layout(tp=tp), cluster)
        for dcp in (1, *suggested):
            one = held(name, Layout(tp=tp, dcp=dcp), cluster)
            groups = all_groups(one.deployment.layout, Axis.DCP)
            leaving = sum(bool(group.leaves_node(cluster)) for group in groups)
            rows.append(
                [
                    Cell(NAMES[name]),
                    Cell(str(one.deployment.layout)),
                    computed(str(load_model(name).kv_heads)),
                    computed(str(copies(name, tp) // dcp)),
                    Cell(whole(one.tokens), Provenance.ASSUMED),
                    computed(times(one.tokens / plain.tokens)),
                    computed("" if dcp == 1 else f"{leaving} of {len(groups)}"),
                ]
            )
    head = ("model", "layout", "heads", "copies", "tokens", "gain", "leave")
    caption = (
        "On H200, one node or two, vLLM's defaults: KV heads, copies of each that are left, KV "
        "tokens of the pool, their gain, DCP groups that leave a node. Computed; tokens rest on an "
        "assumed overhead."
    )
    return table(head, rows, caption=caption)


def pools() -> str:
    """What the pool becomes, on H100 and on H200."""
    launches = [one for gpu in GPUS for one in pair(gpu)]
    names = [_launch(gpu, one) for gpu in GPUS for one in pair(gpu)]
    rows = [
        [Cell("weights of a rank"), *(computed(one.weights) for one in launches)],
        _assumed("left for KV on a rank", [one.left for one in launches]),
        _assumed("blocks", [whole(one.blocks) for one in launches]),
        [Cell("tokens of a block"), *(computed(str(one.block_tokens)) for one in launches)],
        _assumed("tokens of the pool", [whole(one.tokens) for one in launches]),
        _assumed(
            f"requests of {whole(LONG.max_model_len or 0)}",
            [times(one.full_requests) for one in launches],
        ),
        _assumed(
            f"requests of {whole(request_tokens)}",
            [whole(one.requests(request_tokens)) for one in launches],
        ),
    ]
    caption = (
        f"{NAMES[QWEN]} in BF16, tp {RANKS}, --max-model-len {LONG.max_model_len}, "
        f"--gpu-memory-utilization {LONG.gpu_memory_utilization}; the last rows say how many "
        "requests of so many tokens fit at once. Computed; italic figures rest on an assumed "
        "overhead."
    )
    return table(("", *names), rows, caption=caption)


def _launch(gpu: str, one: Held) -> str:
    """A launch by its GPU's first word, and its dcp; all have the same tp."""
    dcp = one.deployment.layout.dcp
    return load_gpu(gpu).label.split()[0] + (f", dcp {dcp}" if dcp > 1 else "")


def _assumed(name: str, figures: list[str]) -> list[Cell]:
    return [Cell(name), *(Cell(figure, Provenance.ASSUMED) for figure in figures)]


def binds() -> str:
    """At which concurrency of the load requests have to wait for blocks."""
    rows = []
    for gpu in GPUS:
        for one in pair(gpu):
            fits = one.requests(request_tokens)
            cells = ["fits" if width <= fits else f"{width - fits} wait" for width in CONCURRENCY]
            name = _launch(gpu, one)
            rows.append([Cell(name), *(Cell(text, Provenance.ASSUMED) for text in cells)])
    head = ("concurrency", *map(str, CONCURRENCY))
    caption = (
        f"Requests of {whole(INPUT)} tokens in and {whole(OUTPUT)} out that find no room at their "
        "full length; before, some are admitted and preempted later. Computed."
    )
    return table(head, rows, caption=caption)


def monitors() -> str:
    """What `/metrics` says of the pool on H200, and what it means."""
    rows = [
        _monitored("num_gpu_blocks", [one.blocks for one in pair("h200")]),
        _monitored("block_size", [one.block_size for one in pair("h200")]),
        [
            Cell("their product"),
            *(Cell(whole(one.product), Provenance.ASSUMED) for one in pair("h200")),
        ],
        _monitored("kv_cache_size_tokens", [one.tokens for one in pair("h200")]),
    ]
    head = ("vllm:cache_config_info", *(str(one.deployment.layout) for one in pair("h200")))
    caption = f"Labels of the metric for {NAMES[QWEN]} on H200. Computed."
    return table(head, rows, caption=caption)


def _monitored(label: str, numbers: list[int]) -> list[Cell]:
    """Labels as vLLM writes them, without separators."""
    return [Cell(label), *(Cell(str(number), Provenance.ASSUMED) for number in numbers)]


def exchanges() -> str:
    """What a decode step adds for each back end."""
    rows = []
    for name, dcp in (("deepseek-r1", 8), (QWEN, qwen_copies)):
        for backend in ("ag_rs", "a2a"):
            settings = Settings(context=ContextSettings(dcp_comm_backend=backend))
            deployment = Deployment(
                model=load_model(name, as_bf16=True),
                layout=Layout(tp=RANKS, dcp=dcp),
                settings=settings,
                cluster=NODE,
            )
            (step,) = collectives(deployment, Batch.decode(REQUESTS))
            calls = [call for call in step.calls if call.group is Axis.DCP]
            kinds = ", ".join(dict.fromkeys(call.kind.value for call in calls))
            rows.append(
                [
                    Cell(f"{NAMES[name]}, {deployment.layout}"),
                    Cell(backend),
                    Cell(kinds),
                    computed(whole(sum(call.count for call in calls))),
                    computed(size(sum(call.bytes for call in calls))),
                    computed(size(sum(call.count * call.bytes for call in calls))),
                ]
            )
    head = ("launch", "back end", "calls of a layer", "calls", "bytes of a layer", "of a step")
    caption = (
        f"What DCP adds to a step in which {REQUESTS} requests decode, on one rank: input bytes of "
        "its calls. Computed."
    )
    return table(head, rows, caption=caption)


def _figure(picture: str, title: str) -> str:
    return (
        f'<figure class="placement" tabindex="0" role="group" aria-label="{title}">{picture}'
        f"<figcaption>{title}. Computed.</figcaption></figure>"
    )
