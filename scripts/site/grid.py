"""What the site answers about a model at once: the grid, one `models/NAME.json` for each.

The build writes it by calling the package. A grid holds, for each GPU of the catalog and each of
`COUNTS`, the layouts that vLLM starts, ranked by each goal, and what it refuses. It is asked as

    vllm-parallel layouts NAME --gpu GPU --gpus COUNT --max-model-len LENGTH --goal GOAL

with the default utilization, nodes of `PER_NODE` GPUs and the load that `layouts` assumes. Rows,
layouts and refusals are those of `vllm_parallel.planned`: strings to show as they are. A cell keeps
the layouts among the first `TOP` by some goal. A goal by which other layouts fall out than by the
first has its own `found` and `refused` in `otherwise`. What many cells share is kept once and named
by its index: layouts in `layouts`, sentences in `texts`.

    {"model": "llama-3.1-70b", "hub": "meta-llama/Llama-3.1-70B", "notes": [],
     "asked": {"max_model_len": 8192, "gpu_memory_utilization": 0.92, "gpus_per_node": 8,
               "concurrency": 64, "context": 4096},
     "gpus": {"h100-80gb": {"label": "H100 80GB SXM",
                            "goals": ["tpot", "throughput", "longest-request", "capacity"]}},
     "columns": ["layout", "tokens", "service", "longest", ...],
     "refusals": ["rule", "stage", "layouts", "example", "message", "fix"],
     "parts": ["weights", "kv", "compute", "collectives", "overhead", "total"],
     "layouts": [{"name": "tp8", "gpus": 8, "nodes": 1, "engines": 1, "refused": null,
                  "commands": ["vllm serve meta-llama/Llama-3.1-70B ..."],
                  "picture": "placements/tp8.svg"}],
     "texts": ["Total number of attention heads (64) must be ...", "use a --tensor-..."],
     "cells": {"h100-80gb": {"8": {
         "searched": 50, "found": 7,
         "rows": [[0, "1,343,296", "1,343,296", "131,072", ...]],
         "ranked": {"tpot": [0, 2, 1], "capacity": [1, 0]},
         "refused": [["dcp-needs-tp-above-kv-heads", "config", 24, "tp1 pcp8 dcp8", 0, 1]]}}}}

`picture` is an SVG beside the grid: which node holds each rank, and its groups. Goals of time are
left out where the catalog has no rates of the GPU. A cell that nobody can size has `"error"` alone,
the index of a text: a quantised model on an AMD GPU.
"""

from __future__ import annotations

from typing import Final, TypedDict

COUNTS: Final = (1, 2, 4, 8, 16)
PER_NODE: Final = 8
LENGTH: Final = 8192  # --max-model-len, or what the model allows


class Asked(TypedDict):
    """What is the same in every cell: the launch's settings, and the load behind times."""

    max_model_len: int
    gpu_memory_utilization: float
    gpus_per_node: int
    concurrency: int
    context: int


class GpuEntry(TypedDict):
    """A GPU, and the goals that it is ranked by."""

    label: str
    goals: list[str]


class Grid(TypedDict):
    """The file. `notes` say what a reader has to know first: quantised, only the text part."""

    model: str
    hub: str | None
    notes: list[str]
    asked: Asked
    gpus: dict[str, GpuEntry]
    columns: tuple[str, ...]
    refusals: tuple[str, ...]
    parts: tuple[str, ...]
    layouts: list[dict[str, object]]
    texts: list[str]
    cells: dict[str, dict[str, dict[str, object]]]
