"""One engine serves a load, step by step, in the order of vLLM's scheduler."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass as changing
from dataclasses import field
from heapq import heappop, heappush
from typing import Final

from vllm_parallel.collectives import EngineBatch
from vllm_parallel.frozen import dataclass
from vllm_parallel.load.load import Load, Times

CONTEXT_ROUNDING: Final = 16  # tokens; caches are read in blocks, and like steps are priced once

StagePrices = Callable[[EngineBatch], tuple[float, ...]]  # seconds on each stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one engine schedules at once."""

    tokens: int  # of a step
    sequences: int  # that run
    stages: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of a load on one engine; seconds from its start."""

    requests: tuple[Times, ...]
    intervals: tuple[float, ...]  # between tokens of a request, all of them
    steps: int
    most_running: int
    waited: bool  # whether the limit of sequences kept any waiting


@changing(slots=True, eq=False)
class _Request:
    """A request on its way."""

    sent: float
    left: int  # of the prompt
    context: int = 0
    generated: int = 0
    next_step: int = 0  # the first that may decode it
    scheduled: float = -1.0
    first: float = 0.0
    last: float = 0.0


def replay(load: Load, limits: Limits, price: StagePrices) -> Served:
    """The load served by one engine: running requests first, then waiting ones, within the limits.

    Prompts are cut where the tokens of a step end. With stages, a batch is in flight on each, and
    a request is decoded again as many steps later.

    Source: vllm/v1/core/sched/scheduler.py, Scheduler.schedule;
    vllm/v1/core/sched/async_scheduler.py, AsyncScheduler (v0.32.0)

    >>> load = Load(input_tokens=4, output_tokens=3, prompts=1)
    >>> served = replay(load, Limits(tokens=2, sequences=8), lambda step: (1.0,))
    >>> served.requests
    (Times(sent=0.0, scheduled=0.0, first=2.0, last=4.0),)
    """
    engine = _Engine(load, limits, price)
    while engine.advance():
        engine.repeat()
    done = sorted(engine.done, key=lambda request: request.sent)
    times = tuple(
        Times(sent=one.sent, scheduled=one.scheduled, first=one.first, last=one.last)
        for one in done
    )
    return Served(
        requests=times,
        intervals=tuple(engine.intervals),
        steps=engine.step,
        most_running=engine.most_running,
        waited=engine.waited,
    )


@changing(slots=True, eq=False)
class _Engine:
    """Clients, the scheduler's two queues, and when each stage is free."""

    load: Load
    limits: Limits
    price: StagePrices
    step: int = 0
    unsent: int = 0  # number of the next prompt
    arriving: list[tuple[float, int]] = field(default_factory=list)
    waiting: deque[_Request] = field(default_factory=deque)
    running: list[_Request] = field(default_factory=list)
    done: list[_Request] = field(default_factory=list)
    now: float = 0.0  # when the last step was scheduled
    free: list[float] = field(default_factory=list)  # when each stage is
    ends: deque[float] = field(default_factory=deque)  # of the steps in flight
    intervals: list[float] = field(default_factory=list)
    seen: dict[EngineBatch, tuple[float, ...]] = field(default_factory=dict)
    most_running: int = 0
    waited: bool = False

    def __post_init__(self) -> None:
        self.free = [0.0] * self.limits.stages
        self.ends = deque([0.0] * self.limits.stages, maxlen=self.limits.stages)
        for _ in range(self.load.width):
            self._send(0.0)

    def advance(self) -> bool:
        """One step; false once every request is done."""
        if not self.running and not self.waiting:
            if not self.arriving:
                return False
            self.now = max(self.now, self.arriving[0][0])
        self.now = start = max(self.now, self.free[0], self.ends[0])
        while self.arriving and self.arriving[0][0] <= start:
            sent, _ = heappop(self.arriving)
            self.waiting.append(_Request(sent, self.load.input_tokens))
        finished = len(self.done)
        prompts, decodes = self._schedule(start)
        end = self._run(start, prompts, decodes)
        for request, new in prompts:
            request.left -= new
            request.context += new
            if not request.left:
                self._answer(request, end)
        for request in decodes:
            self._answer(request, end)
        if len(self.done) > finished:
            self.running = [one for one in self.running if one.generated < self.load.output_tokens]
        self.step += 1
        return True

    def repeat(self) -> None:
        """The steps that come next, as long as each decodes the same requests and ends none.

        What `advance` would do, one step at a time; here requests are only looked at where a
        context reaches its next block.
        """
        steps = self._repeatable()
        if steps < 1:
            return
        contexts = [request.context for request in self.running]
        lasts = [request.last for request in self.running]
        taken = same = 0  # steps, and how many more have the same batch
        seconds, end = 0.0, self.free[0]
        while taken < steps:
            start = max(self.now, end)
            if self.arriving and self.arriving[0][0] <= start:
                break
            if not same:
                behind = [context + taken for context in contexts]
                same = CONTEXT_ROUNDING - max(context % CONTEXT_ROUNDING for context in behind)
                (seconds,) = self._priced(EngineBatch(decode=_rounded(behind)))
            self.now, end = start, start + seconds
            self.intervals.extend([end - last for last in lasts])
            lasts = [end] * len(lasts)
            taken, same = taken + 1, same - 1
        self._repeated(taken, end)

    def _repeatable(self) -> int:
        """How many steps may be alike: until the first request ends, if nobody can join."""
        running, limits = self.running, self.limits
        if limits.stages > 1 or not running or len(running) > limits.tokens:
            return 0
        if self.waiting and len(running) < limits.sequences:
            return 0
        if any(request.left for request in running):
            return 0
        return self.load.output_tokens - 1 - max(request.generated for request in running)

    def _repeated(self, steps: int, end: float) -> None:
        """So many steps have decoded every request that runs, the last of them until `end`."""
        if not steps:
            return
        self.step += steps
        self.free[0] = end
        self.ends.append(end)
        for request in self.running:
            request.context += steps
            request.generated += steps
            request.last = end
            request.next_step = self.step

    def _schedule(self, start: float) -> tuple[list[tuple[_Request, int]], list[_Request]]:
        """Prompts with their new tokens, and requests that decode one."""
        prompts: list[tuple[_Request, int]] = []
        decodes: list[_Request] = []
        budget = self.limits.tokens
        for request in self.running:
            if not budget:
                break
            if request.left:
                prompts.append((request, min(request.left, budget)))
                budget -= prompts[-1][1]
            elif request.next_step <= self.step:
                decodes.append(request)
                budget -= 1
        while self.waiting and budget and len(self.running) < self.limits.sequences:
            request = self.waiting.popleft()
            request.scheduled = start
            self.running.append(request)
            prompts.append((request, min(request.left, budget)))
            budget -= prompts[-1][1]
        self.waited |= bool(self.waiting) and len(self.running) >= self.limits.sequences
        self.most_running = max(self.most_running, len(self.running))
        return prompts, decodes

    def _run(
        self, start: float, prompts: list[tuple[_Request, int]], decodes: list[_Request]
    ) -> float:
        """When the step has passed every stage; one without requests takes no time."""
        end = start
        if prompts or decodes:
            batch = EngineBatch(
                prefill=tuple((new, one.context) for one, new in prompts),
                decode=_rounded(one.context for one in decodes),
            )
            for stage, seconds in enumerate(self._priced(batch)):
                end = max(end, self.free[stage]) + seconds
                self.free[stage] = end
        self.ends.append(end)
        return end

    def _priced(self, batch: EngineBatch) -> tuple[float, ...]:
        found = self.seen.get(batch)
        if found is None:
            found = self.seen[batch] = self.price(batch)
        return found

    def _answer(self, request: _Request, end: float) -> None:
        """A token for a request; after its last one the client sends the next prompt."""
        if request.generated:
            self.intervals.append(end - request.last)
            request.context += 1
        else:
            request.first = end
        request.generated += 1
        request.last = end
        request.next_step = self.step + self.limits.stages
        if request.generated == self.load.output_tokens:
            self.done.append(request)
            self._send(end)

    def _send(self, now: float) -> None:
        """The next prompt, at its time or once there is room for it."""
        if self.unsent == self.load.prompts:
            return
        due = self.unsent / self.load.rate if self.load.rate else 0.0
        heappush(self.arriving, (max(now, due), self.unsent))
        self.unsent += 1


def _rounded(contexts: Iterable[int]) -> tuple[int, ...]:
    """Up to whole blocks, with the token that is decoded."""
    return tuple([(one // CONTEXT_ROUNDING + 1) * CONTEXT_ROUNDING for one in contexts])
