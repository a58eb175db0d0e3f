"""What layouts of the guide cost: predictions, charts, and the rates behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from drawn import placed
from figures import SPREAD
from guided import INPUT, MODEL, OUTPUT, SETTINGS, guide
from vllm_parallel import Deployment, Layout
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.load import OMISSIONS, Load, Service, ServicePrice
from vllm_parallel.price import Pricer
from vllm_parallel.price.step import OPERATIONS, PARTS
from vllm_parallel.price.work import StageWork
from vllm_parallel.render.charts import Bar, Bars, Curves, curves, stacked
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import size, to
from vllm_parallel.units import KIB, MIB, ceil_div

CONCURRENCY: Final = (1, 16, 64, 128)
FULLEST: Final = CONCURRENCY[-1]
LAYOUTS: Final = (Layout(tp=8), Layout(tp=4, pp=2), Layout(tp=4, dp=2))
RATES: Final = load_rates("h100-80gb")
ROOFLINE_TOKENS: Final = tuple(2**power for power in range(14))


@dataclass(frozen=True, slots=True)
class Range:
    """A predicted figure with its spread."""

    likely: float

    @property
    def ends(self) -> tuple[float, float]:
        """Least and most."""
        return self.likely * (1 - SPREAD), self.likely * (1 + SPREAD)

    def text(self, places: int) -> str:
        """Both ends."""
        return to(*(f"{end:.{places}f}" for end in self.ends))

    def ties(self, other: Range) -> bool:
        """Whether the ranges overlap.

        >>> Range(10.0).ties(Range(14.9)), Range(10.0).ties(Range(15.1))
        (True, False)
        """
        return max(self.ends[0], other.ends[0]) <= min(self.ends[1], other.ends[1])


def deployment(layout: Layout) -> Deployment:
    """A layout of the guide."""
    return guide(layout).deployment


@cache
def priced(layout: Layout, concurrency: int) -> ServicePrice:
    """The guide's load at a concurrency."""
    prompts = max(64, 8 * concurrency)
    load = Load(input_tokens=INPUT, output_tokens=OUTPUT, prompts=prompts, concurrency=concurrency)
    return Service.of(deployment(layout), RATES).price(load)


def tpot(layout: Layout, concurrency: int) -> Range:
    """TPOT in milliseconds."""
    return Range(priced(layout, concurrency).tpot * 1e3)


def throughput(layout: Layout, concurrency: int) -> Range:
    """Output tokens a second of one GPU."""
    return Range(priced(layout, concurrency).output_per_gpu)


def predictions() -> str:
    """TPOT and throughput of the three layouts, as ranges, with who leads."""
    parts = []
    for what, unit, figure, places, low in (
        ("TPOT", "milliseconds", tpot, 1, True),
        ("Output of a GPU", "tokens a second", throughput, 0, False),
    ):
        rows = []
        for width in CONCURRENCY:
            ranges = {layout: figure(layout, width) for layout in LAYOUTS}
            cells = [computed(found.text(places)) for found in ranges.values()]
            rows.append([Cell(str(width)), *cells, Cell(leader(ranges, least=low))])
        head = ("concurrency", *(str(layout) for layout in LAYOUTS), "best")
        load = f"{INPUT} tokens in, {OUTPUT} out"
        caption = f"{what}, {unit}; {load}. Computed, ±{SPREAD:.0%}, not measured."
        parts.append(table(head, rows, caption=caption))
    return "\n\n".join(parts)


def leader(ranges: dict[Layout, Range], *, least: bool) -> str:
    """The layout that is best outside every other's range, else those that tie."""
    order = sorted(ranges, key=lambda layout: ranges[layout].likely, reverse=not least)
    tied = [layout for layout in order if ranges[layout].ties(ranges[order[0]])]
    if len(tied) == 1:
        return str(tied[0])
    return "tie" if len(tied) == len(order) else "tie: " + ", ".join(str(one) for one in tied)


