"""What a search comes to: layouts that start, what refuses the others, and the order by a goal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Final

from vllm_parallel.collectives import Batch, collectives
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Capacity
from vllm_parallel.price.step import StepPrice

UNCOUNTED: Final = 2**62  # exchanges that are not modelled come after all that are


class Goal(StrEnum):
    """What the layouts are ranked by."""

    TPOT = "tpot"
    THROUGHPUT = "throughput"
    LONGEST_REQUEST = "longest-request"
    CAPACITY = "capacity"

    @property
    def needs_rates(self) -> bool:
        """Whether it is a matter of time, so that the GPU's rates have to be known."""
        return self in (Goal.TPOT, Goal.THROUGHPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How fast a layout is: `running` of the `asked` requests decode at once."""

    asked: int
    running: int
    tpot_seconds: float
    step: StepPrice | None = None  # of the slowest stage

    @property
    def tokens_per_second(self) -> float:
        """Tokens that the service generates in a second.

        >>> Figures(asked=64, running=32, tpot_seconds=0.016).tokens_per_second
        2000.0
        """
        return self.running / self.tpot_seconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Found:
    """A layout that vLLM starts, what it holds, and how fast it is where that was asked."""

    deployment: Deployment
    capacity: Capacity
    figures: Figures | None = None

    @property
    def layout(self) -> Layout:
        """How many ways it splits the model."""
        return self.deployment.layout

    @property
    def longest_request(self) -> int:
        """Tokens of the longest request that a pool holds, whatever `--max-model-len` is."""
        return self.capacity.pool.longest_request

    @property
    def tokens_per_second_per_gpu(self) -> float:
        """Throughput of a GPU, 0 where speed was not asked."""
        return self.figures.tokens_per_second / self.layout.ranks if self.figures else 0.0

    @property
    def calls(self) -> int:
        """Collective calls of a decode step, over all stages."""
        try:
            exchanges = collectives(self.deployment, Batch.decode(1))
        except CatalogError:
            return UNCOUNTED
        return sum(call.count for exchange in exchanges for call in exchange.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The layouts that one rule refuses: how many, and what it says of the simplest.

    `stage` is vLLM's, None where it is this package that cannot size or price them.
    """

    rule: str
    stage: str | None
    count: int
    example: Layout
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Outcome:
    """What a search found, best first, and what fell out, the most frequent rule first."""

    goal: Goal
    found: tuple[Found, ...]
    refused: tuple[Refused, ...]

    @property
    def searched(self) -> int:
        """Layouts that were tried."""
        return len(self.found) + sum(rule.count for rule in self.refused)


def ranked(
    tried: Iterable[Found | Refused],
    goal: Goal,
    calls: Callable[[Found], int] = attrgetter("calls"),
) -> Outcome:
    """What was tried, by a goal; `calls` may remember how many there are."""
    tried = tuple(tried)
    found = _ranked((one for one in tried if isinstance(one, Found)), goal, calls)
    refused = _counted(one for one in tried if isinstance(one, Refused))
    return Outcome(goal=goal, found=tuple(found), refused=refused)


def _counted(refused: Iterable[Refused]) -> tuple[Refused, ...]:
    """One row a rule with its count and its simplest example, the most frequent first."""
    rows: dict[str, list[Refused]] = {}
    for one in refused:
        rows.setdefault(one.rule, []).append(one)
    counted = (replace(min(alike, key=_axes), count=len(alike)) for alike in rows.values())
    return tuple(sorted(counted, key=lambda row: -row.count))


def _axes(refused: Refused) -> int:
    """Axes of the example that split anything."""
    layout = refused.example
    widths = (layout.tp, layout.pp, layout.dp, layout.pcp, layout.dcp)
    return sum(width > 1 for width in widths) + layout.expert_parallel


def _ranked(found: Iterable[Found], goal: Goal, calls: Callable[[Found], int]) -> Iterator[Found]:
    """The best first. Calls are counted for those alone that are otherwise equal."""
    merits = [(MERITS[goal](one), number, one) for number, one in enumerate(found)]
    for _, equal in groupby(sorted(merits), key=lambda row: row[0]):
        tied = [one for _, _, one in equal]
        if tied[1:]:
            tied.sort(key=lambda one: (calls(one), one.layout.ranks))
        yield from tied


def _tpot(one: Found) -> tuple[float, ...]:
    """Seconds of a token, after whether all requests run at once: waiting is no speed."""
    if one.figures is None:
        raise ValueError("a layout without figures cannot be ranked by time")
    return one.figures.running < one.figures.asked, one.figures.tpot_seconds


MERITS: Final[Mapping[Goal, Callable[[Found], tuple[float, ...]]]] = {
    Goal.TPOT: _tpot,
    Goal.THROUGHPUT: lambda one: (-one.tokens_per_second_per_gpu,),
    Goal.LONGEST_REQUEST: lambda one: (-one.longest_request, -one.capacity.tokens),
    Goal.CAPACITY: lambda one: (-one.capacity.tokens, -one.longest_request),
}
