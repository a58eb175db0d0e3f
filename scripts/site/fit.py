"""The fitted coefficients of 0.19.0 from launches, and how they do on models they have not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from launches import Launch
from scores import Score, score
from vllm_parallel import Shard
from vllm_parallel.overhead import COEFFICIENTS, CURRENT, Coefficients
from vllm_parallel.overhead.encoder import held_bytes
from vllm_parallel.overhead.graphs import graph_bytes
from vllm_parallel.overhead.peaks import (
    expert_scratch,
    forward_peak,
    sampler_peak,
    stage_buffers,
)
from vllm_parallel.term import Span

FITTED: Final = COEFFICIENTS["0.19.0"]
BARE: Final = replace(FITTED, sampler_rest=0, forward_rest=0)
Left = tuple[str, int]  # what a figure says something of, and the bytes it leaves unexplained


def refit(launches: Iterable[Launch]) -> Coefficients:
    """Coefficients that leave nothing over on average, each model counted once.

    Where no launch says anything of one, it takes its nearest kin.
    """
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for launch in launches:
        for name, left in unexplained(launch):
            found[name][launch.base_model].append(left)
    means = {name: round(fmean(map(fmean, by.values()))) for name, by in found.items()}
    sampler = means.get("sampler", 0)
    alone = means.get("alone", means.get("group", 0))
    group = means.get("group", alone)
    widths = {tp: means[f"tp{tp}"] - group for tp in (2, 4) if f"tp{tp}" in means}
    if not widths:
        raise ValueError("no launch with tp 2 or 4: nothing says what its buffers take")
    return replace(
        FITTED,
        sampler_rest=sampler,
        forward_rest=means.get("forward", sampler),
        runtime_alone=Span.exactly(alone),
        runtime_in_group=Span.exactly(group),
        communication={tp: Span.exactly(_nearest(widths, tp)) for tp in (2, 4)},
    )


def unexplained(launch: Launch) -> Iterator[Left]:
    """What each figure of a launch leaves for a coefficient."""
    layout = launch.deployment.layout
    name = f"tp{layout.tp}" if layout.tp > 1 else "group" if layout.pp > 1 else "alone"
    for stage, worker in enumerate(launch.workers):
        if worker.outside_torch is not None:
            yield name, worker.outside_torch
        if worker.peak is not None:
            yield _peak(Shard.of(launch.deployment, stage * layout.tp), worker.peak)


def graphs(launch: Launch) -> tuple[Span, int] | None:
    """The graphs of the first rank as 0.32.0's term has them, and what was captured."""
    captured, cost = launch.workers[0].captured, CURRENT.graphs
    if captured is None or cost is None:
        return None
    return graph_bytes(Shard.of(launch.deployment, 0), cost), captured


def held_out(launches: Sequence[Launch]) -> list[Score]:
    """Every launch by coefficients of the other models alone."""
    models = dict.fromkeys(launch.base_model for launch in launches)
    without = {
        model: refit(launch for launch in launches if launch.base_model != model)
        for model in models
    }
    return [score(launch, without[launch.base_model]) for launch in launches]


def _peak(shard: Shard, peak: int) -> Left:
    sampler, forward = sampler_peak(shard, BARE).likely, forward_peak(shard, BARE)
    held = expert_scratch(shard) + stage_buffers(shard) + held_bytes(shard)
    name = "sampler" if sampler > forward else "forward"
    return name, peak - held - max(sampler, forward)


def _nearest(widths: Mapping[int, int], tp: int) -> int:
    return widths[min(widths, key=lambda known: abs(known - tp))]
