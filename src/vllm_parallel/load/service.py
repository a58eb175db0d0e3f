"""A deployment under a load: what each engine can run, and what the service comes to."""

from __future__ import annotations

from statistics import fmean, median

from vllm_parallel.collectives import EngineBatch
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.ledger import Pool, available_on
from vllm_parallel.load.load import Bound, Load, Times
from vllm_parallel.load.replay import Limits, Served, replay
from vllm_parallel.price import Pricer, Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePrice:
    """What a load comes to; seconds, and tokens a second of the whole service.

    `ttft` counts from when a request was sent, `ttft_unqueued` from when it was first scheduled.
    `interval` is the median time between two tokens of a request: in most loads a step of decodes.
    """

    tpot: float
    tpot_median: float
    interval: float
    ttft: float
    ttft_median: float
    ttft_unqueued: float
    output_tokens_per_second: float
    gpus: int
    bound: Bound
    most_running: int  # of all engines

    @property
    def output_per_gpu(self) -> float:
        """Output tokens a second, of one GPU."""
        return self.output_tokens_per_second / self.gpus


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service:
    """A deployment whose steps are priced, and its pool; without a pool KV never binds."""

    pricer: Pricer
    pool: Pool | None = None

    @classmethod
    def of(cls, deployment: Deployment, rates: Rates) -> Service:
        """The service on its GPUs, with the pool that their memory leaves.

        Raises:
            CatalogError: the deployment exchanges what is not modelled.

        >>> from vllm_parallel.catalog import load_gpu, load_model
        >>> from vllm_parallel.catalog.rates import load_rates
        >>> from vllm_parallel.cluster import Cluster
        >>> from vllm_parallel.layout import Layout
        >>> tp8 = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=8),
        ...     cluster=Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8))
        >>> load = Load(input_tokens=2048, output_tokens=32, prompts=16, concurrency=16)
        >>> Service.of(tp8, load_rates("h100-80gb")).price(load).bound.value
        'clients'
        """
        gpu = deployment.cluster.gpu
        pool = None if gpu is None else Pool.of(deployment, available_on(deployment, gpu))
        return cls(pricer=Pricer.of(deployment, rates), pool=pool)

    def fitting(self, load: Load) -> int | None:
        """Requests of this length that fit into an engine's pool; None without a pool."""
        if self.pool is None:
            return None
        each = self.pool.cache.blocks_per_request(load.input_tokens + load.output_tokens)
        return (self.pool.num_blocks - 1) // each  # one block is never used

    def price(self, load: Load) -> ServicePrice:
        """What the load comes to.

        Raises:
            ValueError: not one request fits.
        """
        deployment = self.pricer.deployment
        fitting = self.fitting(load)
        if fitting == 0:
            raise ValueError(f"{load}: the pool does not hold one request")
        sequences = deployment.max_num_seqs
        limits = Limits(
            tokens=deployment.max_num_batched_tokens,
            sequences=sequences if fitting is None else min(sequences, fitting),
            stages=deployment.layout.pp,
        )
        shares = load.shares(deployment.layout.dp)
        replayed = {share: replay(share, limits, self._stages) for share in set(shares)}
        served = [replayed[share] for share in shares]  # most engines get the same
        return _summed(load, served, self._bound(served, limits))

    def _stages(self, step: EngineBatch) -> tuple[float, ...]:
        return tuple(stage.total for stage in self.pricer.price(step).stages)

    def _bound(self, served: list[Served], limits: Limits) -> tuple[Bound, int]:
        """What binds, and GPUs of the service."""
        deployment = self.pricer.deployment
        bound = Bound.CLIENTS
        if any(one.waited for one in served):
            binds = limits.sequences < deployment.max_num_seqs
            bound = Bound.KV if binds else Bound.SEQUENCES
        return bound, deployment.layout.ranks


def _summed(load: Load, served: list[Served], limits: tuple[Bound, int]) -> ServicePrice:
    """All engines together."""
    requests: list[Times] = [times for one in served for times in one.requests]
    tpots = [times.per_output_token(load.output_tokens) for times in requests]
    intervals = [gap for one in served for gap in one.intervals]
    seconds = max(times.last for times in requests)
    return ServicePrice(
        tpot=fmean(tpots),
        tpot_median=median(tpots),
        interval=median(intervals) if intervals else 0.0,
        ttft=fmean(times.first - times.sent for times in requests),
        ttft_median=median(times.first - times.sent for times in requests),
        ttft_unqueued=fmean(times.first - times.scheduled for times in requests),
        output_tokens_per_second=len(requests) * load.output_tokens / seconds,
        gpus=limits[1],
        bound=limits[0],
        most_running=sum(one.most_running for one in served),
    )
