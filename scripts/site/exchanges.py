"""What ranks exchange in a step, as tables for pages."""

from __future__ import annotations

from vllm_parallel import Cluster, Deployment, Layout, load_gpu, load_model
from vllm_parallel.collectives import Batch, Collective, Exchange, collectives
from vllm_parallel.layout import Axis
from vllm_parallel.ranks import Group
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import size, whole

HEAD = ("where", "call", "group", "calls", "bytes of each")


def exchange_tables(name: str, layout: Layout, batch: Batch, *, nodes: int = 1) -> str:
    """The calls of one rank of each stage, a table a stage."""
    cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8, nodes=nodes)
    model = load_model(name, as_bf16=True)
    deployment = Deployment(model=model, layout=layout, cluster=cluster)
    steps = collectives(deployment, batch)
    return "\n\n".join(_table(deployment, step, batch, single=len(steps) == 1) for step in steps)


def _table(deployment: Deployment, step: Exchange, batch: Batch, *, single: bool) -> str:
    stage = "" if single else f", stage {step.stage}"
    caption = (
        f"{deployment.model.name}, {deployment.layout}{stage}: one step of "
        f"{whole(batch.tokens)} tokens on a rank. Computed."
    )
    return table(HEAD, [_row(deployment, step, call) for call in step.calls], caption=caption)


def _row(deployment: Deployment, step: Exchange, call: Collective) -> list[Cell]:
    layout = deployment.layout
    group = Group.of(layout, call.group, step.stage * layout.tp * layout.pcp)
    leaves = ", leaves the node" if group.leaves_node(deployment.cluster) else ""
    device = " on the CPU" if call.device.value == "cpu" else ""
    return [
        Cell(call.where),
        Cell(f"{call.kind.value}{device}"),
        Cell(f"{call.group.value} of {group.width}{leaves}"),
        computed(whole(call.count)),
        computed(size(call.bytes)),
    ]


def example(text: str) -> Layout:
    """A layout by its short name.

    >>> str(example("tp4 dp2 ep"))
    'tp4 dp2 ep'
    """
    words = text.split()
    names = [axis.value for axis in Axis if axis is not Axis.EP]
    widths = {
        name: int(word.removeprefix(name))
        for word in words
        for name in names
        if word.startswith(name)
    }
    return Layout(**widths, expert_parallel="ep" in words)
