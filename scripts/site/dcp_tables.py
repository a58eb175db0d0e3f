"""What DCP makes of pools, and what it exchanges for that, as tables for pages."""

from __future__ import annotations

from typing import Final

from dcp import (
    CONCURRENCY,
    GPUS,
    INPUT,
    LONG,
    NAMES,
    NODE,
    OUTPUT,
    QWEN,
    RANKS,
    TWO_NODES,
    copies,
    pair,
    qwen_copies,
    request_tokens,
)
from held import Held, held
from vllm_parallel import Deployment, Layout, Settings, load_gpu, load_model
from vllm_parallel.collectives import Batch
from vllm_parallel.layout import Axis
from vllm_parallel.provenance import Provenance
from vllm_parallel.ranks import all_groups
from vllm_parallel.render.html import Cell, computed, row, table
from vllm_parallel.render.numbers import size, times, whole
from vllm_parallel.settings import ContextSettings
from ways import calls_over

ASSUMED: Final = Provenance.ASSUMED
DOCUMENTED: Final = (  # model, tp, the dcp that are suggested, cluster
    ("deepseek-r1", 8, (8,), NODE),
    ("kimi-k2", 16, (8, 16), TWO_NODES),
    ("qwen3-235b-a22b", 8, (2,), NODE),
)
REQUESTS: Final = 64


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
                    Cell(whole(one.tokens), ASSUMED),
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
        row("weights of a rank", [one.weights for one in launches]),
        row("left for KV on a rank", [one.left for one in launches], ASSUMED),
        row("blocks", [whole(one.blocks) for one in launches], ASSUMED),
        row("tokens of a block", [str(one.block_tokens) for one in launches]),
        row("tokens of the pool", [whole(one.tokens) for one in launches], ASSUMED),
        row(
            f"requests of {whole(LONG.max_model_len or 0)}",
            [times(one.full_requests) for one in launches],
            ASSUMED,
        ),
        row(
            f"requests of {whole(request_tokens)}",
            [whole(one.requests(request_tokens)) for one in launches],
            ASSUMED,
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


def binds() -> str:
    """At which concurrency of the load requests have to wait for blocks."""
    rows = []
    for gpu in GPUS:
        for one in pair(gpu):
            fits = one.requests(request_tokens)
            cells = ["fits" if width <= fits else f"{width - fits} wait" for width in CONCURRENCY]
            rows.append(row(_launch(gpu, one), cells, ASSUMED))
    head = ("concurrency", *map(str, CONCURRENCY))
    caption = (
        f"Requests of {whole(INPUT)} tokens in and {whole(OUTPUT)} out that find no room at their "
        "full length; before, some are admitted and preempted later. Computed."
    )
    return table(head, rows, caption=caption)


def monitors() -> str:
    """What `/metrics` says of the pool on H200, and what it means."""
    launches = pair("h200")
    rows = [  # labels as vLLM writes them, without separators
        row("num_gpu_blocks", [str(one.blocks) for one in launches], ASSUMED),
        row("block_size", [str(one.block_size) for one in launches], ASSUMED),
        row("their product", [whole(one.product) for one in launches], ASSUMED),
        row("kv_cache_size_tokens", [str(one.tokens) for one in launches], ASSUMED),
    ]
    head = ("vllm:cache_config_info", *(str(one.deployment.layout) for one in launches))
    caption = f"Labels of the metric for {NAMES[QWEN]} on H200. Computed."
    return table(head, rows, caption=caption)


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
            calls = calls_over(Axis.DCP, deployment, Batch.decode(REQUESTS))
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
