"""Whether models, GPUs and metrics that the site names are there."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from vllm_parallel.catalog import gpu_names, hub_names, model_names
from vllm_parallel.engine.metrics.registered import metrics
from vllm_parallel.engine.reading import Reading
from vllm_parallel.errors import close_names

HUB: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*")  # a path of two parts is taken for one
FOLDER: Final = "/models/"  # where pages keep what they have loaded from the hub
MODEL: Final = "model"
# What the contributor pages add, and what a reader would name.
MADE_UP: Final = frozenset({"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b", "my-gpu-48gb"})
METRIC: Final = re.compile(r"\bvllm:[a-z]\w+")
GONE: Final = frozenset({"vllm:gpu_cache_usage_perc"})  # of older servers, said as such


def metric_faults(text: str) -> Iterator[str]:
    """Names of metrics in a text that no server of this release has.

    >>> list(metric_faults("vllm:num_requests_running, vllm:cache_config_inf"))
    ['vllm:cache_config_inf is no metric of vLLM; did you mean vllm:cache_config_info?']
    """
    for name in METRIC.findall(text):
        if name not in _metric_names():
            yield f"{name} is no metric of vLLM; {close_names(name, metrics(), whose='it')}"


@cache
def _metric_names() -> frozenset[str]:
    """As served, and without the ending of counters, as vLLM's own descriptions have them."""
    known = metrics()
    bare = (name.removesuffix("_total") for name in known)
    return GONE.union(known, bare, *(metric.served for metric in known.values()))


def hub_faults(reading: Reading) -> Iterator[tuple[int, str]]:
    """A name of the hub, as vLLM takes it, that is none of the catalog's, and on which line."""
    given = [(one.flag.line, one.value) for one in reading.given if one.option.dest == MODEL]
    if reading.model is not None and reading.model.known:
        given.append((reading.model.line, reading.model.text))
    known = [name for names in hub_names().values() for name in names]
    folders = [FOLDER + name.rpartition("/")[2] for name in known]
    for line, name in given:
        if isinstance(name, str) and (HUB.fullmatch(name) or name.startswith(FOLDER)):
            names = folders if name.startswith(FOLDER) else known
            yield from ((line, fault) for fault in _unknown(MODEL, name, names))


def own_faults(given: Namespace, typed: Collection[str]) -> Iterator[str]:
    """The same of a call of this package; only what was typed there is looked at."""
    for noun, key, names in ((MODEL, MODEL, model_names()), ("GPU", "gpu", gpu_names())):
        name = vars(given).get(key)
        if isinstance(name, str) and name in typed and "/" not in name and ".json" not in name:
            yield from _unknown(noun, name, names)


def _unknown(noun: str, name: str, names: Collection[str]) -> Iterator[str]:
    if name not in names and name not in MADE_UP:
        close = close_names(name, names, whose="it")
        yield f"{name} is no {noun} of the catalog; {close}"
