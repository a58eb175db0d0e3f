"""The tables of `verification/speed`, computed from the points that lie in `results/`."""

from __future__ import annotations

from functools import cache
from typing import Final

from speeds import (
    FOLDER,
    Errors,
    Point,
    Speed,
    Unjudged,
    counting,
    groups,
    limits,
    priced,
    read,
)
from vllm_parallel.catalog.rates import load_rates, pinned_factors
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import counted

MEASURED: Final = Provenance.MEASURED


@cache
def all_points() -> list[Point | Unjudged]:
    """Every public point, read once a build."""
    return read(FOLDER / "points.jsonl", FOLDER / "configs")


@cache
def all_speeds(*, pinned: bool) -> list[Speed]:
    """Every public point beside its price, priced once a build."""
    return priced(all_points(), pinned=pinned)


def _without() -> dict[str, Speed]:
    """By their points, as they come out without pinned rates."""
    return {one.point.id: one for one in all_speeds(pinned=False)}


def summary() -> str:
    """What was to be reached, and what is."""
    counted_ = {one.point.id for one in counting(all_speeds(pinned=True))}
    bare = limits([one for name, one in _without().items() if name in counted_])
    rows = [
        (
            limit.what,
            _share(limit.found),
            f"{limit.at_most:.0%}",
            "met" if limit.held else "**not met**",
            _share(before.found),
        )
        for limit, before in zip(limits(all_speeds(pinned=True)), bare, strict=True)
    ]
    head = ("time between tokens", "found", "at most", "", "without pinned rates")
    return markdown(head, rows, right=(1, 2, 4))


def by_group() -> str:
    """Errors by model, hardware and engine."""
    rows = []
    for name, speeds in groups(all_speeds(pinned=True)).items():
        errors = Errors.of([one.error for one in speeds])
        bare = Errors.of([_without()[one.point.id].error for one in speeds])
        flow = Errors.of([one.throughput_error for one in speeds])
        pinned = "" if counting(speeds) else ", pinned"
        figures = (
            f"{errors.median:.1%}", _share(errors.bias), _share(errors.worst),
            _share(bare.bias), f"{flow.median:.1%}",
        )  # fmt: skip
        rows.append((name + pinned, str(errors.count), *figures))
    head = (
        "model, hardware, engine", "points", "median", "bias", "worst", "bias unpinned",
        "tokens/s",
    )  # fmt: skip
    return markdown(head, rows, right=tuple(range(1, 7)))


def points() -> str:
    """Every judged point: time between tokens, throughput, and the first token."""
    rows = []
    for one in all_speeds(pinned=True):
        load, bare = one.point.load, _without()[one.point.id]
        width = load.concurrency or "any"
        rows.append(
            [
                Cell(f"{one.point.id}: {one.point.config}, {one.point.deployment.layout}"),
                Cell(f"{load.input_tokens}/{load.output_tokens}"),
                Cell(str(width)),
                Cell(f"{one.point.seconds * 1e3:.2f}", MEASURED),
                computed(f"{one.seconds * 1e3:.2f}"),
                computed(_share(one.error)),
                computed(_share(bare.error)),
                computed(_share(one.throughput_error)),
                Cell(f"{one.point.ttft_seconds * 1e3:,.0f}", MEASURED),
                computed(f"{one.ttft * 1e3:,.0f}"),
            ]
        )
    head = (
        "point", "in/out", "at", "TPOT, ms", "computed", "error", "unpinned",
        "tokens/s", "TTFT, ms", "computed",
    )  # fmt: skip
    caption = (
        "Tokens in and out, at a concurrency. TPOT is the mean or median, as published; of p040 "
        "the median between tokens. Errors are of TPOT, with pinned rates and without, and output."
    )
    return table(head, rows, caption=caption)


def assumptions() -> str:
    """What a source does not say of its points, and was taken."""
    found: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    for one in all_points():
        if isinstance(one, Point):
            text = f"engine {one.engine.value}" + "".join(
                f"; {what}" for what in one.assumed if what != "engine"
            )
            found.setdefault(text, []).append(one.id)
            sources[one.id] = one.source
    rows = [
        (", ".join(f"[{name}]({sources[name]})" for name in names), text)
        for text, names in found.items()
    ]
    return markdown(("points", "assumed"), rows)


def pins() -> str:
    """The rates that one point each decides."""
    rows = []
    for pin in pinned_factors():
        before = getattr(load_rates(pin.gpu or "h200", pinned=False), pin.rate).value
        name = pin.rate.replace("_", " ")
        rows.append((name, pin.point, f"{before:g}", f"{pin.value:g}", pin.gpu or "all", pin.why))
    head = ("rate", "pinned on", "without", "with", "GPU", "what it stands for")
    return markdown(head, rows, right=(2, 3))


def not_judged() -> str:
    """The points that are not judged, by their reason."""
    found: dict[str, list[str]] = {}
    for one in all_points():
        if isinstance(one, Unjudged):
            found.setdefault(one.reason, []).append(one.id)
    rows = [(", ".join(names), reason) for reason, names in found.items()]
    return markdown(("points", "why they are not judged"), rows)


def judged_points() -> str:
    """How many points are judged, of how many."""
    speeds = all_speeds(pinned=True)
    return f"{len(speeds)} of {counted(len(all_points()), 'point')}"


def worst() -> Speed:
    """The point that is farthest off, among those that count."""
    return max(counting(all_speeds(pinned=True)), key=lambda one: abs(one.error))


def _share(error: float) -> str:
    return f"{error:+.1%}".replace("-", "−")
