"""One start of a log while it is read: pools and workers that lines fill in, bounded in number."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vllm_parallel.engine.log.failures import Failures
from vllm_parallel.engine.log.nouns import Asked, EnginePool, Load, Sign, Worker
from vllm_parallel.engine.log.records import Record

Writer = tuple[str | None, int | None, int]
ENGINE: Final = re.compile(r"EngineCore(?:_DP|_)?(?P<number>\d{1,6})?(?:_|$)")
PLACED: Final = re.compile(r"_(?:DP|PP|PCP|TP|DCP|EP)\d|[ _](?:TP|PP|rank=)\d")
ACTOR: Final = "EngineCoreActor"
MOST: Final = 4096  # workers, engines and names of one start
STATS_KEPT: Final = 20_000
NOTES_KEPT: Final = 100
SIGNS_KEPT: Final = 100


@dataclass(slots=True)
class PoolDraft:
    """The figures of a pool as they come; `tokens` the least of those printed."""

    engine: int
    device: str
    tokens: list[int] = field(default_factory=list)
    length: int | None = None
    times: list[float] = field(default_factory=list)
    blocks: int | None = None


@dataclass(slots=True)
class Start:
    """What one start has said so far."""

    version: str | None = None
    model: str | None = None
    args: dict[str, object] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    layer_split: tuple[int, ...] | None = None
    ready: bool = False
    engine_pids: dict[int, int | None] = field(default_factory=dict)
    actors: dict[tuple[str | None, int | None], int] = field(default_factory=dict)
    pools: dict[int, PoolDraft] = field(default_factory=dict)
    workers: dict[Writer, dict[str, float | int]] = field(default_factory=dict)
    names: dict[Writer, str] = field(default_factory=dict)
    stats: deque[Load] = field(default_factory=lambda: deque(maxlen=STATS_KEPT))
    stats_seen: int = 0
    signs: list[Sign] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)
    crashed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing but a banner and options has been said."""
        said = (self.pools, self.workers, self.engine_pids, self.failures.raised, self.stats)
        return not (any(said) or self.ready)

    def note(self, line: int, text: str) -> None:
        """Keep a remark about a line, while there is room."""
        said = f"line {line}: {text}" if line else text
        if len(self.notes) < NOTES_KEPT and said not in self.notes:
            self.notes.append(said)

    def sign(self, symptom: str, record: Record) -> None:
        """Keep the first line that shows a symptom."""
        known = any(one.symptom == symptom for one in self.signs)
        if not known and len(self.signs) < SIGNS_KEPT:
            text = record.text[:200]
            self.signs.append(Sign(symptom=symptom, line=record.number, text=text))

    def name(self, record: Record) -> None:
        """Remember what a process calls itself: `Worker` until its groups exist."""
        if record.name is None or record.pid is None:
            return
        writer = (record.host, record.pid, 0)
        known = self.names.get(writer)
        if known == record.name or (known and PLACED.search(known)):
            return
        if known is None and len(self.names) >= MOST:
            return
        self.names[writer] = record.name

    def set(self, record: Record, **figures: float | int) -> None:
        """Give a worker figures; one without a pid is a new worker for each figure it has twice."""
        number = 0
        if record.pid is None:
            while _clash(self.workers.get((None, None, number), {}), figures):
                number += 1
        writer = (record.host, record.pid, number)
        if writer not in self.workers:
            if len(self.workers) >= MOST:
                self.note(
                    record.number, f"more than {MOST} workers; those that follow are left out"
                )
                return
            self.workers[writer] = {}
            if record.name is not None:
                self.names.setdefault(writer, record.name)
        kept = self.workers[writer]
        for name, figure in figures.items():
            if _rounds(kept.get(name), figure):
                continue
            if name == "weight_gib" and kept.get(name, figure) != figure:
                said = f"{self.names.get(writer, 'a worker')} loads again: {figure} GiB after"
                self.note(record.number, f"{said} {kept[name]} GiB; the later is kept")
            kept[name] = figure

    def engine(self, record: Record) -> int:
        """The engine that a record is from; actors of Ray name no number, so they are counted."""
        if not (record.name or "").endswith(ACTOR):
            return engine_of(record.name)
        if record.writer not in self.actors and len(self.actors) < MOST:
            self.actors[record.writer] = len(self.actors)
            if len(self.actors) > 1:
                self.note(0, "Ray's engines print no number: they have that of their first line")
        return self.actors.get(record.writer, MOST)

    def pool(self, record: Record, device: str) -> PoolDraft | None:
        """The pool of the engine that a record is from."""
        engine = self.engine(record)
        if engine not in self.pools:
            if len(self.pools) >= MOST:
                self.note(
                    record.number, f"more than {MOST} engines; those that follow are left out"
                )
                return None
            self.pools[engine] = PoolDraft(engine=engine, device=device)
        return self.pools[engine]

    def asked(self) -> Asked:
        """The command and config that were printed."""
        return Asked(model=self.model, args=self.args, config=self.config)

    def finished_workers(self) -> tuple[Worker, ...]:
        """The workers that printed a figure, in the order of their first."""
        return tuple(
            Worker(name=self.names.get(writer), pid=writer[1], **figures)  # type: ignore[arg-type]  # named as the fields
            for writer, figures in self.workers.items()
        )

    def finished_pools(self) -> tuple[EnginePool, ...]:
        """The pools by engine; one that was printed once for each worker is the least of them."""
        return tuple(
            EnginePool(
                engine=draft.engine,
                kv_tokens=min(draft.tokens),
                max_model_len=draft.length,
                max_concurrency=min(draft.times) if draft.times else None,
                device=draft.device,
                blocks=draft.blocks,
            )
            for _, draft in sorted(self.pools.items())
            if draft.tokens
        )


def _clash(kept: Mapping[str, float], figures: Mapping[str, float]) -> bool:
    """Whether a worker has printed such a figure, and not the same one with more digits."""
    return any(name in kept and not _rounds(kept[name], figures[name]) for name in figures)


def _rounds(kept: float | None, figure: float) -> bool:
    """Whether a figure is one that is kept, with two decimals: lines differ in their digits."""
    return kept is not None and kept != figure == round(kept, 2)


def engine_of(name: str | None) -> int:
    """The engine's number in the name of its process; 0 where there is none.

    >>> engine_of("EngineCore_DP1_PP0"), engine_of("EngineCore"), engine_of(None)
    (1, 0, 0)
    """
    found = ENGINE.match(name or "")
    return int(found["number"] or 0) if found else 0
