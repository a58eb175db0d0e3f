"""How a layout on several nodes is started: the settings of each node's command."""

from __future__ import annotations

from vllm_parallel.constraints import Violation
from vllm_parallel.constraints.balancing import names_no_node
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import replace
from vllm_parallel.settings import LoadBalancing, Nodes, Settings
from vllm_parallel.units import ceil_div
from vllm_parallel.verdict import Verdict


def nodes_needed(deployment: Deployment) -> int:
    """Nodes that a layout takes, 1 where nothing is known of nodes."""
    per_node = deployment.cluster.gpus_per_node
    return 1 if per_node is None else ceil_div(deployment.layout.ranks, per_node)


def node_settings(deployment: Deployment) -> tuple[Settings, ...] | Violation:
    """The settings of each node's command, the first node's first, or what vLLM says to them.

    By `--nnodes` where that starts the layout. Where ranks or engines do not fill whole nodes, by
    the engines of each node; the refusal is that of `--nnodes` where these do not fit either.

    Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=4, dp=3),
    ...     cluster=Cluster(gpus_per_node=8, nodes=2))
    >>> [node.balancing.size_local for node in node_settings(deployment)]
    [2, 1]
    """
    count, settings = nodes_needed(deployment), deployment.settings
    if count == 1:
        return (settings,)
    numbered = tuple(
        replace(settings, nodes=Nodes(nnodes=count, node_rank=number, headless=number > 0))
        for number in range(count)
    )
    refusal = first_refusal(deployment, numbered)
    if refusal is None:
        return numbered
    counted = by_engines(deployment)
    fits = counted and len(counted) <= max(count, deployment.cluster.nodes)
    return counted if fits and first_refusal(deployment, counted) is None else refusal


def verdict_on_nodes(deployment: Deployment, available_kv_bytes: int | None = None) -> Verdict:
    """The verdict on a deployment as it is started over the nodes of its cluster.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> from vllm_parallel.layout import Layout
    >>> uneven = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(pp=9),
    ...     cluster=Cluster(gpus_per_node=8, nodes=2))
    >>> verdict_on_nodes(uneven).refusal.name
    'nnodes-divide-world'
    """
    verdict = Verdict.of(deployment, available_kv_bytes)
    if verdict.accepted and deployment.cluster.nodes > 1 and names_no_node(deployment):
        nodes = node_settings(deployment)
        if isinstance(nodes, Violation):
            return Verdict(refusal=nodes, capacity=None)
    return verdict


def by_engines(deployment: Deployment) -> tuple[Settings, ...]:
    """Settings that give each node as many whole engines as it holds; none if it holds none."""
    layout, settings = deployment.layout, deployment.settings
    local = (deployment.cluster.gpus_per_node or 0) // layout.world_size
    if local == 0 or layout.dp == 1:
        return ()
    return tuple(
        replace(
            settings,
            nodes=Nodes(headless=first > 0),
            balancing=LoadBalancing(
                size_local=min(local, layout.dp - first), start_rank=first or None
            ),
        )
        for first in range(0, layout.dp, local)
    )


def first_refusal(deployment: Deployment, nodes: tuple[Settings, ...]) -> Violation | None:
    """What vLLM says to the first of these commands that it does not start."""
    verdicts = (Verdict.of(replace(deployment, settings=settings)) for settings in nodes)
    return next((verdict.refusal for verdict in verdicts if verdict.refusal is not None), None)