def step_chart() -> str:
    """A decode step by concurrency: what a request waits for between two tokens."""
    context = INPUT + OUTPUT // 2
    groups = []
    for width in CONCURRENCY:
        bars = []
        for layout in LAYOUTS:
            share = ceil_div(width, layout.dp * layout.pp)
            pricer = Pricer.of(deployment(layout), RATES)
            stages = pricer.price(EngineBatch(decode=(context,) * share)).stages
            parts = (sum(getattr(stage, part) for stage in stages) * 1e3 for part in PARTS)
            bars.append(Bar(label=str(layout), parts=tuple(parts)))
        name = f"{width} request{'s' * (width > 1)}"
        groups.append((name, tuple(bars)))
    names = tuple({"collectives": "exchange", "kv": "kv read"}.get(part, part) for part in PARTS)
    chart = Bars(parts=names, groups=tuple(groups))
    title = f"Milliseconds of a decode step, contexts of {context} tokens"
    return placed(stacked(chart, "step-time", title), title)


def link_chart() -> str:
    """An all-reduce by its bytes, inside a node of eight."""
    lines = tuple(
        (
            f"tp{width}",
            tuple((count / KIB, seconds * 1e6) for count, seconds in curve.points),
        )
        for width, curve in RATES.all_reduce
    )
    message = MODEL.hidden * MODEL.dtype.bytes
    marks = tuple(
        (tokens * message / KIB, text)
        for tokens, text in (
            (1, "1 token"),
            (64, "64"),
            (SETTINGS.max_num_batched_tokens or 1, "8192"),
        )
    )
    across = tuple(
        (count / KIB, size(count)) for count in (4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB)
    )
    up = ((1, "1 µs"), (10, "10 µs"), (100, "100 µs"), (1000, "1 ms"))
    chart = Curves(lines=lines, across=across, up=up, marks=marks)
    title = "All-reduce on NVLink, by its bytes"
    return placed(curves(chart, "link-time", title), title, "Public measurements, in part assumed")


def roofline_chart() -> str:
    """What a rank of tp8 reaches in matrix products, by the operations for each byte it reads."""
    work = StageWork.of(deployment(LAYOUTS[0]), 0)
    products = [(one.multiply_adds * count, one.bytes * count) for one, count in work.dense]
    if work.head is not None:
        products.append((work.head.multiply_adds, work.head.bytes))
    adds, read = (sum(column) for column in zip(*products, strict=True))
    of_a_token = OPERATIONS * adds / read
    intensities = [of_a_token * tokens for tokens in ROOFLINE_TOKENS]
    reached = RATES.memory.value * RATES.weight_read_share.value
    lines = (
        ("datasheet", _roof(intensities, RATES.memory.value, RATES.peak_16_bit.value)),
        ("reached", _roof(intensities, reached, RATES.arithmetic_16_bit)),
    )
    marks = tuple((of_a_token * tokens, str(tokens)) for tokens in (1, 16, 128, 8192))
    across = tuple((float(count), str(count)) for count in (1, 10, 100, 1000, 10_000))
    up = tuple((float(count), f"{count} T") for count in (1, 10, 100, 1000))
    chart = Curves(lines=lines, across=across, up=up, marks=marks)
    title = "Operations a second by operations for a byte of weights, batches of some tokens marked"
    return placed(curves(chart, "roofline", title), title, "Computed from datasheet and shares")


def _roof(
    intensities: list[float], bandwidth: float, peak: float
) -> tuple[tuple[float, float], ...]:
    """Trillions of operations a second: what reading allows, at most what arithmetic does."""
    places = sorted({*intensities, peak / bandwidth})
    return tuple((one, min(one * bandwidth, peak) / 1e12) for one in places)


def left_out() -> str:
    """What a load leaves out, and which way a computed time leans for it."""
    rows = [(row.what, f"*{row.leans.value}*", row.why) for row in OMISSIONS]
    return markdown(("left out", "a computed time is", "why"), rows)
