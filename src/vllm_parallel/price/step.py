"""The price of a step: seconds of each part on one rank, and of a pipeline of stages."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum  # `sum` rounds otherwise since Python 3.12
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import Batch, EngineBatch, refuse_unmodelled, stage_calls
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass, field
from vllm_parallel.layout import Axis
from vllm_parallel.price.links import Members, call_seconds
from vllm_parallel.price.rates import Rates
from vllm_parallel.price.reading import CacheRead, cache_reads, prompt_pairs
from vllm_parallel.price.work import Matrices, RoutedWork, StageWork
from vllm_parallel.ranks import Group

OPERATIONS: Final = 2  # a multiplication and an addition
PARTS: Final = ("weights", "kv", "compute", "collectives", "overhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPrice:
    """Seconds of one step on one rank of a stage; the parts follow each other.

    `weights` is what matrices take to arrive, `compute` the arithmetic beyond that; `overhead` is
    kernels and the host.
    """

    weights: float
    kv: float
    compute: float
    collectives: float
    overhead: float

    @property
    def total(self) -> float:
        """Seconds of the step."""
        return self.weights + self.kv + self.compute + self.collectives + self.overhead

    @property
    def bound_by(self) -> str:
        """The part that takes longest."""
        return max(PARTS, key=lambda part: getattr(self, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The prices of all stages of one step. Other batches are in flight meanwhile."""

    stages: tuple[StepPrice, ...]

    @property
    def slowest(self) -> StepPrice:
        """The stage that the others wait for."""
        return max(self.stages, key=lambda price: price.total)

    @property
    def latency(self) -> float:
        """Seconds until a token has passed every stage."""
        return fsum(price.total for price in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Pricer:
    """Prices steps of one deployment; what does not change from step to step is kept.

    The price is that of the rank the others wait for: the fullest of its stage, which has any
    spare expert, the busiest share of a prompt and the longest of a context.
    """

    deployment: Deployment
    rates: Rates
    stages: tuple[_Stage, ...]

    @classmethod
    def of(cls, deployment: Deployment, rates: Rates) -> Pricer:
        """The pricer of a deployment on GPUs with these rates.

        Raises:
            CatalogError: the deployment exchanges what is not modelled.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.catalog.rates import load_rates
        >>> from vllm_parallel.layout import Layout
        >>> tp8 = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=8))
        >>> pricer = Pricer.of(tp8, load_rates("h100-80gb"))
        >>> pricer.price(EngineBatch(decode=(4096,) * 64)).slowest.bound_by
        'weights'
        """
        refuse_unmodelled(deployment)
        stages = range(deployment.layout.pp)
        made = tuple(_Stage.of(deployment, rates, stage) for stage in stages)
        return cls(deployment=deployment, rates=rates, stages=made)

    def price(self, step: EngineBatch) -> Pipeline:
        """The price of an engine's step on every stage."""
        batch = step.share(self.deployment.layout)
        return Pipeline(stages=tuple(stage.price(step, batch) for stage in self.stages))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Tokens:
    """Seconds of a step that its tokens decide, whatever their contexts: many steps share them."""

    exchanged: float
    read: float  # matrices, until they have arrived
    arithmetic: float  # beyond that
    activations: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Stage:
    """One rank of a stage, its work, and where its groups are."""

    deployment: Deployment
    rates: Rates
    stage: int
    work: StageWork
    reads: tuple[CacheRead, ...]
    members: Mapping[Axis, Members]
    kept: dict[Batch, _Tokens] = field(default_factory=dict)

    @classmethod
    def of(cls, deployment: Deployment, rates: Rates, stage: int) -> _Stage:
        members = {axis: _members(deployment, axis, stage) for axis in Axis}
        work, reads = StageWork.of(deployment, stage), cache_reads(deployment, stage)
        return cls(deployment, rates, stage, work, reads, members)

    def price(self, step: EngineBatch, batch: Batch) -> StepPrice:
        of = self.kept.get(batch)
        if of is None:
            of = self.kept[batch] = self._of_tokens(batch)
        rates, work = self.rates, self.work
        host = rates.host_seconds.value
        if batch.tokens == 0:
            exchanged = of.exchanged * rates.gpu_factor.value
            return StepPrice(weights=0, kv=0, compute=0, collectives=exchanged, overhead=host)
        kv, pairs = self._attention(step)
        kernels = (work.layers - work.moe_layers) * rates.dense_kernels.value
        kernels += work.moe_layers * rates.moe_kernels.value
        stretched = rates.gpu_factor.value
        return StepPrice(
            weights=stretched * of.read,
            kv=stretched * kv,
            compute=stretched * (of.arithmetic + pairs + of.activations),
            collectives=stretched * of.exchanged,
            overhead=host
            + rates.host_request_seconds.value * step.requests
            + stretched * rates.kernel_seconds.value * kernels,
        )

    def _of_tokens(self, batch: Batch) -> _Tokens:
        exchanged = fsum(
            count * call_seconds(call, self.members[call.group], self.rates)
            for count, call in stage_calls(self.deployment, batch, self.stage)
        )
        read, arithmetic = self._matrices(self.work, batch)
        return _Tokens(
            exchanged=exchanged,
            read=read,
            arithmetic=arithmetic,
            activations=self._activations(self.work, batch),
        )

    def _matrices(self, work: StageWork, batch: Batch) -> tuple[float, float]:
        """Seconds that matrices take to arrive, and of arithmetic beyond that."""
        met = _tokens_at_experts(self.deployment, batch)
        costs = [(self._product(one, batch.tokens), count) for one, count in work.dense]
        costs += [(self._experts(one, met), count) for one, count in work.routed]
        if work.head is not None:
            costs.append((self._product(work.head, batch.sampled), 1))
        read = fsum(arrive * count for (arrive, _), count in costs)
        return read, fsum(beyond * count for (_, beyond), count in costs)

    def _product(self, matrices: Matrices, tokens: float) -> tuple[float, float]:
        bandwidth = self.rates.memory.value * self.rates.weight_read_share.value
        arrive = matrices.bytes / bandwidth
        operations = OPERATIONS * matrices.multiply_adds * tokens
        return arrive, max(0.0, operations / self._arithmetic(matrices) - arrive)

    def _experts(self, work: RoutedWork, tokens: int) -> tuple[float, float]:
        bandwidth = self.rates.memory.value * self.rates.weight_read_share.value
        arrive = work.touched(tokens) * work.each.bytes / bandwidth
        operations = OPERATIONS * work.each.multiply_adds * work.visits(tokens)
        beyond = max(0.0, operations / self._arithmetic(work.each) - arrive)
        stretched = self.rates.expert_factor.value
        return stretched * arrive, stretched * beyond

    def _arithmetic(self, matrices: Matrices) -> float:
        return self.rates.arithmetic_8_bit if matrices.eight_bit else self.rates.arithmetic_16_bit

    def _attention(self, step: EngineBatch) -> tuple[float, float]:
        """Seconds of the caches that decodes read, and of the pairs inside prompts."""
        layout, rates = self.deployment.layout, self.rates
        interleave = max(1, self.deployment.settings.context.interleave or 1)
        seconds, pairs = 0.0, 0.0
        for read in self.reads:
            seen = read.seen(step.decode, layout, interleave)
            moved = seen * read.token_bytes + len(step.decode) * read.fixed_bytes
            multiplied = OPERATIONS * read.multiply_adds * seen / rates.arithmetic_16_bit
            floor = rates.attention_floor_seconds.value if step.decode else 0.0
            arrive = moved / (rates.memory.value * self._kv_share)
            seconds += read.layers * (floor + max(arrive, multiplied))
            prompts = prompt_pairs(step, read, layout) if step.prefill else 0
            operations = OPERATIONS * read.pair_multiply_adds * prompts
            peak = rates.peak_16_bit.value * rates.prefill_share.value
            pairs += read.layers * operations / peak
        return seconds, pairs

    @property
    def _kv_share(self) -> float:
        one_byte = "8" in self.deployment.settings.kv_cache_dtype
        return (self.rates.kv_8_bit_read_share if one_byte else self.rates.kv_read_share).value

    def _activations(self, work: StageWork, batch: Batch) -> float:
        """What tokens themselves take to be written and read between products."""
        model, tp = self.deployment.model, self.deployment.layout.tp
        width = _mlp_width(self.deployment) / tp
        elements = batch.tokens * work.layers * (8 * model.hidden + 3 * width)
        bandwidth = self.rates.memory.value * self.rates.weight_read_share.value
        return elements * model.dtype.bytes / bandwidth


def _members(deployment: Deployment, axis: Axis, stage: int) -> Members:
    """Where the group of a stage's first rank is; on one node if nodes are unknown."""
    layout, cluster = deployment.layout, deployment.cluster
    group = Group.of(layout, axis, stage * layout.pcp * layout.tp)
    return Members(width=group.width, on_a_node=_shared(group, cluster))


def _shared(group: Group, cluster: Cluster) -> int:
    return group.busiest_node_members(cluster) or group.width


def _tokens_at_experts(deployment: Deployment, batch: Batch) -> int:
    """Tokens that meet in a layer of experts, those of all engines and context ranks."""
    return sum(batch.engines(deployment.layout)) * deployment.layout.pcp


def _mlp_width(deployment: Deployment) -> int:
    """Columns of an MLP that a token passes, the widest of the model's."""
    widths = [0]
    for kind in deployment.model.kinds:
        match kind.mlp:
            case None:
                continue
            case Experts() as experts:
                widths.append(experts.intermediate * experts.per_token)
            case dense:
                widths.append(dense.intermediate)
    return max(widths)
