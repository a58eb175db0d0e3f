"""One kind of collective call, and how often a rank makes it in a step."""

from __future__ import annotations

from enum import StrEnum

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.layout import Axis


class Kind(StrEnum):
    """What is called, by the name that torch gives it; the `v` forms take uneven counts.

    Source: vllm/distributed/device_communicators/cuda_communicator.py (v0.32.0)
    """

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    ALL_GATHERV = "all_gatherv"
    REDUCE_SCATTER = "reduce_scatter"
    REDUCE_SCATTERV = "reduce_scatterv"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    SEND = "send"
    RECV = "recv"


class Device(StrEnum):
    """Where the bytes lie: calls on the CPU synchronise, calls on the GPU carry activations."""

    GPU = "gpu"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """Equal calls of one rank in one step.

    `shape` is one call's input on the rank; of a receive, its output. `where` is the place in the
    model that calls.

    >>> call = Collective(group=Axis.TP, kind=Kind.ALL_REDUCE, shape=(8, 1024),
    ...     dtype=Dtype.BFLOAT16, where="o_proj")
    >>> call.bytes
    16384
    """

    group: Axis
    kind: Kind
    shape: tuple[int, ...]
    dtype: Dtype
    where: str
    count: int = 1
    device: Device = Device.GPU

    @property
    def bytes(self) -> int:
        """Bytes of one call: elements times their width."""
        return self.dtype.bytes_of(self.shape)

    def typed(self, dtype: Dtype | None) -> Collective:
        """The same in another dtype; None leaves it."""
        return self if dtype is None else replace(self, dtype=dtype)
