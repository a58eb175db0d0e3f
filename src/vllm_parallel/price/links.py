"""Seconds of a collective, by its kind, its width and where its members are."""

from __future__ import annotations

from bisect import bisect_left

from vllm_parallel.collectives import Collective, Device, Kind
from vllm_parallel.frozen import dataclass
from vllm_parallel.price.rates import Rates
from vllm_parallel.units import ceil_div

GATHERS = (Kind.ALL_GATHER, Kind.ALL_GATHERV)


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Where a group's members are: its width, and how many share the node with most of them."""

    width: int
    on_a_node: int

    @property
    def nodes(self) -> int:
        """Nodes that the group reaches."""
        return ceil_div(self.width, self.on_a_node)


def call_seconds(call: Collective, members: Members, rates: Rates) -> float:
    """Seconds of one call: inside the node by what was measured, between nodes by bandwidth.

    A gather or a scatter is half an all-reduce of the whole message, which is those two in a row.
    Calls on the CPU run beside the GPU's work and cost it nothing.

    >>> from vllm_parallel.catalog.rates import load_rates
    >>> from vllm_parallel.dtype import Dtype
    >>> from vllm_parallel.layout import Axis
    >>> call = Collective(group=Axis.TP, kind=Kind.ALL_REDUCE, shape=(64, 8192),
    ...     dtype=Dtype.BFLOAT16, where="o_proj")
    >>> call_seconds(call, Members(width=8, on_a_node=8), load_rates("h100-80gb"))
    1.4e-05
    """
    if call.device is Device.CPU or members.width == 1:
        return 0.0
    whole = call.bytes * (members.width if call.kind in GATHERS else 1)
    if call.kind in (Kind.SEND, Kind.RECV, Kind.BROADCAST):
        return _point_to_point(call.bytes, members, rates)
    inside = _inside(whole, members.on_a_node, rates)
    floor = _inside(0, members.on_a_node, rates)
    seconds = inside if call.kind is Kind.ALL_REDUCE else max(floor, inside / 2)
    return seconds + _between(call, whole, members, rates)


def _inside(size: int, width: int, rates: Rates) -> float:
    """An all-reduce among the members on one node, by the next wider measured width."""
    if width == 1:
        return 0.0
    widths = [known for known, _ in rates.all_reduce]
    curve = rates.all_reduce[min(bisect_left(widths, width), len(widths) - 1)][1]
    return curve.seconds(size)


def _between(call: Collective, whole: int, members: Members, rates: Rates) -> float:
    """What crosses to other nodes: every node's share, over the ways out of its members."""
    nodes = members.nodes
    if nodes == 1:
        return 0.0
    rounds = 2 if call.kind is Kind.ALL_REDUCE else 1
    crossing = rounds * whole * (nodes - 1) / nodes
    bandwidth = rates.network.value * members.on_a_node
    return rounds * rates.network_floor_seconds.value + crossing / bandwidth


def _point_to_point(size: int, members: Members, rates: Rates) -> float:
    """A send, a receive or a broadcast: one way, over the link between neighbours."""
    if members.nodes > 1:
        return rates.network_floor_seconds.value + size / rates.network.value
    return _inside(0, 2, rates) + size / rates.link.value
