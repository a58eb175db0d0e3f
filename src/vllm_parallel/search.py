"""Every layout of some GPUs that vLLM starts, best first, and why the others fell out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import Batch, EngineBatch, collectives
from vllm_parallel.constraints.constraint import divisors
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError, LayoutError, UnevenSplitError
from vllm_parallel.frozen import dataclass, field, replace
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Capacity
from vllm_parallel.model import ModelConfig
from vllm_parallel.price import Pricer, Rates
from vllm_parallel.settings import Settings
from vllm_parallel.units import ceil_div
from vllm_parallel.verdict import Verdict

NOT_SIZED: Final = "not-sized"  # the rules that are this package's own
NOT_PRICED: Final = "not-priced"
CONTEXT: Final = "context-fits"
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

    @property
    def tokens_per_second(self) -> float:
        """Tokens that the service generates in a second.

        >>> Figures(asked=64, running=32, tpot_seconds=0.016).tokens_per_second
        2000.0
        """
        return self.running / self.tpot_seconds


Appraisal = Callable[[Deployment, Capacity], Figures | None]  # None: no request fits


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyDecode:
    """Requests of one length that all decode, dealt evenly to the engines.

    Prompts and queueing are left out, which flatters every layout, most of all pipelines. The
    batches of a pipeline are as many as its stages, and alike.
    """

    concurrency: int
    context: int
    rates: Rates

    def figures(self, deployment: Deployment, capacity: Capacity) -> Figures | None:
        """What a token takes, None if the cache holds no request of this length.

        Raises:
            CatalogError: the deployment exchanges what is not modelled.
        """
        layout, pool = deployment.layout, capacity.pool
        fits = (pool.num_blocks - 1) // pool.cache.blocks_per_request(self.context)
        if fits < 1 or self.context > pool.max_model_len:
            return None
        asked = ceil_div(self.concurrency, layout.dp)
        running = min(asked, fits, deployment.max_num_seqs)
        batches = min(layout.pp, running)
        step = EngineBatch(decode=(self.context,) * ceil_div(running, batches))
        price = Pricer.of(deployment, self.rates).price(step)
        return Figures(
            asked=self.concurrency,
            running=min(self.concurrency, running * layout.dp),
            tpot_seconds=max(price.latency, batches * price.slowest.total),
        )


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Search:
    """Layouts of a model on so many GPUs: all of them, with `fewer` also any smaller number.

    Every product of tp, pp, dp and pcp is tried with every dcp that divides tp x pcp, and where
    experts could be whole on ranks also with expert parallelism.
    """

    model: ModelConfig
    gpus: int
    cluster: Cluster
    settings: Settings = field(default_factory=Settings)
    fewer: bool = False

    def layouts(self) -> Iterator[Layout]:
        """Every layout that is tried, refused ones too.

        >>> from vllm_parallel.catalog import load_model
        >>> search = Search(model=load_model("llama-3.1-8b"), gpus=2, cluster=Cluster())
        >>> [str(layout) for layout in search.layouts()]
        ['tp1 dp2', 'tp1 pcp2', 'tp1 pcp2 dcp2', 'tp1 pp2', 'tp2', 'tp2 dcp2']
        """
        for ranks in range(1, self.gpus + 1) if self.fewer else (self.gpus,):
            for tp, pp, pcp in _products(ranks):
                dp = ranks // (tp * pp * pcp)
                for dcp in divisors(tp * pcp):
                    yield Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp)
                    if self.model.is_moe and tp * pcp * dp > 1:
                        yield Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp, expert_parallel=True)

    def run(self, goal: Goal, appraise: Appraisal | None = None) -> Outcome:
        """The layouts ranked by a goal; `appraise` says how fast one is.

        Under `tpot` those that hold all requests at once come first. Of equal ones the one with
        fewer collective calls a step comes first, then the one with fewer GPUs.

        Raises:
            CatalogError: no layout is found, as some cannot be sized.
            ValueError: a goal of time without `appraise`.

        >>> from vllm_parallel.catalog import load_gpu, load_model
        >>> cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
        >>> search = Search(model=load_model("llama-3.1-70b"), gpus=8, cluster=cluster)
        >>> outcome = search.run(Goal.CAPACITY)
        >>> str(outcome.found[0].layout), outcome.searched
        ('tp4 pp2', 50)
        >>> [(rule.rule, rule.count) for rule in outcome.refused][:1]
        [('dcp-needs-tp-above-kv-heads', 24)]
        """
        if goal.needs_rates and appraise is None:
            raise ValueError(f"goal {goal} needs an appraisal")
        tried = [self._tried(layout, appraise) for layout in self.layouts()]
        found = [one for one in tried if isinstance(one, Found)]
        refused = _counted(one for one in tried if isinstance(one, Refused))
        unsized = next((row.example for row in refused if row.rule == NOT_SIZED), None)
        if not found and unsized is not None:
            Verdict.of(self._deployment(unsized))  # raises why it cannot be sized
        return Outcome(goal=goal, found=tuple(_ranked(found, goal)), refused=refused)

    def _deployment(self, layout: Layout) -> Deployment:
        return Deployment(
            model=self.model, layout=layout, settings=self.settings, cluster=self.cluster
        )

    def _tried(self, layout: Layout, appraise: Appraisal | None) -> Found | Refused:
        deployment, refused = self._deployment(layout), partial(Refused, count=1, example=layout)
        try:
            verdict = Verdict.of(deployment)
        except (CatalogError, LayoutError, UnevenSplitError) as error:
            fix = "ask plan for it"
            return refused(rule=NOT_SIZED, stage=None, message=str(error), fix=fix)
        if verdict.refusal is not None:
            said = verdict.refusal
            return refused(
                rule=said.name, stage=said.stage.value, message=said.message, fix=said.fix
            )
        if verdict.capacity is None:
            raise ValueError("the cluster has no GPU to hold a model")
        found = Found(deployment=deployment, capacity=verdict.capacity)
        if appraise is None:
            return found
        try:
            figures = appraise(deployment, verdict.capacity)
        except CatalogError as error:
            fix = "rank by capacity"
            return refused(rule=NOT_PRICED, stage=None, message=str(error), fix=fix)
        if figures is None:
            message, fix = "No request of the asked context fits.", "ask for a shorter context"
            return refused(rule=CONTEXT, stage=None, message=message, fix=fix)
        return replace(found, figures=figures)


def _products(ranks: int) -> Iterator[tuple[int, int, int]]:
    """Every tp, pp and pcp whose product divides the ranks."""
    for tp in divisors(ranks):
        for pp in divisors(ranks // tp):
            for pcp in divisors(ranks // (tp * pp)):
                yield tp, pp, pcp


def _counted(refused: Iterable[Refused]) -> tuple[Refused, ...]:
    """One row a rule with its count and its simplest example, the most frequent first."""
    rows: dict[str, Refused] = {}
    for one in refused:
        known = rows.get(one.rule)
        simplest = one if known is None or _axes(one) < _axes(known) else known
        rows[one.rule] = replace(simplest, count=1 if known is None else known.count + 1)
    return tuple(sorted(rows.values(), key=lambda row: -row.count))


def _axes(refused: Refused) -> int:
    """Axes of the example that split anything."""
    layout = refused.example
    widths = (layout.tp, layout.pp, layout.dp, layout.pcp, layout.dcp)
    return sum(width > 1 for width in widths) + layout.expert_parallel


def _ranked(found: Iterable[Found], goal: Goal) -> Iterator[Found]:
    """The best first. Calls are counted for those alone that are otherwise equal."""

    def merit(one: Found) -> tuple[float, ...]:
        return MERITS[goal](one)

    for _, equal in groupby(sorted(found, key=merit), key=merit):
        tied = list(equal)
        yield from sorted(tied, key=lambda one: (one.calls, one.layout.ranks)) if tied[1:] else tied


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
