"""How a prompt is dealt to prefill-context ranks: one chunk from each end for each of them."""

from __future__ import annotations

from typing import Final

from vllm_parallel.collectives.batch import chunk_pair
from vllm_parallel.frozen import dataclass
from vllm_parallel.render.numbers import counted, run_of, whole
from vllm_parallel.render.placement import COLOURS, LETTERS
from vllm_parallel.render.svg import Picture, element

WIDTH: Final = 360  # of the picture, and of the whole prompt in it
STRIP: Final = 22
ROW: Final = 58
TOP: Final = 18
LETTER_NEEDS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPairs:
    """A prompt without cached tokens, on `pcp` ranks."""

    tokens: int
    pcp: int

    def pair(self, rank: int) -> tuple[range, range]:
        """The two chunks of a rank."""
        return chunk_pair(self.tokens, self.pcp, rank)

    def own(self, rank: int) -> int:
        """Tokens that a rank computes."""
        return sum(map(len, self.pair(rank)))

    def scores(self, rank: int) -> int:
        """Pairs of a query and a key that a rank's attention weighs: each token sees all before.

        >>> [ChunkPairs(tokens=8, pcp=2).scores(rank) for rank in (0, 1)]
        [18, 18]
        """
        return sum(_seen(chunk) for chunk in self.pair(rank))

    def share(self, rank: int) -> float:
        """A rank's part of all these pairs."""
        return self.scores(rank) / _seen(range(self.tokens))

    @property
    def last_run(self) -> float:
        """The part of the last rank, were the prompt cut into as many runs as there are ranks."""
        start = self.tokens - self.tokens // self.pcp
        return _seen(range(start, self.tokens)) / _seen(range(self.tokens))

    def line(self, rank: int) -> str:
        """A rank's chunks in words.

        >>> ChunkPairs(tokens=30, pcp=4).line(0)
        'tokens 0–3 and 28–29: 6 tokens, 14.8 % of attention'
        """
        runs = " and ".join(run_of(chunk) for chunk in self.pair(rank) if chunk)
        share = f"{self.share(rank):.1%}".replace("%", " %")
        return f"tokens {runs or 'none'}: {counted(self.own(rank), 'token')}, {share} of attention"

    def description(self) -> str:
        """Every rank in words."""
        return " ".join(f"Rank {rank}: {self.line(rank)}." for rank in range(self.pcp))


def chunk_diagram(pairs: ChunkPairs, ident: str) -> str:
    """The picture: the prompt in its chunks, then each rank's two.

    >>> chunk_diagram(ChunkPairs(tokens=30, pcp=4), "demo").count("<rect")
    20
    """
    prompt = f"the prompt, {whole(pairs.tokens)} tokens in {2 * pairs.pcp} chunks"
    drawn = [element("text", prompt, x=0, y=12, class_="rp-label")]
    for rank in range(pairs.pcp):
        drawn += _chunks(pairs, rank, TOP)
    for rank in range(pairs.pcp):
        top = TOP + STRIP + 14 + rank * ROW
        name = f"rank {rank}, {LETTERS[rank % len(LETTERS)]}"
        drawn.append(element("text", name, x=0, y=top + 12, class_="rp-name"))
        drawn.append(
            element("rect", x=0, y=top + 18, width=WIDTH, height=STRIP - 8, class_="rp-node")
        )
        drawn += _chunks(pairs, rank, top + 18, height=STRIP - 8)
        drawn.append(element("text", pairs.line(rank), x=0, y=top + 46, class_="rp-label"))
    picture = Picture(
        ident=ident,
        title=f"A prompt of {whole(pairs.tokens)} tokens on {pairs.pcp} prefill-context ranks",
        desc=pairs.description(),
        width=WIDTH,
        height=TOP + STRIP + 14 + pairs.pcp * ROW,
    )
    return picture.drawn(drawn)


def _chunks(pairs: ChunkPairs, rank: int, top: int, *, height: int = STRIP) -> list[str]:
    """A rank's chunks where they lie in the prompt."""
    scale = WIDTH / pairs.tokens
    drawn = []
    for chunk in filter(None, pairs.pair(rank)):
        left, length = chunk.start * scale, len(chunk) * scale
        kind = f"rp-cell rp-g{rank % COLOURS}"
        drawn.append(
            element(
                "rect", x=f"{left:.1f}", y=top, width=f"{length:.1f}", height=height, class_=kind
            )
        )
        if length >= LETTER_NEEDS:
            letter, middle = LETTERS[rank % len(LETTERS)], f"{left + length / 2:.1f}"
            drawn.append(
                element("text", letter, x=middle, y=top + height // 2 + 4, class_="rp-note")
            )
    return drawn


def _seen(tokens: range) -> int:
    """Keys that these tokens see, themselves included."""
    return sum(token + 1 for token in tokens)
