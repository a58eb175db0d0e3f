"""Every layout of some GPUs that vLLM starts, best first, and why the others fell out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.constraints.constraint import divisors
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError, LayoutError, UnevenSplitError
from vllm_parallel.frozen import dataclass, field, replace
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Capacity
from vllm_parallel.model import ModelConfig
from vllm_parallel.outcome import Figures, Found, Goal, Outcome, Refused, ranked
from vllm_parallel.price import Pricer, Rates
from vllm_parallel.settings import Settings
from vllm_parallel.units import ceil_div
from vllm_parallel.verdict import Verdict

NOT_SIZED: Final = "not-sized"  # the rules that are this package's own
NOT_PRICED: Final = "not-priced"
CONTEXT: Final = "context-fits"


Appraisal = Callable[[Deployment, Capacity], Figures | None]  # None: no request fits
Judge = Callable[[Deployment], Verdict]


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
            step=price.slowest,
        )


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
        tried = self.tried()
        if appraise is not None:
            tried = [appraised(one, appraise) if isinstance(one, Found) else one for one in tried]
        return ranked(tried, goal)

    def tried(self, judge: Judge = Verdict.of) -> list[Found | Refused]:
        """Every layout as it was found or refused; how fast one is, is not asked.

        Raises:
            CatalogError: no layout is found, as some cannot be sized.
        """
        tried = [self._tried(layout, judge) for layout in self.layouts()]
        if not any(isinstance(one, Found) for one in tried):
            for one in tried:
                if isinstance(one, Refused) and one.rule == NOT_SIZED:
                    judge(self._deployment(one.example))  # raises why it cannot be sized
        return tried

    def _deployment(self, layout: Layout) -> Deployment:
        return Deployment(
            model=self.model, layout=layout, settings=self.settings, cluster=self.cluster
        )

    def _tried(self, layout: Layout, judge: Judge) -> Found | Refused:
        deployment, refused = self._deployment(layout), partial(Refused, count=1, example=layout)
        try:
            verdict = judge(deployment)
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
        return Found(deployment=deployment, capacity=verdict.capacity)


def appraised(found: Found, appraise: Appraisal) -> Found | Refused:
    """A layout with its speed, or why it has none."""
    refused = partial(Refused, stage=None, count=1, example=found.layout)
    try:
        figures = appraise(found.deployment, found.capacity)
    except CatalogError as error:
        return refused(rule=NOT_PRICED, message=str(error), fix="rank by capacity")
    if figures is None:
        message = "No request of the asked context fits."
        return refused(rule=CONTEXT, message=message, fix="ask for a shorter context")
    return replace(found, figures=figures)


@lru_cache(maxsize=64)
def _products(ranks: int) -> tuple[tuple[int, int, int], ...]:
    """Every tp, pp and pcp whose product divides the ranks."""
    return tuple(
        (tp, pp, pcp)
        for tp in divisors(ranks)
        for pp in divisors(ranks // tp)
        for pcp in divisors(ranks // (tp * pp))
    )
