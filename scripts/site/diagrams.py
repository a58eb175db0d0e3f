"""The layouts of `parallelism/groups`, each with why it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from vllm_parallel import (
    Cluster,
    Deployment,
    Layout,
    Settings,
    all_groups,
    load_model,
    require,
)
from vllm_parallel.render.markdown import table
from vllm_parallel.render.placement import Placement, diagram


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One diagram: a layout, a model that vLLM starts so, and what to look at."""

    layout: Layout
    model: str
    shows: str
    settings: Settings = field(default_factory=Settings)

    @property
    def ident(self) -> str:
        """A name for the page's anchors."""
        return f"layout-{str(self.layout).replace(' ', '-')}"

    @property
    def placement(self) -> Placement:
        """What is drawn.

        Raises:
            LayoutError: vLLM refuses the layout for the model.
        """
        model = load_model(self.model, as_bf16=True)
        require(Deployment(model=model, layout=self.layout, settings=self.settings))
        return Placement(layout=self.layout, cluster=NODES, moe=model.is_moe)

    @property
    def markdown(self) -> str:
        """Heading, sentence and picture."""
        return (
            f"### {self.layout}, {self.model} {{#{self.ident}}}\n\n{self.shows}\n\n"
            f'<figure class="placement" tabindex="0" aria-label="{self.layout}">'
            f"{diagram(self.placement, self.ident)}</figure>\n"
        )


NODES: Final = Cluster(gpus_per_node=8)
EXAMPLES: Final = (
    Example(
        layout=Layout(tp=8),
        model="llama-3.1-70b",
        shows="One group of eight: every layer's weights and heads are cut eight ways.",
    ),
    Example(
        layout=Layout(tp=4, pp=2),
        model="llama-3.1-70b",
        shows="Two stages of four. Rank 0 hands its activations to rank 4, rank 1 to rank 5.",
    ),
    Example(
        layout=Layout(tp=4, dp=2),
        model="llama-3.1-70b",
        shows="A dense model: two engines that share nothing, so no group joins them.",
    ),
    Example(
        layout=Layout(tp=2, pp=2, dp=2, expert_parallel=True),
        model="qwen3-30b-a3b",
        shows="Experts span both engines of a stage. Group 0, 1, 4, 5 is not evenly spaced: the "
        "other stage's ranks lie between.",
    ),
    Example(
        layout=Layout(tp=8, dcp=2),
        model="qwen3-235b-a22b",
        shows="DCP adds no ranks. Four KV heads on eight ranks leave each head on two "
        "neighbours; they share its tokens instead. The EP group exists in every "
        "mixture-of-experts model, expert parallel or not.",
    ),
    Example(
        layout=Layout(tp=4, pcp=2, dcp=8, expert_parallel=True),
        model="deepseek-v3.2",
        shows="DCP over PCP × TP counts PCP fastest: the second rank of the group is rank 4, "
        "not rank 1. vLLM runs PCP with DCP on sparse latent attention only, "
        "with `--kv-cache-dtype fp8_ds_mla`.",
        settings=Settings(kv_cache_dtype="fp8_ds_mla"),
    ),
    Example(
        layout=Layout(tp=8, pp=2),
        model="llama-3.1-405b",
        shows="Two nodes. Only the pipeline groups leave a node, one boundary for each rank.",
    ),
)


def examples() -> str:
    """Every diagram under its own heading."""
    return "\n".join(example.markdown for example in EXAMPLES)


def crossings() -> str:
    """A table: groups of each axis that leave a node of eight, and the busiest node's members."""
    layouts = (
        Layout(tp=8, pp=2),
        Layout(tp=16),
        Layout(tp=8, dp=2, expert_parallel=True),
        Layout(tp=4, pp=2, dp=2, expert_parallel=True),
        Layout(tp=8, pcp=2, dcp=16, expert_parallel=True),
    )
    cluster = Cluster(gpus_per_node=8, nodes=2)
    rows = []
    for layout in layouts:
        for axis in Placement(layout=layout, cluster=cluster, moe=layout.expert_parallel).axes:
            groups = all_groups(layout, axis)
            leaving = [group for group in groups if group.leaves_node(cluster)]
            busiest = max(group.busiest_node_members(cluster) or 0 for group in groups)
            rows.append(
                (
                    str(layout),
                    axis.value,
                    f"{len(leaving)} of {len(groups)}",
                    f"{busiest} of {groups[0].width}",
                )
            )
    head = ("layout", "axis", "groups that leave a node", "members on the busiest node")
    return table(head, rows, right=(2, 3))
