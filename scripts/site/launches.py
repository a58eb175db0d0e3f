"""Launches that somebody measured: a JSON line each, as figures of their logs and a deployment.

A line has the keys of `results/planner-h100/launches.jsonl`; others are passed over. Its config
lies beside the file, in `configs/`. Figures are as vLLM printed them, GiB to two places.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from json_rows import Json, number, rows_of, whole_number
from vllm_parallel import (
    Deployment,
    Layout,
    Settings,
    VllmParallelError,
    load_gpu,
    load_model,
)
from vllm_parallel.catalog import with_dtype
from vllm_parallel.cluster import Cluster
from vllm_parallel.shard import Shard
from vllm_parallel.units import GIB

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "results" / "planner-h100"
CASES: Final = ROOT / "results" / "public-logs"
HALF: Final = round(0.005 * GIB)  # what two places leave open
GPU: Final = "h100-80gb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What the log of a stage's first worker says; None where it says nothing."""

    weights: int | None
    peak: int | None
    outside_torch: int | None
    available: int | None
    captured: int | None = None  # CUDA graphs, taken after the pool
    half: int = HALF  # the rounding of `available`, twice as wide where it is a difference


SILENT: Final = Worker(weights=None, peak=None, outside_torch=None, available=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch: what was asked, and what its log says of each stage."""

    id: str
    base_model: str
    release: str
    deployment: Deployment
    workers: tuple[Worker, ...]
    blocks: int | None
    tokens: int | None
    source: str = ""
    note: str = ""  # why it is known to miss


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A line that is not judged, and why."""

    id: str
    reason: str


def read(path: Path, configs: Path) -> list[Launch | Unread]:
    """The launches of a file of JSON lines."""
    return [_launch(row, configs) for row in rows_of(path)]


def _launch(row: Json, configs: Path) -> Launch | Unread:
    name = str(row["id"])
    if "unjudged" in row:
        return Unread(id=name, reason=str(row["unjudged"]))
    tp, pp, dp, dcp = (whole_number(row, axis) or 1 for axis in ("tp", "pp", "dp", "dcp"))
    layout = Layout(tp=tp, pp=pp, dp=dp, dcp=dcp)
    workers = _workers(row, layout)
    if not any(worker.weights or worker.available for worker in workers):
        return Unread(id=name, reason="its log ends before any figure of memory")
    try:
        deployment = _deployment(row, layout, configs)
    except OSError:
        return Unread(id=name, reason=f"no config of the name {row['config']} beside it")
    except VllmParallelError as error:
        return Unread(id=name, reason=str(error).split(";")[0])
    return Launch(
        id=name,
        base_model=str(row["base_model"]),
        release=str(row["vllm_version"]),
        deployment=deployment,
        workers=workers,
        blocks=whole_number(row, "num_gpu_blocks"),
        tokens=whole_number(row, "kv_cache_tokens"),
        source=str(row["source"]),
        note=str(row.get("note", "")),
    )


def _deployment(row: Json, layout: Layout, configs: Path) -> Deployment:
    config = json.loads((configs / f"{row['config']}.json").read_text("utf-8"))
    model = with_dtype(load_model(_as_loaded(config, row)), str(row["dtype"]))
    utilization = row["gpu_memory_utilization"]
    settings = Settings(
        max_model_len=whole_number(row, "max_model_len"),
        block_size=whole_number(row, "block_tokens"),
        max_num_batched_tokens=whole_number(row, "max_num_batched_tokens"),
        max_num_seqs=whole_number(row, "max_num_seqs"),
        gpu_memory_utilization=utilization if isinstance(utilization, float) else 1.0,
        kv_cache_dtype=str(row["kv_cache_dtype"]),
        enforce_eager=bool(row["enforce_eager"]),
        prefix_caching=bool(row["enable_prefix_caching"]),
    )
    cluster = Cluster(gpu=load_gpu(str(row.get("gpu", GPU))))
    deployment = Deployment(model=model, layout=layout, settings=settings, cluster=cluster)
    Shard.of(deployment, 0)  # what cannot be sized says so
    return deployment


def _as_loaded(config: dict[str, object], row: Json) -> dict[str, object]:
    """The config as 0.32.0 would have to say it, for bytes that a launch of its release had.

    fp8 that is made while weights load is stored like a checkpoint of it with one scale a matrix.
    Older releases take GPTQ in activation order, which has two more integers for each column.
    """
    method, given = row.get("quantization"), config.get("quantization_config")
    if method == "fp8" and not given:
        return {
            **config,
            "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"},
        }
    if isinstance(given, dict) and given.get("desc_act"):
        return {**config, "quantization_config": {**given, "desc_act": False}}
    return config


def _workers(row: Json, layout: Layout) -> tuple[Worker, ...]:
    """The first worker of each stage, in order."""
    listed = row["workers"]
    found: dict[int, Worker] = {}
    for index, worker in enumerate(listed if isinstance(listed, list) else []):
        stages = [label for label in worker.get("labels", []) if "_PP" in label]
        stage = int(stages[0].split("_PP")[1].split("_")[0]) if stages else index // layout.tp
        found.setdefault(stage, _worker(worker))
    return tuple(found.get(stage, SILENT) for stage in range(layout.pp))


def _worker(figures: Json) -> Worker:
    available, half = _bytes(figures, "available_kv_gib"), HALF
    requested, used = _bytes(figures, "requested_gib"), _bytes(figures, "total_non_kv_gib")
    if available is None and requested is not None and used is not None:
        available, half = requested - used, 2 * HALF
    return Worker(
        weights=_bytes(figures, "weights_gib") or _bytes(figures, "model_loading_gib"),
        peak=_bytes(figures, "torch_peak_increase_gib"),
        outside_torch=_bytes(figures, "non_torch_forward_gib"),
        available=available,
        captured=_bytes(figures, "graph_capture_gib"),
        half=half,
    )


def _bytes(figures: Json, key: str) -> int | None:
    value = number(figures, key)
    return None if value is None else round(value * GIB)
