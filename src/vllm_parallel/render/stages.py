"""Pipeline stages as bars: which layers each has, which ends of the model, and their weights."""

from __future__ import annotations

from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.graph import ModelGraph
from vllm_parallel.ledger import stage_shards
from vllm_parallel.render.numbers import counted, gib
from vllm_parallel.render.placement import COLOURS, LETTERS
from vllm_parallel.render.svg import Picture, element

WIDTH: Final = 360
LEFT: Final = 60
BAR: Final = 276  # of the stage with most layers, and room for its ends
END: Final = 22
ROW: Final = 50
HEIGHT: Final = 22
ENDS: Final = {"embedding": "E", "head": "H"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageBar:
    """One stage: its layers, its ends of the model, and the weights of one of its ranks."""

    layers: range
    ends: tuple[str, ...]
    weight_bytes: int

    def line(self) -> str:
        """The stage in words.

        >>> StageBar(layers=range(0, 23), ends=("embedding",), weight_bytes=2**30).line()
        '23 layers, 0–22, embedding: 1.00 GiB a rank'
        """
        first, last = self.layers[0], self.layers[-1]
        held = ", ".join([f"{len(self.layers)} layers, {first}–{last}", *self.ends])
        return f"{held}: {gib(self.weight_bytes)} a rank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The stages of a deployment, none of them empty."""

    name: str
    bars: tuple[StageBar, ...]

    @classmethod
    def of(cls, deployment: Deployment) -> Stages:
        """The stages of a deployment.

        >>> from vllm_parallel import Layout, load_model
        >>> stages = Stages.of(Deployment(model=load_model("deepseek-r1"), layout=Layout(pp=4)))
        >>> [len(bar.layers) for bar in stages.bars]
        [15, 15, 16, 15]
        """
        graph, last = ModelGraph.of(deployment.built), deployment.layout.pp - 1
        bars = []
        for stage, shard in enumerate(stage_shards(deployment)):
            held = {end.name for end in graph.ends(first=stage == 0, last=stage == last)}
            bars.append(
                StageBar(
                    layers=range(shard.start, shard.stop),
                    ends=tuple(name for name in ENDS if name in held),
                    weight_bytes=shard.weight_bytes,
                )
            )
        return cls(name=f"{deployment.model.name}, {deployment.layout}", bars=tuple(bars))

    def description(self) -> str:
        """Every stage in words."""
        return " ".join(f"Stage {n}: {bar.line()}." for n, bar in enumerate(self.bars))


def stage_diagram(stages: Stages, ident: str) -> str:
    """The picture: a bar a stage, as long as its layers, an E or H where it has an end."""
    most = max(len(bar.layers) for bar in stages.bars)
    scale = (BAR - END * len(ENDS)) / most
    drawn = []
    for number, bar in enumerate(stages.bars):
        drawn += _bar(bar, number, scale)
    picture = Picture(
        ident=ident,
        title=f"{stages.name}: {counted(len(stages.bars), 'stage')}",
        desc=stages.description(),
        width=WIDTH,
        height=len(stages.bars) * ROW,
    )
    return picture.drawn(drawn)


def _bar(bar: StageBar, number: int, scale: float) -> list[str]:
    """A stage: name, the ends around its layers, and the line below."""
    top = number * ROW + 2
    letter = LETTERS[number % len(LETTERS)]
    length = len(bar.layers) * scale
    kind = f"rp-cell rp-g{number % COLOURS}"
    drawn = [
        element("text", f"stage {number}", x=0, y=top + 15, class_="rp-name"),
        element(
            "rect", x=LEFT + END, y=top, width=f"{length:.1f}", height=HEIGHT, class_=kind
        ),
        element(
            "text", f"{letter}: {len(bar.layers)}", x=f"{LEFT + END + length / 2:.1f}",
            y=top + 15, class_="rp-seat",
        ),
        element("text", bar.line(), x=0, y=top + 37, class_="rp-label"),
    ]  # fmt: skip
    for name in bar.ends:
        left = LEFT if name == "embedding" else LEFT + END + length
        drawn += [
            element(
                "rect", x=f"{left:.1f}", y=top, width=END, height=HEIGHT, class_="rp-cell rp-g7"
            ),
            element("text", ENDS[name], x=f"{left + END / 2:.1f}", y=top + 15, class_="rp-seat"),
        ]
    return drawn
