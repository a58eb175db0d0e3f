"""How fast a GPU is: rates, shares of them that are reached, and times of small things."""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance


class Engine(StrEnum):
    """How an engine's host works beside the GPU: one after the other, or at the same time."""

    V0 = "v0"
    V1 = "v1"
    V1_ASYNC = "v1-async"  # as v0.32.0


class Rate(NamedTuple):
    """A number that times are computed with, and where it comes from."""

    value: float
    provenance: Provenance
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Seconds of a collective by its bytes, in a straight line between what was measured.

    Below the first point it costs as much as there; beyond the last, the last slope goes on.

    >>> curve = Curve(points=((1024, 4e-6), (4096, 10e-6)), source="a sweep")
    >>> curve.seconds(512) == 4e-6, round(curve.seconds(7168) * 1e6, 3)
    (True, 16.0)
    """

    points: tuple[tuple[int, float], ...]
    source: str

    def __post_init__(self) -> None:
        """Refuse a curve that falls, or that has no slope to go on with."""
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(self.points))
        if len(self.points) < 2 or not rising:
            raise ValueError(f"{self.source}: a curve has two points or more, and rises")

    def seconds(self, size: int) -> float:
        """Seconds of a call of so many bytes."""
        first_bytes, first = self.points[0]
        if size <= first_bytes:
            return first
        place = min(bisect_left(self.points, (size,)), len(self.points) - 1)
        (low, fast), (high, slow) = self.points[place - 1], self.points[place]
        return fast + (slow - fast) * (size - low) / (high - low)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rates:
    """What times on one kind of GPU are computed with.

    `peak_16_bit` and `peak_8_bit` are dense operations a second, `memory` bytes a second.
    `all_reduce` holds a curve for each width inside a node; `network` is bytes a second of one
    GPU's way out of its node. `expert_factor` stretches what experts take, `gpu_factor` all that
    the GPU does.
    """

    gpu: str
    peak_16_bit: Rate
    peak_8_bit: Rate
    memory: Rate
    matmul_share: Rate
    shape_share: Rate
    weight_read_share: Rate
    kv_read_share: Rate
    kv_8_bit_read_share: Rate
    prefill_share: Rate
    kernel_seconds: Rate
    dense_kernels: Rate
    moe_kernels: Rate
    attention_floor_seconds: Rate
    expert_factor: Rate
    gpu_factor: Rate
    host_seconds: Rate
    host_request_seconds: Rate
    network: Rate
    network_floor_seconds: Rate
    link: Rate
    all_reduce: tuple[tuple[int, Curve], ...]

    @property
    def arithmetic_16_bit(self) -> float:
        """Operations a second that a matrix product of usual shape reaches."""
        return self.peak_16_bit.value * self.matmul_share.value * self.shape_share.value

    @property
    def arithmetic_8_bit(self) -> float:
        """The same in fp8 or int8."""
        return self.peak_8_bit.value * self.matmul_share.value * self.shape_share.value
