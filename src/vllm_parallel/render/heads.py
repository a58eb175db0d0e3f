"""Heads on tensor-parallel ranks: queries are cut, KV heads copied where ranks outnumber them."""

from __future__ import annotations

from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import head_ids
from vllm_parallel.render.numbers import counted, run_of
from vllm_parallel.render.placement import COLOURS, LETTERS
from vllm_parallel.render.svg import Picture, element

LEFT: Final = 64
CELL: Final = 36
ROW: Final = 28
HEAD: Final = 20
MARGIN: Final = 4
LONGEST: Final = 4  # letters that a line of a cell holds


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSplit:
    """Attention heads on `tp` ranks; with `dcp` above 1 neighbours deal a head's tokens out.

    Latent attention has one KV head, the latent. Tokens are dealt one at a time.
    """

    heads: int
    kv_heads: int
    tp: int
    dcp: int = 1

    def cached(self, rank: int) -> range:
        """The KV heads whose cache a rank keeps."""
        return head_ids(self.kv_heads, self.tp, rank)

    @property
    def copies(self) -> int:
        """Ranks that keep one KV head."""
        return max(1, self.tp // self.kv_heads)

    @property
    def copies_of_token(self) -> int:
        """Ranks that keep the KV of one head of one token.

        >>> HeadSplit(heads=64, kv_heads=4, tp=8, dcp=2).copies_of_token
        1
        """
        return self.copies // self.dcp

    def tokens(self, rank: int) -> str:
        """Which tokens a rank keeps."""
        place = rank % self.dcp
        return f"{place}, {place + self.dcp}…" if self.dcp > 1 else "all"

    def description(self) -> str:
        """Every rank in words.

        >>> HeadSplit(heads=4, kv_heads=1, tp=2).description()
        'Rank 0: query heads 0–1, KV head A, all tokens. Rank 1: query heads 2–3, KV head A, \
all tokens.'
        """
        sentences = []
        for rank in range(self.tp):
            kv = " ".join(LETTERS[head % len(LETTERS)] for head in self.cached(rank))
            sentences.append(
                f"Rank {rank}: query heads {run_of(head_ids(self.heads, self.tp, rank))}, "
                f"KV head {kv}, {self.tokens(rank)} tokens."
            )
        return " ".join(sentences)


def head_diagram(split: HeadSplit, ident: str) -> str:
    """The picture: a column a rank; the colour and letter of a KV head show who keeps a copy.

    >>> head_diagram(HeadSplit(heads=64, kv_heads=4, tp=8, dcp=2), "demo").count("<rect")
    24
    """
    rows = ("queries", "KV head", "tokens") if split.dcp > 1 else ("queries", "KV head")
    drawn = [element("text", "rank", x=LEFT - 8, y=14, class_="rp-axis")]
    drawn += [
        element("text", name, x=LEFT - 8, y=HEAD + n * ROW + 18, class_="rp-axis")
        for n, name in enumerate(rows)
    ]
    for rank in range(split.tp):
        drawn += _column(split, rank, len(rows))
    dealt = f", tokens over dcp {split.dcp}" if split.dcp > 1 else ""
    kv = counted(split.kv_heads, "KV head")
    picture = Picture(
        ident=ident,
        title=f"{split.heads} query heads and {kv} on {split.tp} tensor-parallel ranks{dealt}",
        desc=split.description(),
        width=LEFT + split.tp * CELL + MARGIN,
        height=HEAD + len(rows) * ROW + MARGIN,
    )
    return picture.drawn(drawn)


def _column(split: HeadSplit, rank: int, rows: int) -> list[str]:
    cached, left = split.cached(rank), LEFT + rank * CELL
    middle = left + CELL // 2
    letters = [LETTERS[head % len(LETTERS)] for head in cached]
    kv = letters[0] if len(letters) == 1 else f"{letters[0]}–{letters[-1]}"
    own = run_of(head_ids(split.heads, split.tp, rank))
    colour = f"rp-cell rp-g{cached[0] % COLOURS}"
    texts = [(own, "rp-cell"), (kv, colour), (split.tokens(rank).replace(",", ""), colour)][:rows]
    drawn = [element("text", str(rank), x=middle, y=14, class_="rp-rank")]
    for row, (text, kind) in enumerate(texts):
        top = HEAD + row * ROW
        drawn += [
            element("rect", x=left + 1, y=top + 1, width=CELL - 2, height=ROW - 2, class_=kind),
            *_text(text, middle, top),
        ]
    return drawn


def _text(text: str, middle: int, top: int) -> list[str]:
    """A cell's text; a run that is too long for a line breaks behind its dash.

    >>> [line.partition(">")[2] for line in _text("96–111", 0, 0)]
    ['96–</text>', '111</text>']
    """
    first, dash, last = text.partition("–")
    lines = [text] if len(text) <= LONGEST or not dash else [first + dash, last]
    heights = (18,) if len(lines) == 1 else (12, 24)
    return [
        element("text", line, x=middle, y=top + height, class_="rp-note")
        for line, height in zip(lines, heights, strict=True)
    ]
