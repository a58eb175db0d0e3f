"""What each engine did between two readings of `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.engine.metrics.notes import missing, pools
from vllm_parallel.engine.metrics.snapshot import COUNTERS, GAUGES, EngineMetrics, Snapshot
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass

SAME_START: Final = 1.0  # seconds: counters of one engine are made one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChange:
    """One engine: what its counters gained, and how it stood at the second reading.

    A gain is None where a reading lacks the counter, and after a restart: then nobody knows it.
    """

    engine: int
    restarted: bool
    preemptions: int | None
    generation_tokens: int | None
    prompt_tokens: int | None
    after: EngineMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsChange:
    """Every engine of the second reading, and what looked odd in the two."""

    engines: tuple[EngineChange, ...]
    notes: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether every engine ran from the first reading to the second."""
        return not any(one.restarted for one in self.engines)

    @classmethod
    def of(cls, before: Snapshot, after: Snapshot) -> MetricsChange:
        """What changed from one reading to the next.

        Raises:
            ParseError: readings of two models.

        >>> early = EngineMetrics(engine=0, preemptions=3)
        >>> late = EngineMetrics(engine=0, preemptions=25)
        >>> first, second = (
        ...     Snapshot(place=name, engines=(one,), notes=())
        ...     for name, one in (("before.prom", early), ("after.prom", late))
        ... )
        >>> MetricsChange.of(first, second).engines[0].preemptions
        22
        """
        earlier = {one.engine: one for one in before.engines}
        changes, notes = [], [*before.notes, *after.notes]
        for late in after.engines:
            early = earlier.pop(late.engine, None)
            said = list(_restarts(before, early, after, late))
            notes += said
            changes.append(_change(early, late, restarted=bool(said)))
            notes += missing(before.place, early, COUNTERS)
            notes += missing(after.place, late, {**COUNTERS, **GAUGES})
        for number in earlier:
            notes.append(f"{after.place} has no engine {number}, which {before.place} has")
        notes += pools(after)
        return cls(engines=tuple(changes), notes=tuple(dict.fromkeys(notes)))


def _change(early: EngineMetrics | None, late: EngineMetrics, *, restarted: bool) -> EngineChange:
    gains = {}
    for name in COUNTERS:
        start, end = getattr(early, name, None), getattr(late, name)
        gains[name] = None if restarted or None in (start, end) else end - start
    return EngineChange(engine=late.engine, restarted=restarted, after=late, **gains)


def _restarts(
    before: Snapshot, early: EngineMetrics | None, after: Snapshot, late: EngineMetrics
) -> Iterator[str]:
    """Why the two readings of an engine are not of one start, in words."""
    engine = f"engine {late.engine}"
    if early is None:
        yield f"{before.place} has no {engine}, which {after.place} has: another start"
        return
    if None not in (early.model, late.model) and early.model != late.model:
        problem = f"is of {shortened(late.model)}, {before.place} of {shortened(early.model)}"
        raise ParseError(place=after.place, problem=problem, fix="give two readings of one server")
    same = _same_start(early, late)
    if same is False:
        yield f"{after.place} {engine} began at another time: a restart between the readings"
        return
    for name, (metric, *_) in COUNTERS.items():
        start, end = getattr(early, name), getattr(late, name)
        if None not in (start, end) and end < start:
            why = "the readings are swapped" if same else "a restart, or readings that are swapped"
            yield f"{after.place} {engine} {metric} went back from {start} to {end}: {why}"
            return


def _same_start(early: EngineMetrics, late: EngineMetrics) -> bool | None:
    """Whether both are of one start of the engine; None where a reading does not say."""
    if early.began is None or late.began is None:
        return None
    return abs(early.began - late.began) < SAME_START
