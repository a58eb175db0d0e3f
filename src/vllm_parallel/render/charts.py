"""Charts of times: stacked bars, and lines over sizes. Each colour has a letter beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.render.svg import Picture, box, element, short

WIDTH: Final = 420  # of every chart: it fits a phone, and its text stays legible there
HEIGHT: Final = 300  # of lines
LEFT, RIGHT, TOP, BOTTOM = 54, 26, 26, 24  # beside them
LABEL: Final = 78
BAR: Final = 20
GAP: Final = 14
ROOM: Final = 44  # for the sum behind a bar
LEGEND: Final = 22
LETTER_NEEDS: Final = 13  # pixels of a part that shows its letter
DASHES: Final = ("none", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: what it is called, and its parts in the chart's order."""

    label: str
    parts: tuple[float, ...]

    @property
    def total(self) -> float:
        """The length of the bar."""
        return sum(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Groups of stacked bars, in milliseconds; `parts` names what is stacked."""

    parts: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]

    @property
    def longest(self) -> float:
        """The longest bar."""
        return max(bar.total for _, bars in self.groups for bar in bars)

    def description(self) -> str:
        """Every bar in words.

        >>> bars = Bars(parts=("a", "b"), groups=(("one", (Bar(label="x", parts=(1, 2)),)),))
        >>> bars.description()
        'one: x 3.0 ms (a 1.0, b 2.0).'
        """
        sentences = []
        for name, bars in self.groups:
            texts = []
            for bar in bars:
                parts = zip(self.parts, bar.parts, strict=True)
                inner = ", ".join(f"{part} {value:.1f}" for part, value in parts)
                texts.append(f"{bar.label} {bar.total:.1f} ms ({inner})")
            sentences.append(f"{name}: {'; '.join(texts)}.")
        return " ".join(sentences)


def stacked(bars: Bars, ident: str, title: str) -> str:
    """The picture of stacked bars: a row a bar, a legend below.

    >>> bars = Bars(parts=("a",), groups=(("one", (Bar(label="x", parts=(1.0,)),)),))
    >>> stacked(bars, "demo", "One bar").count("<rect")
    2
    """
    scale = (WIDTH - LABEL - ROOM) / bars.longest
    drawn, top = [], 4
    for name, group in bars.groups:
        drawn.append(element("text", name, x=0, y=top + 12, class_="rp-label"))
        top += 18
        for bar in group:
            drawn += _bar(bar, bars.parts, (top, scale))
            top += BAR + 3
        top += GAP
    height = top + LEGEND
    drawn += _legend(bars.parts, top + 2)
    picture = Picture(ident=ident, title=title, desc=bars.description(), width=WIDTH, height=height)
    return picture.drawn(drawn)


def _bar(bar: Bar, names: Sequence[str], place: tuple[int, float]) -> list[str]:
    top, scale = place
    drawn = [element("text", bar.label, x=LABEL - 6, y=top + 14, class_="rp-axis")]
    left = float(LABEL)
    for number, (name, value) in enumerate(zip(names, bar.parts, strict=True)):
        length = value * scale
        if length:
            drawn.append(box((left, top, length, BAR), number))
        if length >= LETTER_NEEDS:
            letter = name[0].upper()
            middle = short(left + length / 2)
            drawn.append(element("text", letter, x=middle, y=top + 14, class_="rp-place"))
        left += length
    text = f"{bar.total:.1f}"
    drawn.append(element("text", text, x=short(left + 5), y=top + 14, class_="rp-label"))
    return drawn


def _legend(names: Sequence[str], top: int) -> list[str]:
    drawn = []
    step = WIDTH / len(names)
    for number, name in enumerate(names):
        left = number * step
        drawn.append(box((left, top, 14, 14), number))
        letter = element("text", name[0].upper(), x=short(left + 7), y=top + 11, class_="rp-place")
        label = element("text", name, x=short(left + 18), y=top + 11, class_="rp-label")
        drawn += [letter, label]
    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Lines over sizes, both axes by powers of ten; ticks are values with their labels."""

    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, str], ...] = ()  # sizes worth a line of their own

    def place(self, size: float, value: float) -> tuple[float, float]:
        """Where a point is drawn."""
        x = _share(size, self.across) * (WIDTH - LEFT - RIGHT) + LEFT
        y = HEIGHT - BOTTOM - _share(value, self.up) * (HEIGHT - TOP - BOTTOM)
        return x, y

    def description(self) -> str:
        """Where each line starts and ends, and the marks."""
        ends = [
            f"{name}: from {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in self.lines
        ]
        marks = [f"marked {text}" for _, text in self.marks]
        return "; ".join(ends + marks) + "."


def curves(chart: Curves, ident: str, title: str) -> str:
    """The picture of lines, each dashed in its own way.

    >>> chart = Curves(lines=(("tp2", ((1.0, 1.0), (10.0, 5.0))),), across=((1, "1"), (10, "10")),
    ...     up=((1, "1"), (10, "10")))
    >>> curves(chart, "demo", "One line").count("<polyline")
    2
    """
    drawn = _grid(chart)
    for number, (_, points) in enumerate(chart.lines):
        places = [chart.place(*point) for point in points]
        joined = " ".join(f"{short(x)},{short(y)}" for x, y in places)
        dashes = DASHES[number % len(DASHES)]
        drawn.append(element("polyline", points=joined, class_="rp-line", stroke_dasharray=dashes))
    drawn += _names(chart)
    picture = Picture(
        ident=ident, title=title, desc=chart.description(), width=WIDTH, height=HEIGHT
    )
    return picture.drawn(drawn)


def _grid(chart: Curves) -> list[str]:
    """The ticks of both axes, and the marked sizes."""
    drawn = []
    for size, text in chart.across:
        x = short(chart.place(size, 1)[0])
        drawn.append(_line((x, str(HEIGHT - BOTTOM), x, str(TOP)), "rp-grid"))
        drawn.append(element("text", text, x=x, y=HEIGHT - 8, class_="rp-place"))
    for value, text in chart.up:
        y = chart.place(chart.across[0][0], value)[1]
        drawn.append(_line((str(LEFT), short(y), str(WIDTH - RIGHT), short(y)), "rp-grid"))
        drawn.append(element("text", text, x=LEFT - 6, y=short(y + 4), class_="rp-axis"))
    for size, text in chart.marks:
        x = short(chart.place(size, 1)[0])
        drawn.append(_line((x, str(HEIGHT - BOTTOM), x, str(TOP)), "rp-mark"))
        drawn.append(element("text", text, x=x, y=TOP - 8, class_="rp-place"))
    return drawn


def _names(chart: Curves) -> list[str]:
    """The lines' names, each behind a piece of its dashes."""
    drawn = []
    for number, (name, _) in enumerate(chart.lines):
        left, y = LEFT + 10, TOP + 20 + 18 * number
        piece = f"{left},{y} {left + 34},{y}"
        dashes = DASHES[number % len(DASHES)]
        drawn.append(element("polyline", points=piece, class_="rp-line", stroke_dasharray=dashes))
        drawn.append(element("text", name, x=left + 40, y=y + 4, class_="rp-label"))
    return drawn


def _line(place: tuple[str, str, str, str], kind: str) -> str:
    x1, y1, x2, y2 = place
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _share(value: float, ticks: Sequence[tuple[float, str]]) -> float:
    """How far along an axis a value lies, by powers of ten."""
    low, high = log10(ticks[0][0]), log10(ticks[-1][0])
    return (log10(value) - low) / (high - low)
