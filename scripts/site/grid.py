"""What the site answers about a model at once: the grid, one `models/NAME.json` for each.

The build writes it by calling the package. A grid holds, for each GPU of the catalog and each of
`COUNTS`, the layouts that vLLM starts, ranked by each goal, and what it refuses. It is asked as

    vllm-parallel layouts NAME --gpu GPU --gpus COUNT --max-model-len LENGTH --goal GOAL

with the default utilization, nodes of `PER_NODE` GPUs and the load that `layouts` assumes. Of a
cell only the layouts among the first `TOP` by some goal are kept. Bytes and tokens are integers,
seconds floats to six digits. Strings are made by the package and shown as they are. What many
cells share is kept once and named by its index: layouts in `layouts`, sentences in `texts`.

    {"model": "llama-3.1-70b", "hub": "meta-llama/Llama-3.1-70B", "notes": [],
     "asked": {"max_model_len": 8192, "gpu_memory_utilization": 0.92, "gpus_per_node": 8,
               "concurrency": 64, "context": 4096},
     "gpus": {"h100-80gb": {"label": "H100 80GB SXM", "budget": 78227082609, "total": 85029263114,
                            "goals": ["tpot", "throughput", "longest-request", "capacity"]}},
     "layouts": [{"name": "tp8", "gpus": 8, "engines": 1, "picture": "placements/tp8.svg",
                  "args": {"tensor_parallel_size": 8, "max_model_len": 8192},
                  "commands": ["vllm serve meta-llama/Llama-3.1-70B ..."]}],
     "texts": ["Total number of attention heads (64) must be ...", "use a --tensor-..."],
     "columns": ["layout", "tokens", "longest", "weights", "least", "likely", "most", "running",
                 "tpot", "throughput", "step"],
     "parts": ["weights", "kv", "compute", "collectives", "overhead"],
     "refusals": ["rule", "stage", "layouts", "example", "message", "fix"],
     "cells": {"h100-80gb": {"8": {
         "searched": 50, "found": 9,
         "rows": [[0, 2013824, 131072, 17641213952, ..., [0.0052, ...]]],
         "ranked": {"tpot": [0, 2, 1], "capacity": [1, 0]},
         "refused": [["heads-divide-by-tp", "config", 2, "tp16", 0, 1]]}}}}

A cell that nobody can size has `"error"` alone, a text: a quantised model on an AMD GPU.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NotRequired, TypedDict

COUNTS: Final = (1, 2, 4, 8, 16)
PER_NODE: Final = 8
LENGTH: Final = 8192  # --max-model-len, or what the model allows
TOP: Final = 5


class Asked(TypedDict):
    """What is the same in every cell: the launch's settings, and the load behind times."""

    max_model_len: int
    gpu_memory_utilization: float
    gpus_per_node: int
    concurrency: int
    context: int


class GpuEntry(TypedDict):
    """A GPU: what vLLM may use of its memory and all of it, in bytes; the goals it is ranked by.

    Goals of time are left out where the catalog has no rates of the GPU.
    """

    label: str
    budget: int
    total: int
    goals: list[str]


class LayoutEntry(TypedDict):
    """A layout: its arguments by vLLM's names, and what draws and starts it.

    `engines` is how many pools there are, each on `gpus / engines` GPUs. `picture` is an SVG beside
    the grid: which node holds each rank, and its groups. `commands` is a command for each node,
    the first node's first; on several nodes each begins with a line that sets `HEAD`.
    """

    name: str
    gpus: int
    engines: int
    picture: str
    args: dict[str, object]
    commands: list[str]


class Row(NamedTuple):
    """A layout that starts.

    `tokens` and `longest` are of one pool: its KV tokens, its longest request. Bytes of the
    fullest rank: `weights` and what is loaded with them; `least`, `likely` and `most` of the
    overhead. The cache takes what they leave of the GPU's `budget`, and what is beyond stays free.

    Of the load `running` requests decode at once, a token takes `tpot` seconds,
    and a GPU makes `throughput` tokens a second; `step` are the seconds of the slowest stage's
    decode step, part by part. These four are null without rates.
    """

    layout: int
    tokens: int
    longest: int
    weights: int
    least: int
    likely: int
    most: int
    running: int | None
    tpot: float | None
    throughput: float | None
    step: list[float] | None


class RefusedRow(NamedTuple):
    """The layouts that one rule refuses: how many, the simplest of them, and the two sentences.

    `stage` is vLLM's, null where it is this package that cannot price them.
    """

    rule: str
    stage: str | None
    layouts: int
    example: str
    message: int
    fix: int


class CellEntry(TypedDict):
    """One GPU and count: how many layouts were searched and found, and the best of them.

    `ranked` holds numbers of `rows` by goal, the best first.
    """

    searched: NotRequired[int]
    found: NotRequired[int]
    rows: NotRequired[list[Row]]
    ranked: NotRequired[dict[str, list[int]]]
    refused: NotRequired[list[RefusedRow]]
    error: NotRequired[int]


class Grid(TypedDict):
    """The file. `notes` say what a reader has to know first: unquantised, only the text part."""

    model: str
    hub: str | None
    notes: list[str]
    asked: Asked
    gpus: dict[str, GpuEntry]
    layouts: list[LayoutEntry]
    texts: list[str]
    columns: list[str]
    parts: list[str]
    refusals: list[str]
    cells: dict[str, dict[str, CellEntry]]
