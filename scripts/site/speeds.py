"""Speeds that somebody measured, against the price of the same load: a JSON line each.

A line has the keys of `results/public-speeds/points.jsonl`. Its config lies beside the file, in
`configs/`, or is the catalog's. Nothing else reads these points, and no rate was fitted to them but
the pinned ones, whose points are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Final

from json_rows import Json, number, rows_of, whole_number
from vllm_parallel import (
    CatalogError,
    Cluster,
    Deployment,
    Layout,
    Settings,
    Shard,
    load_gpu,
    load_model,
)
from vllm_parallel.catalog.rates import load_rates, pinned_factors
from vllm_parallel.load import Load, Service, ServicePrice
from vllm_parallel.price import Engine

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "results" / "public-speeds"
LLAMA: Final = ("llama-3.1-8b", "llama-3.1-8b-fp8", "llama-3.1-70b-fp8")
GPUS_PER_NODE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured load: what was launched, what was sent, and how fast it was."""

    id: str
    group: str
    config: str
    gpu: str
    deployment: Deployment
    engine: Engine
    load: Load
    statistic: str  # which time was published: mean tpot, median tpot, median itl
    seconds: float
    output_tokens_per_second: float
    ttft_seconds: float
    ttft_is_mean: bool
    assumed: tuple[str, ...]
    source: str

    @property
    def is_llama(self) -> bool:
        """Whether it is one of the sweeps of Llama on H100 by an old engine."""
        return self.engine is Engine.V0 and self.config in LLAMA


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A bound on errors, and what was found."""

    what: str
    found: float
    at_most: float  # of its size

    @property
    def held(self) -> bool:
        """Whether it is held."""
        return abs(self.found) <= self.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A point that cannot be priced, and why."""

    id: str
    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """A point beside its price."""

    point: Point
    price: ServicePrice

    @property
    def seconds(self) -> float:
        """The computed time that stands beside the published one."""
        times = {"mean tpot": self.price.tpot, "median tpot": self.price.tpot_median}
        return times.get(self.point.statistic, self.price.interval)

    @property
    def error(self) -> float:
        """Of the time between tokens, as a share with its sign."""
        return self.seconds / self.point.seconds - 1

    @property
    def throughput_error(self) -> float:
        """Of output tokens a second."""
        return self.price.output_tokens_per_second / self.point.output_tokens_per_second - 1

    @property
    def ttft(self) -> float:
        """The computed time to the first token, mean or median as it was published."""
        return self.price.ttft if self.point.ttft_is_mean else self.price.ttft_median


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of several points in sum."""

    count: int
    median: float  # of their sizes
    mean: float
    bias: float  # mean with signs
    worst: float  # the one of greatest size, with its sign

    @classmethod
    def of(cls, errors: Sequence[float]) -> Errors:
        """The sums of these errors."""
        sizes = [abs(error) for error in errors]
        return cls(
            count=len(errors),
            median=median(sizes),
            mean=fmean(sizes),
            bias=fmean(errors),
            worst=max(errors, key=abs),
        )


def read(path: Path, configs: Path) -> list[Point | Unjudged]:
    """The points of a file of JSON lines."""
    return [_point(row, configs) for row in rows_of(path)]


def priced(points: Iterable[Point | Unjudged], *, pinned: bool = True) -> list[Speed]:
    """Every point that can be priced beside its price."""
    return [_speed(point, pinned=pinned) for point in points if isinstance(point, Point)]


def counting(speeds: Iterable[Speed]) -> list[Speed]:
    """Those on which no rate was pinned."""
    pins = {one.point for one in pinned_factors()}
    return [speed for speed in speeds if speed.point.id not in pins]


def groups(speeds: Iterable[Speed]) -> dict[str, list[Speed]]:
    """By model, hardware and engine."""
    found: dict[str, list[Speed]] = {}
    for speed in speeds:
        found.setdefault(speed.point.group, []).append(speed)
    return found


def macro(speeds: Iterable[Speed]) -> tuple[float, float]:
    """Mean over groups of their median error's size, and of their mean error with its sign."""
    sums = [Errors.of([one.error for one in group]) for group in groups(speeds).values()]
    return fmean(one.median for one in sums), fmean(one.bias for one in sums)


