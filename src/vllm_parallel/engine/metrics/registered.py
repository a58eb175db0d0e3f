"""Every metric of vLLM 0.32.0, as its own code registers them with the Prometheus client.

`scripts/engine/metrics.py` wrote the list that lies beside this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from vllm_parallel.files import read_beside
from vllm_parallel.frozen import dataclass

PREFIX: Final = "vllm:"
# What the client serves of a metric, by its kind. The times at which counters were made are left
# out where several API servers share them.
ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "gauge": ("",),
    "counter": ("_total", "_created"),
    "histogram": ("_bucket", "_count", "_sum", "_created"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredMetric:
    """One metric: its name as served, its kind and labels, what vLLM says, and what has to be on.

    `feature` is Markdown, and empty where every server has the metric.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    says: str
    feature: str

    @property
    def served(self) -> tuple[str, ...]:
        """The names of its samples.

        >>> metrics()["vllm:num_preemptions_total"].served
        ('vllm:num_preemptions_total', 'vllm:num_preemptions_created')
        """
        base = self.name.removesuffix("_total") if self.kind == "counter" else self.name
        return tuple(base + ending for ending in ENDINGS[self.kind])


@cache
def metrics() -> Mapping[str, RegisteredMetric]:
    """Every metric by its name, in the order in which vLLM registers them.

    >>> metrics()["vllm:kv_cache_usage_perc"].kind
    'gauge'
    """
    rows = json.loads(read_beside(__file__, "registered.json"))["metrics"]
    found = (RegisteredMetric(**{**row, "labels": tuple(row["labels"])}) for row in rows)
    return {metric.name: metric for metric in found}


@cache
def served_names() -> frozenset[str]:
    """The names of all their samples."""
    return frozenset(name for metric in metrics().values() for name in metric.served)
