"""The reference of vLLM's metrics: those that the guide reads, then all, by what has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from vllm_parallel.engine.metrics.registered import RegisteredMetric, metrics
from vllm_parallel.engine.metrics.snapshot import COUNTERS, GAUGES, INFO
from vllm_parallel.render.cards import card
from vllm_parallel.render.markdown import code, table

# What each one that `vllm-parallel metrics` reads tells about a layout.
MEANINGS: Final = {
    "preemptions": "Requests put back because the pool ran out; their tokens are computed again. "
    "Take the difference over a load",
    "generation_tokens": "Tokens generated; the difference is the load's output",
    "prompt_tokens": "Prompt tokens processed, those found in the prefix cache included",
    "kv_cache_usage": "Share of the pool's blocks in use, from 0 to 1, at the moment of the "
    "reading",
    "running": "Requests in the running batch of an engine",
    "waiting": "Requests that wait for it, deferred ones included",
}
POOL: Final = "One sample an engine, always 1. Its labels hold the pool: `kv_cache_size_tokens`, \
`num_gpu_blocks` (added up over data-parallel engines), `block_size` (tokens of one rank)"
LETTERS: Final = re.compile(r"[a-z0-9]+")
MOST_LABELS: Final = 8  # more are the fields of a config, and are counted


def anchor(metric: RegisteredMetric) -> str:
    """Where the reference has a metric.

    >>> anchor(metrics()["vllm:num_preemptions_total"])
    'metric-num-preemptions-total'
    """
    return "metric-" + metric.name.removeprefix("vllm:").replace("_", "-")


def read_table() -> str:
    """The metrics that the command reads, and what each tells."""
    names = {name: served[0] for name, served in (*COUNTERS.items(), *GAUGES.items())}
    rows = [(code(names[name]), MEANINGS[name]) for name in names]
    return table(("Metric", "What it tells"), [*rows, (code(INFO), POOL)])


def summary() -> str:
    """How many there are, by kind.

    >>> summary()
    '126 metrics: 62 counters, 24 gauges and 40 histograms'
    """
    kinds = [metric.kind for metric in metrics().values()]
    counts = [f"{kinds.count(kind)} {kind}s" for kind in ("counter", "gauge", "histogram")]
    return f"{len(kinds)} metrics: {counts[0]}, {counts[1]} and {counts[2]}"


def reference() -> str:
    """Every metric, those of every server first."""
    parts = []
    for feature, members in groupby(_listed(), lambda one: one.feature):
        title = f"Only with {feature}" if feature else "Of every server"
        parts.append(f"## {title} {{#metrics-{'-'.join(LETTERS.findall(title.lower()))}}}")
        parts.append("\n".join(map(_card, members)))
    return "\n\n".join(parts)


def _listed() -> list[RegisteredMetric]:
    """By feature, in the order in which features are met."""
    order = list(dict.fromkeys(metric.feature for metric in metrics().values()))
    return sorted(metrics().values(), key=lambda metric: order.index(metric.feature))


def _card(metric: RegisteredMetric) -> str:
    return card(anchor(metric), [metric.name], list(_facts(metric)))


def _facts(metric: RegisteredMetric) -> Iterator[str]:
    yield metric.says.replace("`", "'")
    labels = metric.labels
    listed = " ".join(f"`{label}`" for label in labels[:MOST_LABELS])
    if len(labels) > MOST_LABELS:
        listed = f"`engine` and {len(labels) - 1} fields of the cache config"
    yield f"{metric.kind.capitalize()}. Labels: {listed}" if labels else metric.kind.capitalize()
