"""What one rank of a stage has to do for a token: matrices to read, and caches."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.graph import ModelGraph, plain_twin
from vllm_parallel.shard import Shard
from vllm_parallel.weight import Cut, Layer, Weight

EIGHT_BIT: Final = (Dtype.FLOAT8_E4M3, Dtype.INT8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """Matrices of `bytes` that a token passes through with so many multiply-adds."""

    bytes: int
    multiply_adds: int
    eight_bit: bool = False  # the arithmetic, not only the storage


def to_power(base: float, exponent: int) -> float:
    """A power by squaring, the same everywhere: `**` asks the system's library, which rounds so.

    >>> to_power(0.5, 10) == 0.5**10, to_power(0.3, 0)
    (True, 1.0)
    """
    result = 1.0
    while exponent:
        if exponent % 2:
            result *= base
        base *= base
        exponent //= 2
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedWork:
    """The routed experts of one layer on a rank: `each` of `held` ones, `per_token` of `count`."""

    each: Matrices
    held: int
    count: int
    per_token: int

    def touched(self, tokens: int) -> float:
        """Experts on the rank that so many tokens visit, if each is as likely as the others.

        >>> each = Matrices(bytes=10, multiply_adds=5)
        >>> work = RoutedWork(each=each, held=8, count=8, per_token=2)
        >>> work.touched(0), work.touched(1)
        (0.0, 2.0)
        """
        missed = to_power(1 - self.per_token / self.count, tokens)
        return self.held * (1 - missed)

    def visits(self, tokens: float) -> float:
        """Pairs of a token and an expert on the rank."""
        return tokens * self.per_token * self.held / self.count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StageWork:
    """The work of one rank of a stage. Dense matrices and experts come with their layers."""

    dense: tuple[tuple[Matrices, int], ...]
    routed: tuple[tuple[RoutedWork, int], ...]
    head: Matrices | None
    layers: int
    moe_layers: int

    @classmethod
    def of(cls, deployment: Deployment, stage: int) -> StageWork:
        """The work of the fullest rank of a stage, its first."""
        return _stage_work(deployment, stage)


def _stage_work(deployment: Deployment, stage: int) -> StageWork:
    layout, model = deployment.layout, deployment.model
    shard = Shard.of(deployment, stage * layout.pcp * layout.tp)
    graph, plain = ModelGraph.of(model), ModelGraph.of(plain_twin(model))
    dense, routed, moe_layers = [], [], 0
    for kind, count in shard.kinds.items():
        stored, logical = graph.kinds[kind], plain.kinds[kind]
        dense.append((matrices(stored, logical, shard.cut, of_experts=False), count))
        mlp = model.kinds[kind].mlp
        if isinstance(mlp, Experts):
            moe_layers += count
            whole = matrices(stored, logical, shard.cut, of_experts=True)
            routed.append((_routed(whole, mlp, shard.cut), count))
    head = None
    if stage == layout.pp - 1:
        head = matrices(_head(graph), _head(plain), shard.cut, of_experts=False)
    return StageWork(
        dense=tuple(dense),
        routed=tuple(routed),
        head=head,
        layers=shard.stop - shard.start,
        moe_layers=moe_layers,
    )


@lru_cache(maxsize=1024)
def matrices(stored: Layer, logical: Layer, cut: Cut, *, of_experts: bool) -> Matrices:
    """The matrices of a layer, those of routed experts or all others."""
    kept = [weight for weight in stored.weights if is_expert(weight) is of_experts]
    largest = max(kept, key=lambda weight: weight.bytes(cut), default=None)
    return Matrices(
        bytes=sum(weight.bytes(cut) for weight in kept),
        multiply_adds=sum(
            _multiply_adds(weight, cut)
            for weight in logical.weights
            if is_expert(weight) is of_experts
        ),
        eight_bit=largest is not None and largest.dtype in EIGHT_BIT,
    )


def is_expert(weight: Weight) -> bool:
    """Whether a weight is of routed experts, by the name of the module that holds it.

    >>> is_expert(Weight("mlp.experts.w2_weight", (), Dtype.BFLOAT16))
    True
    """
    return ".experts." in weight.name


def _multiply_adds(weight: Weight, cut: Cut) -> int:
    """Of one token; a vector is no matrix."""
    shape = weight.shape(cut)
    return prod(shape) if len(shape) > 1 and min(shape[-2:]) > 1 else 0


def _routed(whole: Matrices, experts: Experts, cut: Cut) -> RoutedWork:
    held = cut.experts(experts.count)
    return RoutedWork(
        each=Matrices(
            bytes=whole.bytes // held,
            multiply_adds=whole.multiply_adds // held,
            eight_bit=whole.eight_bit,
        ),
        held=held,
        count=experts.count + cut.redundant_experts,
        per_token=experts.per_token,
    )


def _head(graph: ModelGraph) -> Layer:
    return graph.embedding if graph.model.tied and graph.model.quantisation is None else graph.head
