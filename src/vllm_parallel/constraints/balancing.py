"""What the load-balancing and node flags of one command come to.

Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)
"""

from __future__ import annotations

from vllm_parallel.deployment import Deployment


def names_no_node(d: Deployment) -> bool:
    """Whether no flag deals the ranks to nodes, so that those of a cluster may still be added."""
    nodes, balancing = d.settings.nodes, d.settings.balancing
    dealt = balancing.size_local is not None or balancing.rank is not None
    return not dealt and nodes.nnodes == 1 and nodes.executor is None and balancing.backend == "mp"


def gpus_in_reach(d: Deployment) -> int | None:
    """GPUs that the ranks may fill: of one node, or of all where `--nnodes` may be added."""
    per_node = d.cluster.gpus_per_node
    return per_node if per_node is None or not names_no_node(d) else per_node * d.cluster.nodes


def names_engine(d: Deployment) -> bool:
    """Whether the flags name one engine for an external load balancer."""
    return d.settings.balancing.external or d.settings.balancing.rank is not None


def infers_rank(d: Deployment) -> bool:
    """Whether the data-parallel rank is to come from the node's number."""
    balancing = d.settings.balancing
    wants = d.layout.dp > 1 and balancing.external and balancing.rank is None
    return d.settings.nodes.nnodes > 1 and wants


def counted_engines(d: Deployment) -> int | None:
    """Engines of this node: as given, or counted from the nodes; None if neither."""
    nodes, balancing = d.settings.nodes.nnodes, d.settings.balancing
    spread = d.layout.dp > 1 and balancing.external
    if balancing.size_local is not None or nodes <= 1 or spread or d.layout.world_size < 1:
        return balancing.size_local
    return max(d.layout.ranks // nodes // d.layout.world_size, 1)


def local_engines(d: Deployment) -> int:
    """Engines of this node as the parallel config sees them."""
    if names_engine(d):
        return 1
    counted = counted_engines(d)
    return d.layout.dp if counted is None else counted


def balanced_partly(d: Deployment) -> bool:
    """Whether each node balances over its own engines (hybrid), given or inferred."""
    balancing, engines = d.settings.balancing, counted_engines(d)
    inferred = balancing.start_rank is not None and not d.settings.nodes.headless
    if names_engine(d) or engines in (None, 1, d.layout.dp):
        return False
    return balancing.hybrid or inferred


def balanced_outside(d: Deployment) -> bool:
    """Whether a load balancer outside vLLM spreads the requests over the engines."""
    balancing = d.settings.balancing
    inferred = balancing.start_rank is not None and not d.settings.nodes.headless
    alone = (balancing.hybrid or inferred) and counted_engines(d) == 1
    return names_engine(d) or alone


def first_engine(d: Deployment) -> int:
    """The data-parallel rank that this command starts with."""
    balancing, nodes = d.settings.balancing, d.settings.nodes
    if balancing.rank is not None:
        return balancing.rank
    if balancing.start_rank is not None and counted_engines(d) is not None:
        return balancing.start_rank
    if nodes.nnodes <= 1 or d.layout.world_size < 1:
        return 0
    return nodes.node_rank * (d.layout.ranks // nodes.nnodes) // d.layout.world_size
