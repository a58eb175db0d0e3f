"""Where the tokens of a KV head lie: on every rank that has it, or dealt out by DCP."""

from __future__ import annotations

from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.kv.interleave import Interleave
from vllm_parallel.render.numbers import counted
from vllm_parallel.render.svg import Picture, element

CELL: Final = 38
ROW: Final = 30
HEAD: Final = 26
GAP: Final = 14
LABEL: Final = 52
MARGIN: Final = 8
LETTERS: Final = "ABCDEFGH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealing:
    """The first tokens of one KV head on the `ranks` that have it, without DCP and with it."""

    ranks: int
    tokens: int
    run: int = 1

    def bands(self) -> tuple[Interleave, ...]:
        """Copied, dealt one token at a time, and where `run` is more, dealt so many at a time."""
        dealt = [Interleave(width=self.ranks, run=run) for run in sorted({1, self.run})]
        return (Interleave(width=1), *dealt)

    def held(self, band: Interleave, rank: int) -> list[int]:
        """The tokens on a rank."""
        return [
            token for token in range(self.tokens) if band.width == 1 or band.holder(token) == rank
        ]

    def description(self) -> str:
        """Every rank's tokens in words.

        >>> Dealing(ranks=2, tokens=4).description()
        'dcp 1: rank 0 holds 0, 1, 2, 3; rank 1 holds 0, 1, 2, 3. dcp 2, interleave 1: rank 0 \
holds 0, 2; rank 1 holds 1, 3.'
        """
        parts = []
        for band in self.bands():
            ranks = (
                f"rank {rank} holds {', '.join(map(str, self.held(band, rank)))}"
                for rank in range(self.ranks)
            )
            parts.append(f"{name(band)}: {'; '.join(ranks)}.")
        return " ".join(parts)


def name(band: Interleave) -> str:
    """What a band is launched with."""
    return "dcp 1" if band.width == 1 else f"dcp {band.width}, interleave {band.run}"


def diagram(dealing: Dealing, ident: str) -> str:
    """The picture: a band for each way, a row a rank, a column a token; free places dashed.

    >>> diagram(Dealing(ranks=2, tokens=8), "deal").count("rp-free")
    8
    """
    bands = dealing.bands()
    height = HEAD + ROW * dealing.ranks + GAP
    parts = [part for n, band in enumerate(bands) for part in _band(dealing, band, n * height)]
    picture = Picture(
        ident=ident,
        title=f"{counted(dealing.tokens, 'token')} of one KV head on {dealing.ranks} ranks",
        desc=dealing.description(),
        width=LABEL + dealing.tokens * CELL + MARGIN,
        height=height * len(bands) - GAP + 4,
    )
    return picture.drawn(parts)


def _band(dealing: Dealing, band: Interleave, top: int) -> list[str]:
    what = "every token on every rank" if band.width == 1 else "every token once"
    parts = [element("text", f"{name(band)}: {what}", x=4, y=top + 17, class_="rp-label")]
    for rank in range(dealing.ranks):
        y = top + HEAD + rank * ROW
        parts.append(element("text", f"rank {rank}", x=LABEL - 8, y=y + 20, class_="rp-axis"))
        held = dealing.held(band, rank)
        parts += [_cell(band, token, y, token in held) for token in range(dealing.tokens)]
    return parts


def _cell(band: Interleave, token: int, y: int, held: bool) -> str:  # drawn or not
    """A token by the colour and letter of the only rank that holds it, or a place that is free."""
    x, home = LABEL + token * CELL, band.holder(token)
    kind = "rp-free" if not held else "rp-cell" if band.width == 1 else f"rp-cell rp-g{home}"
    cell = element("rect", x=x + 2, y=y + 2, width=CELL - 4, height=ROW - 4, rx=3, class_=kind)
    if not held:
        return cell
    text = str(token) if band.width == 1 else f"{LETTERS[home]}{token}"
    return cell + element("text", text, x=x + CELL // 2, y=y + 20, class_="rp-seat")
