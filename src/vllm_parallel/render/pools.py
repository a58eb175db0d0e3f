"""KV pools: how many there are, what each holds, and which ranks keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.ledger import Capacity
from vllm_parallel.render.numbers import counted, ranks, whole
from vllm_parallel.render.svg import Picture, element, short

WIDTH: Final = 420
LABEL, BOX, BELOW, GAP = 18, 40, 16, 14
APART: Final = 6  # pixels between the pools of a layout
COLOURS: Final = 8
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """The pools of one layout: tokens of each, and the ranks that keep it."""

    label: str
    tokens: int
    keepers: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, deployment: Deployment, capacity: Capacity) -> Pools:
        """The pools of a deployment: an engine each, of consecutive ranks."""
        world = deployment.layout.world_size
        first = range(0, capacity.engines * world, world)
        return cls(
            label=str(deployment.layout),
            tokens=capacity.pool.tokens,
            keepers=tuple(tuple(range(start, start + world)) for start in first),
        )

    def in_words(self) -> str:
        """The pools as a sentence.

        >>> Pools(label="tp2 dp2", tokens=1000, keepers=((0, 1), (2, 3))).in_words()
        'tp2 dp2: 2 pools of 1,000 tokens, kept by ranks 0, 1; 2, 3.'
        """
        kept = "; ".join(ranks(keeper) for keeper in self.keepers)
        pools = counted(len(self.keepers), "pool")
        return f"{self.label}: {pools} of {whole(self.tokens)} tokens, kept by ranks {kept}."


def pools(layouts: Sequence[Pools], ident: str, title: str) -> str:
    """The picture of pools, a row a layout, their widths by the tokens that they hold.

    >>> both = Pools(label="tp2 dp2", tokens=1000, keepers=((0, 1), (2, 3)))
    >>> pools([both], "demo", "Two pools").count("<rect")
    2
    """
    most = max(layout.tokens * len(layout.keepers) for layout in layouts)
    apart = APART * max(len(layout.keepers) - 1 for layout in layouts)
    scale = (WIDTH - 2 - apart) / most
    drawn, top = [], 2
    for layout in layouts:
        drawn += _row(layout, top, scale)
        top += LABEL + BOX + BELOW + GAP
    picture = Picture(
        ident=ident,
        title=title,
        desc=" ".join(layout.in_words() for layout in layouts),
        width=WIDTH,
        height=top - GAP + 4,
    )
    return picture.drawn(drawn)


def _row(layout: Pools, top: int, scale: float) -> list[str]:
    drawn = [element("text", layout.label, x=1, y=top + 12, class_="rp-label")]
    y, left, length = top + LABEL, 1.0, layout.tokens * scale
    for number, keeper in enumerate(layout.keepers):
        middle = short(left + length / 2)
        name = f"pool {LETTERS[number % len(LETTERS)]}"
        box = element(
            "rect", x=short(left), y=y, width=short(length), height=BOX, rx=3,
            class_=f"rp-cell rp-g{number % COLOURS}",
        )  # fmt: skip
        drawn += [box, element("text", name, x=middle, y=y + 17, class_="rp-seat")]
        tokens = whole(layout.tokens)
        drawn.append(element("text", tokens, x=middle, y=y + 33, class_="rp-seat rp-assumed"))
        text = f"ranks {ranks(keeper)}"
        drawn.append(element("text", text, x=middle, y=y + BOX + 12, class_="rp-place"))
        left += length + APART
    return drawn
