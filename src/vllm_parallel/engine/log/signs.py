"""Symptoms that a start shows: in a line, in why it failed, in its load and its workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.engine.log.drafts import Start
from vllm_parallel.engine.log.nouns import Load, Refusal, Sign

FULL: Final = 0.95  # usage of a pool that holds requests back
UNBALANCED: Final = 1.5  # times the mean of the others
BUSY: Final = 8  # requests below which engines differ by chance
LINES_TO_COMPARE: Final = 2


def signs_of(start: Start, refusal: Refusal | None) -> tuple[Sign, ...]:
    """Every symptom once; of a failed start first the one that tells the cause."""
    found: list[Sign] = []
    if refusal is not None:
        text = refusal.sentence[:200]
        found.append(Sign(symptom=refusal.symptom, line=refusal.line, text=text))
    rest = [*start.signs, *_of_load(start)]
    if refusal is not None or start.ready:
        rest = [sign for sign in rest if sign.symptom != "start-failed" or start.crashed]
    for sign in rest:
        if all(sign.symptom != known.symptom for known in found):
            found.append(sign)
    return tuple(found)


def _of_load(start: Start) -> Iterator[Sign]:
    """What the lines of statistics show."""
    loads = list(start.stats)
    preempted = sum(load.preemptions or 0 for load in loads)
    if preempted:
        yield Sign(
            symptom="preemptions", line=0, text=f"{preempted} preemptions in the stats lines"
        )
    held = [load for load in loads if load.waiting and load.kv_cache_usage >= FULL]
    cap = start.args.get("max_num_seqs")
    capped = [load for load in loads if load.waiting and load.running == cap]
    if capped and not held:
        said = f"{max(load.waiting for load in capped)} requests wait while {cap} run, the most"
        yield Sign(symptom="requests-wait", line=0, text=f"{said} that --max-num-seqs allows")
    if held:
        worst = max(held, key=lambda load: load.waiting)
        said = f"{worst.waiting} requests wait at {worst.kv_cache_usage:.1%} of the pool"
        yield Sign(symptom="requests-wait", line=0, text=said)
    yield from _of_balance(loads)


def _of_balance(loads: list[Load]) -> Iterator[Sign]:
    """Engines whose load differs clearly, on average over their lines."""
    by_engine: dict[int, list[int]] = {}
    for load in loads:
        if load.engine is not None:
            by_engine.setdefault(load.engine, []).append(load.running + load.waiting)
    means = {engine: sum(counts) / len(counts) for engine, counts in by_engine.items()}
    if len(means) < LINES_TO_COMPARE:
        return
    most, least = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    others = (sum(means.values()) - means[most]) / (len(means) - 1)
    if means[most] >= BUSY and means[most] >= UNBALANCED * others:
        said = f"engine {most} has {means[most]:.0f} requests on average, engine {least}"
        yield Sign(symptom="engines-unbalanced", line=0, text=f"{said} {means[least]:.0f}")
