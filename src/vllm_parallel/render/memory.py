"""Memory bars: what a rank's GPU holds, and where the budget ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel.cluster import Gpu
from vllm_parallel.frozen import dataclass
from vllm_parallel.ledger import LOADED, Budget
from vllm_parallel.render.numbers import bare_gib, to
from vllm_parallel.render.svg import Picture, box, element, short
from vllm_parallel.term import Span

WIDTH: Final = 420
TOP: Final = 22  # of the first bar's label, below the name of the budget's end
LABEL, BAR, GAP = 18, 34, 16
WORDS_NEED: Final = 12  # pixels of a part that shows its letter
FIGURE_NEEDS: Final = 17  # pixels of one that shows its figure
PARTS: Final = (
    ("W", "weights and buffers"),
    ("O", "overhead"),
    ("K", "KV cache"),
    ("B", "beyond the budget"),
)
ASSUMED: Final = ("O", "K")  # they rest on the overhead


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBar:
    """One GPU: what it is called, and what its memory goes to, in bytes.

    The overhead has a range; what it does not take is left to the KV cache.
    """

    label: str
    weights: int
    overhead: Span
    budget: int
    total: int

    @classmethod
    def of(cls, budget: Budget, gpu: Gpu, label: str) -> MemoryBar:
        """The bar of a rank under its budget."""
        loaded = sum(term.bytes for term in budget.ledger.terms if term.name in LOADED)
        return cls(
            label=label,
            weights=loaded,
            overhead=budget.ledger.overhead,
            budget=budget.requested_bytes,
            total=gpu.runtime_memory_bytes,
        )

    @property
    def parts(self) -> tuple[int, ...]:
        """Bytes of each of `PARTS`, end to end the whole memory.

        >>> span = Span(least=1, likely=2, most=4)
        >>> MemoryBar(label="", weights=5, overhead=span, budget=9, total=10).parts
        (5, 2, 2, 1)
        """
        left = max(0, self.budget - self.weights - self.overhead.likely)
        beyond = max(0, self.total - self.weights - self.overhead.likely - left)
        return (self.weights, self.overhead.likely, left, beyond)

    @property
    def longest(self) -> int:
        """Bytes that the picture needs room for: the GPU, or more where it overflows."""
        return max(sum(self.parts), self.weights + self.overhead.most)

    def in_words(self) -> str:
        """The bar as a sentence."""
        amounts = zip(PARTS, self.parts, strict=True)
        parts = ", ".join(f"{name} {bare_gib(amount)}" for (_, name), amount in amounts)
        least, most = bare_gib(self.overhead.least), bare_gib(self.overhead.most)
        return f"{self.label}: {parts} GiB; overhead {to(least, most)}."


def memory_bars(bars: Sequence[MemoryBar], ident: str, title: str) -> str:
    """The picture of bars, all to one scale: a letter and GiB in each part, the end of the budget.

    The line below a bar spans where its overhead may end.

    >>> from vllm_parallel.units import GIB
    >>> span = Span(least=GIB, likely=2 * GIB, most=3 * GIB)
    >>> bar = MemoryBar(label="tp2", weights=20 * GIB, overhead=span, budget=72 * GIB,
    ...     total=80 * GIB)
    >>> memory_bars([bar], "demo", "One GPU").count("rp-cell")
    8
    """
    scale = (WIDTH - 2) / max(bar.longest for bar in bars)
    drawn, top = [], TOP
    for bar in bars:
        drawn += _bar(bar, top, scale)
        top += LABEL + BAR + GAP
    drawn += _end_of_budget(bars[0], scale, top - GAP + 4)
    drawn += _legend(top)
    picture = Picture(
        ident=ident,
        title=title,
        desc=" ".join(bar.in_words() for bar in bars),
        width=WIDTH,
        height=top + 40,
    )
    return picture.drawn(drawn)


def _bar(bar: MemoryBar, top: int, scale: float) -> list[str]:
    drawn = [element("text", bar.label, x=1, y=top + 12, class_="rp-label")]
    y, left = top + LABEL, 1.0
    for number, ((letter, _), amount) in enumerate(zip(PARTS, bar.parts, strict=True)):
        length = amount * scale
        drawn.append(box((left, y, length, BAR), number))
        middle = short(left + length / 2)
        if length >= WORDS_NEED:
            drawn.append(element("text", letter, x=middle, y=y + 15, class_="rp-seat"))
        if length >= FIGURE_NEEDS:
            kind = "rp-place rp-assumed" if letter in ASSUMED else "rp-place"
            drawn.append(element("text", bare_gib(amount), x=middle, y=y + 28, class_=kind))
        left += length
    ends = [1 + (bar.weights + end) * scale for end in (bar.overhead.least, bar.overhead.most)]
    span = element(
        "rect", x=short(ends[0]), y=y + BAR + 3, width=short(ends[1] - ends[0]), height=3,
        class_="rp-range",
    )  # fmt: skip
    return [*drawn, span]


def _end_of_budget(bar: MemoryBar, scale: float, bottom: int) -> list[str]:
    """A line through all bars, and what it stands for."""
    x = short(1 + bar.budget * scale)
    text = f"budget {bare_gib(bar.budget)} of {bare_gib(bar.total)} GiB"
    return [
        element("line", x1=x, y1=TOP - 6, x2=x, y2=bottom, class_="rp-mark"),
        element("text", text, x=x, y=TOP - 10, class_="rp-axis"),
    ]


def _legend(top: int) -> list[str]:
    """Two rows of two."""
    drawn = []
    for number, (letter, name) in enumerate(PARTS):
        left, y = 1 + number % 2 * WIDTH // 2, top + number // 2 * 20
        drawn.append(box((left, y, 14, 14), number))
        drawn.append(element("text", letter, x=left + 7, y=y + 11, class_="rp-place"))
        drawn.append(element("text", name, x=left + 20, y=y + 11, class_="rp-label"))
    return drawn
