"""Whether the commands of a layout on several nodes start it."""

from __future__ import annotations

from vllm_parallel.constraints import Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import replace
from vllm_parallel.settings import Nodes
from vllm_parallel.units import ceil_div
from vllm_parallel.verdict import Verdict


def nodes_needed(deployment: Deployment) -> int:
    """Nodes that a layout takes, 1 where nothing is known of nodes."""
    per_node = deployment.cluster.gpus_per_node
    return 1 if per_node is None else ceil_div(deployment.layout.ranks, per_node)


def refused_start(deployment: Deployment) -> Violation | None:
    """What vLLM says to `--nnodes` where it does not start what the layout alone would.

    Ranks that do not fill whole nodes, or engines that end in the middle of one.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=4, dp=3),
    ...     cluster=Cluster(gpus_per_node=8, nodes=2))
    >>> refused_start(deployment).name
    'nodes-divide-by-engines'
    """
    count = nodes_needed(deployment)
    if count == 1:
        return None
    for number in range(count):
        nodes = Nodes(nnodes=count, node_rank=number, headless=number > 0)
        settings = replace(deployment.settings, nodes=nodes)
        refusal = Verdict.of(replace(deployment, settings=settings)).refusal
        if refusal is not None:
            return refusal
    return None
