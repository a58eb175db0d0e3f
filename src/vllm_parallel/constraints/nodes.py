"""Rules of nodes that workers meet: ranks fit the GPUs, engines fill whole nodes."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from vllm_parallel.constraints.balancing import counted_engines, local_engines, names_engine
from vllm_parallel.constraints.constraint import Constraint, Known, RuleRow, Stage
from vllm_parallel.deployment import Deployment


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


load_rule: RuleRow = partial(Constraint, stage=Stage.LOAD)

NODE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="dp-fits-node",
        broken=lambda d: (
            d.cluster.gpus_per_node is not None
            and d.cluster.nodes == 1
            and d.settings.nodes.nnodes == 1
            and d.settings.nodes.executor not in ("ray", "external_launcher")
            and d.settings.balancing.backend != "ray"
            and d.settings.balancing.size_local is None
            and d.settings.balancing.rank is None
            and d.layout.ranks > d.cluster.gpus_per_node
        ),
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
)
