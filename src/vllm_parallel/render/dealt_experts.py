"""Whole experts dealt to the ranks of an expert-parallel group, some with one more than others."""

from __future__ import annotations

from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import expert_ids
from vllm_parallel.render.numbers import counted
from vllm_parallel.render.svg import Picture, element
from vllm_parallel.units import ceil_div

WIDTH: Final = 360
LEFT: Final = 40
RIGHT: Final = 50
ROW: Final = 24
HEAD: Final = 18
WIDEST: Final = 30
NUMBER_NEEDS: Final = 18  # pixels of an expert that shows its number


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtExperts:
    """`count` experts of a layer on `width` ranks, as `--expert-placement-strategy` deals them."""

    count: int
    width: int
    round_robin: bool = False

    def of_rank(self, rank: int) -> range:
        """The experts of a rank."""
        return expert_ids(self.count, self.width, rank, round_robin=self.round_robin)

    @property
    def least(self) -> int:
        """Experts of the ranks that have fewest."""
        return self.count // self.width

    @property
    def spare(self) -> int:
        """Ranks that have one more; they are the first."""
        return self.count % self.width

    def description(self) -> str:
        """Every rank in words.

        >>> DealtExperts(count=5, width=2).description()
        'EP rank 0: experts 0–2 (3). EP rank 1: experts 3–4 (2).'
        """
        sentences = []
        for rank in range(self.width):
            held = self.of_rank(rank)
            run = ", ".join(map(str, held)) if self.round_robin else _run(held)
            sentences.append(f"EP rank {rank}: experts {run or 'none'} ({len(held)}).")
        return " ".join(sentences)


def expert_diagram(dealt: DealtExperts, ident: str) -> str:
    """The picture: a row a rank, a cell an expert, the one more set off and counted apart.

    >>> expert_diagram(DealtExperts(count=5, width=2), "demo").count("<rect")
    5
    """
    most = ceil_div(dealt.count, dealt.width)
    cell = min(WIDEST, (WIDTH - LEFT - RIGHT) // max(1, most))
    drawn = [
        element("text", "EP rank", x=0, y=11, class_="rp-label"),
        element("text", "experts", x=WIDTH, y=11, class_="rp-axis"),
    ]
    for rank in range(dealt.width):
        drawn += _row(dealt, rank, cell)
    order = "dealt round robin" if dealt.round_robin else "in runs"
    picture = Picture(
        ident=ident,
        title=f"{counted(dealt.count, 'expert')} on {counted(dealt.width, 'rank')}, {order}",
        desc=dealt.description(),
        width=WIDTH,
        height=HEAD + dealt.width * ROW,
    )
    return picture.drawn(drawn)


def _row(dealt: DealtExperts, rank: int, cell: int) -> list[str]:
    held, top = dealt.of_rank(rank), HEAD + rank * ROW
    drawn = [element("text", str(rank), x=LEFT - 10, y=top + 15, class_="rp-axis")]
    for place, expert in enumerate(held):
        one_more = place >= dealt.least
        kind = f"rp-cell rp-g{int(one_more)}"
        left = LEFT + place * cell
        drawn.append(element("rect", x=left, y=top, width=cell, height=ROW - 4, class_=kind))
        if cell >= NUMBER_NEEDS:
            middle = left + cell // 2
            drawn.append(element("text", str(expert), x=middle, y=top + 14, class_="rp-note"))
    more = len(held) - dealt.least
    count = f"{dealt.least} + {more}" if more else str(dealt.least)
    return [*drawn, element("text", count, x=WIDTH, y=top + 15, class_="rp-axis")]


def _run(held: range) -> str:
    if len(held) < 2:
        return "".join(map(str, held))
    return f"{held[0]}–{held[-1]}"