def limits(speeds: Sequence[Speed]) -> list[Limit]:
    """The bounds that hold: for the sweeps of Llama, and for the rest by groups."""
    found = []
    llama = [speed.error for speed in speeds if speed.point.is_llama]
    if llama:
        errors = Errors.of(llama)
        found += [
            Limit(what="Llama on H100: median", found=errors.median, at_most=0.05),
            Limit(what="Llama on H100: bias", found=errors.bias, at_most=0.05),
            Limit(what="Llama on H100: worst", found=errors.worst, at_most=0.15),
        ]
    others = [speed for speed in counting(speeds) if not speed.point.is_llama]
    if others:
        middle, bias = macro(others)
        found += [
            Limit(what="others: mean of the groups' medians", found=middle, at_most=0.12),
            Limit(what="others: bias", found=bias, at_most=0.10),
        ]
    return found


def _speed(point: Point, *, pinned: bool) -> Speed:
    rates = load_rates(point.gpu, point.engine, pinned=pinned)
    return Speed(point=point, price=Service.of(point.deployment, rates).price(point.load))


def _point(row: Json, configs: Path) -> Point | Unjudged:
    if "unjudged" in row:
        return Unjudged(
            id=str(row["id"]),
            model=str(row["model"] or "not stated"),
            reason=str(row["unjudged"]),
        )
    assumed = row["assumed"]
    return Point(
        id=str(row["id"]),
        group=str(row["group"]),
        config=str(row["config"]),
        gpu=str(row["gpu"]),
        deployment=_deployment(row, configs),
        engine=Engine(str(row["engine"])),
        load=Load(
            input_tokens=whole_number(row, "input_tokens") or 0,
            output_tokens=whole_number(row, "output_tokens") or 0,
            prompts=whole_number(row, "prompts") or 0,
            concurrency=whole_number(row, "concurrency"),
            rate=number(row, "rate"),
        ),
        statistic=str(row["measured"]),
        seconds=(number(row, "milliseconds") or 0.0) / 1e3,
        output_tokens_per_second=number(row, "output_tokens_per_second") or 0.0,
        ttft_seconds=(number(row, "ttft_milliseconds") or 0.0) / 1e3,
        ttft_is_mean=row["ttft"] == "mean",
        assumed=tuple(assumed) if isinstance(assumed, list) else (),
        source=str(row["source"]),
    )


def _deployment(row: Json, configs: Path) -> Deployment:
    beside = configs / f"{row['config']}.json"
    model = load_model(str(beside) if beside.exists() else str(row["config"]))
    settings = Settings(
        kv_cache_dtype=str(row.get("kv_cache_dtype", "auto")),
        max_model_len=32768,  # the longest of the loads fits; lengths decide no time
        prefix_caching=False,
    )
    deployment = Deployment(
        model=model,
        layout=Layout(tp=whole_number(row, "tp") or 1),
        settings=settings,
        cluster=Cluster(gpu=load_gpu(str(row["gpu"])), gpus_per_node=GPUS_PER_NODE),
    )
    try:
        Shard.of(deployment, 0)
    except CatalogError:
        return _elsewhere(deployment)
    return deployment


def _elsewhere(deployment: Deployment) -> Deployment:
    """Where a quantised layout is not known: stored as on NVIDIA GPUs, and KV never binds."""
    settings = replace(
        deployment.settings,
        max_num_batched_tokens=deployment.max_num_batched_tokens,
        max_num_seqs=deployment.max_num_seqs,
    )
    nodes = replace(deployment.cluster, gpu=None)
    return replace(deployment, settings=settings, cluster=nodes)
