"""Rules of nodes that workers meet: ranks fit the GPUs, engines fill whole nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

from vllm_parallel.constraints.balancing import (
    counted_engines,
    gpus_in_reach,
    local_engines,
    names_engine,
)
from vllm_parallel.constraints.constraint import Constraint, Known, load_rule
from vllm_parallel.deployment import Deployment
from vllm_parallel.units import ceil_div


class NodeGroups(NamedTuple):
    """Groups of nodes, and the engines that each runs."""

    groups: int
    local: int


def node_groups(d: Deployment) -> int:
    """Groups of nodes that each run `--data-parallel-size-local` engines."""
    local = counted_engines(d)
    return d.layout.dp // local if local else 1


def node_groups_uneven(d: Deployment) -> bool:
    """Whether the nodes cannot be dealt to the groups; an external balancer does not deal."""
    groups = node_groups(d)
    return not names_engine(d) and groups > 0 and d.settings.nodes.nnodes % groups != 0


def nodes_of_replica(d: Deployment) -> int:
    """Nodes that a replica spans by the flags; 1 where they do not deal it to nodes."""
    nodes = d.settings.nodes
    if nodes.nnodes == 1 or nodes.executor == "external_launcher":
        return 1
    engines = local_engines(d)
    groups = d.layout.dp // engines if engines > 0 else 0
    return max(nodes.nnodes // groups, 1) if groups > 0 else 1


def ranks_outgrow_nodes(d: Deployment) -> bool:
    """Whether a node is given more ranks than it has GPUs, its engines left uncounted."""
    nodes, balancing, reach = d.settings.nodes, d.settings.balancing, gpus_in_reach(d)
    elsewhere = nodes.executor in ("ray", "external_launcher") or balancing.backend == "ray"
    counted = balancing.size_local is not None or balancing.rank is not None
    if reach is None or elsewhere or counted:
        return False
    return ceil_div(d.layout.ranks, max(nodes.nnodes, 1)) > reach


class Spread(NamedTuple):
    """A replica over nodes: how many nodes, and the engines of one."""

    nodes: int
    local: int


def spread(d: Deployment) -> Spread:
    """The replica's nodes and engines, for sentences."""
    return Spread(nodes_of_replica(d), local_engines(d))


NODE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="dp-fits-node",
        broken=ranks_outgrow_nodes,
        says="DP adjusted local rank {cluster.gpus_per_node} is out of bounds for "
        "{cluster.gpus_per_node} devices.",
        fix="use at most {cluster.gpus_per_node} for tp x pp x pcp x dp on one node",
        source="vllm/v1/worker/gpu_worker.py, init_device",
        known=Known.READ,
    ),
    load_rule(
        name="nodes-divide-by-engines",
        broken=lambda d: d.settings.nodes.nnodes > 1 and node_groups_uneven(d),
        says="Invalid data parallel configuration: nnodes ({settings.nodes.nnodes}) must be "
        "divisible by the number of data parallel node groups ({options.groups} = "
        "data_parallel_size {layout.dp} / data_parallel_size_local {options.local})",
        options=lambda d: NodeGroups(node_groups(d), local_engines(d)),
        fix="use a --data-parallel-size-local that fills whole nodes",
        source="vllm/config/parallel.py, nnodes_within_dp",
        known=Known.READ,
    ),
    load_rule(
        name="nodes-have-engines",
        broken=lambda d: (
            d.settings.nodes.nnodes > 1 and not names_engine(d) and counted_engines(d) == 0
        ),
        says="integer division or modulo by zero",
        fix="give --data-parallel-size-local the engines of this node",
        source="vllm/config/parallel.py, nnodes_within_dp",
        known=Known.RAISED,
    ),
    load_rule(
        name="dense-replica-spans-nodes",
        broken=lambda d: not d.model.is_moe and d.layout.dp > 1 and nodes_of_replica(d) > 1,
        says="With --data-parallel-size {layout.dp} a replica of a dense model cannot span "
        "{options.nodes} nodes by --nnodes: each first node opens a world of {layout.world_size} "
        "ranks at the one master address, the others wait there for one of {layout.ranks}, and "
        "the start times out.",
        options=spread,
        fix="start {layout.dp} servers without --data-parallel-size behind a load balancer, each "
        "with --nnodes {options.nodes} over nodes of its own",
        source="vllm/v1/engine/core.py, run_engine_core; vllm/entrypoints/cli/serve.py, "
        "run_headless",
        known=Known.RAISED,
        bare=True,
    ),
    load_rule(
        name="spread-replicas-share-nodes",
        broken=lambda d: local_engines(d) > 1 and nodes_of_replica(d) > 1,
        says="{options.local} replicas cannot share the same {options.nodes} nodes: a node after "
        "the first starts the ranks of one replica only, and the others wait until the start "
        "times out.",
        options=spread,
        fix="drop --data-parallel-size-local",
        source="vllm/entrypoints/cli/serve.py, run_headless",
        known=Known.RAISED,
        bare=True,
    ),
)
