"""Charts of measured sweeps: a line a layout, a letter at each point, the trials' reach as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.render.charts import BOTTOM, DASHES, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Curves
from vllm_parallel.render.svg import Picture, element, short

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LINE: Final = 18  # pixels of a name below the chart
COLOURS: Final = 8
STEPS: Final = (1, 2, 5)  # ticks of every power of ten


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A median, and the least and the most of its trials; `says` names it in words."""

    across: float
    up: float
    least: float
    most: float
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The points of one layout, in the order of the load."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Traces on two axes by powers of ten, which have names with their units."""

    traces: tuple[Trace, ...]
    across: str
    up: str

    def description(self) -> str:
        """Every point in words."""
        texts = []
        for trace in self.traces:
            points = "; ".join(
                f"{point.says}: {_said(point.up)} ({_said(point.least)} to {_said(point.most)})"
                for point in trace.points
            )
            texts.append(f"{trace.name}: {points}.")
        return f"{self.up} over {self.across}. {' '.join(texts)}"

    def axes(self) -> Curves:
        """The empty axes: round ticks from below the least to above the most."""
        points = [point for trace in self.traces for point in trace.points]
        across = ticks([point.across for point in points])
        up = ticks([value for point in points for value in (point.least, point.most)])
        return Curves(lines=(), across=across, up=up)


def ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Round numbers around some values, at least two, each with its label.

    >>> [text for _, text in ticks([3.0, 40.0])], [text for _, text in ticks([1.0])]
    (['2', '5', '10', '20', '50'], ['0.5', '1', '2'])
    """
    low, high = min(values), max(values)
    powers = range(floor(log10(low)) - 1, floor(log10(high)) + 2)
    steps = [step * 10.0**power for power in powers for step in STEPS]
    if low == high:  # one value alone stands in the middle
        low, high = low * 0.999, high * 1.001
    first = max((step for step in steps if step <= low * 1.0001), default=steps[0])
    last = min((step for step in steps if step >= high * 0.9999), default=steps[-1])
    shown = [step for step in steps if first <= step <= last * 1.0001]
    return tuple((step, _said(step)) for step in shown)


def sweep(chart: Chart, ident: str, title: str) -> str:
    """The picture of a chart; the layouts' letters are explained below it.

    >>> points = (Point(across=1.0, up=20.0, least=19.0, most=21.0, says="concurrency 1"),)
    >>> chart = Chart(traces=(Trace(name="tp2", points=points),), across="a", up="b")
    >>> sweep(chart, "demo", "One point").count("<circle")
    2
    """
    axes = chart.axes()
    drawn = list(_grid(chart, axes))
    for number, trace in enumerate(chart.traces):
        drawn += _trace(axes, trace, number)
    top = HEIGHT + 22
    for number, trace in enumerate(chart.traces):
        drawn += _letter((LEFT, top + LINE * number), number)
        text = element(
            "text", trace.name, x=LEFT + 14, y=top + LINE * number + 4, class_="rp-label"
        )
        drawn.append(text)
    height = top + LINE * len(chart.traces)
    picture = Picture(
        ident=ident, title=title, desc=chart.description(), width=WIDTH, height=height
    )
    return picture.drawn(drawn)


def _grid(chart: Chart, axes: Curves) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for value, text in _sparse(axes.across, 7):
        x = short(axes.place(value, axes.up[0][0])[0])
        yield element("line", x1=x, y1=bottom, x2=x, y2=TOP, class_="rp-grid")
        yield element("text", text, x=x, y=HEIGHT - 8, class_="rp-place")
    for value, text in _sparse(axes.up, 8):
        y = axes.place(axes.across[0][0], value)[1]
        yield element("line", x1=LEFT, y1=short(y), x2=WIDTH - RIGHT, y2=short(y), class_="rp-grid")
        yield element("text", text, x=LEFT - 6, y=short(y + 4), class_="rp-axis")
    yield element("text", chart.up, x=4, y=14, class_="rp-label")
    yield element("text", chart.across, x=LEFT, y=HEIGHT + 8, class_="rp-label")


def _trace(axes: Curves, trace: Trace, number: int) -> list[str]:
    places = [axes.place(point.across, point.up) for point in trace.points]
    joined = " ".join(f"{short(x)},{short(y)}" for x, y in places)
    dashes = DASHES[number % len(DASHES)]
    drawn = [element("polyline", points=joined, class_="rp-line", stroke_dasharray=dashes)]
    for point, (x, _) in zip(trace.points, places, strict=True):
        ends = [axes.place(point.across, value)[1] for value in (point.least, point.most)]
        drawn.append(
            element(
                "line", x1=short(x), y1=short(ends[0]), x2=short(x), y2=short(ends[1]),
                class_="rp-line",
            )
        )  # fmt: skip
    for place in places:
        drawn += _letter(place, number)
    return drawn


def _letter(place: tuple[float, float], number: int) -> list[str]:
    x, y = place
    colour = f"rp-cell rp-g{number % COLOURS}"
    letter = LETTERS[number % len(LETTERS)]
    return [
        element("circle", cx=short(x), cy=short(y), r=7, class_=colour),
        element("text", letter, x=short(x), y=short(y + 3.5), class_="rp-place"),
    ]


def _sparse(found: Sequence[tuple[float, str]], most: int) -> Sequence[tuple[float, str]]:
    """Ticks that have room: all of them, or one in every few."""
    step = -(-len(found) // most)
    return found[::step]


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
