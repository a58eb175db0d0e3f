"""Figures of `results/replica` that its sentences quote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

import replica as lying
from figure import Figure, by_name, measured
from replica_tables import all_equal, fields
from vllm_parallel import Shard
from vllm_parallel.engine.metrics import Snapshot
from vllm_parallel.render.numbers import counted

SOURCE: Final = f"the run {lying.FOLDER.name}"


def _parameters() -> float:
    served = lying.deployment(lying.named("tp1"))
    return Shard.of(served, 0).weight_bytes / served.model.dtype.bytes / 1e6


def _starts() -> Figure:
    return measured(sum(len(layout.starts) for layout in lying.layouts()), SOURCE)


def _preempted() -> Figure:
    number = lying.pressure().layouts[lying.STARVED]
    return measured(counted(number or 0, "preemption"), SOURCE)


def _blocks_label() -> Figure:
    layout = lying.named("dp2")
    snapshot = Snapshot.of_file(lying.FOLDER / layout.metrics(layout.starts[0])[1])
    (number,) = {engine.num_blocks for engine in snapshot.engines}
    if number is None:
        raise ValueError("cache_config_info has no num_gpu_blocks")
    return measured(number, SOURCE)


def _needed() -> int:
    load = lying.run().load
    request = ceil((load.input_tokens + load.output_tokens) / lying.CPU_BLOCK)
    return request * max(load.concurrencies)


def _load() -> str:
    return lying.run().load.in_words()


def _token_counts() -> tuple[int, int]:
    """Prompt tokens that a trial at the lowest concurrency asks for, and that it counts."""
    load = lying.run().load
    name = lying.named("tp1").result(load.concurrencies[0], 1)
    result = json.loads((lying.FOLDER / name).read_text("utf-8"))
    return load.prompts[0] * load.input_tokens, result["total_input_tokens"]


FIGURES: Final[Mapping[str, Callable[[], object]]] = {
    "version": lambda: lying.run().vllm_version,
    "parameters": _parameters,
    "starts": _starts,
    "equal": all_equal,
    "preempted": _preempted,
    "blocks_label": _blocks_label,
    "sequences": lambda: max(lying.run().load.concurrencies),
    "needed": _needed,
    "usable": lambda: lying.pool(lying.named(lying.STARVED)).num_blocks - 1,
    "load": _load,
    "results": lambda: measured(len(lying.result_names()), SOURCE),
    "field_count": lambda: measured(len(fields()), SOURCE),
    "asked_tokens": lambda: _token_counts()[0],
    "counted_tokens": lambda: measured(_token_counts()[1], SOURCE),
    "folder": lambda: f"results/{lying.FOLDER.name}",
    "note": lambda: lying.run().note.partition(". ")[2],
}
__getattr__ = by_name(FIGURES)
