"""The tables of `results/public-evidence`: published figures beside computed ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from evidence import Case, Evidence, Found, cases
from speeds import FOLDER, Point, Speed, counting, priced, read
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import counted

MEASURED: Final = Provenance.MEASURED
Json = Mapping[str, object]
SPACES: Final = "tokens in and out, at a concurrency or a rate"


def summary() -> str:
    """How many figures of each kind agree."""
    counts: dict[str, Counter[Found]] = {}
    for case in cases():
        for figure in case.figures:
            counts.setdefault(_kind(figure), Counter())[figure.found] += 1
    head = ("published figure", *(found.value for found in Found))
    rows = [
        (kind, *(str(found[one]) for one in Found))
        for kind, found in sorted(counts.items(), key=lambda pair: -pair[1].total())
    ]
    return markdown(head, rows, right=tuple(range(1, len(head))))


def memory() -> str:
    """Every published figure of memory, by its page or log."""
    rows = [row for case in cases() for row in _rows(case)]
    head = ("published by", "of what", "figure", "published", "computed", "", "what it says")
    caption = "Figures as they were published, and what the kernel says of the same deployment."
    return table(head, rows, caption=caption)


def _rows(case: Case) -> Iterator[list[Cell]]:
    release = case.release if case.release == "not stated" else f"vLLM {case.release}"
    about = f"{case.model}; {case.hardware}; {case.conditions}; {release}, {case.date}"
    for number, figure in enumerate(case.figures):
        source = Cell(case.id, href=case.source or "") if number == 0 else Cell("")
        yield [
            source,
            Cell(about if number == 0 else ""),
            Cell(figure.what),
            Cell(figure.published, MEASURED),
            computed(figure.computed),
            Cell(figure.found.value),
            Cell(case.standing if number == 0 else ""),
        ]


def times() -> str:
    """Every published load: the time between tokens, and the computed one."""
    known = {one.point.id: one for one in _priced()}
    rows = [_time(row, known.get(str(row["id"]))) for row in _lines()]
    head = (
        "point", "of what", "layout", "release", "load", "TPOT, ms", "computed", "error",
        "what to know",
    )  # fmt: skip
    caption = f"Loads: {SPACES}. TPOT is the mean or median, as published."
    return table(head, rows, caption=caption)


def _time(row: Json, speed: Speed | None) -> list[Cell]:
    found = [Cell(str(row["id"]), href=str(row["source"]))]
    gpus = row.get("gpus")
    hardware = f"{gpus} × {row['gpu']}" if isinstance(gpus, int) and gpus > 1 else row["gpu"]
    found += [
        Cell(f"{row['model'] or 'not stated'}; {hardware or 'GPU not stated'}"),
        Cell(str(row.get("layout") or "not stated") if speed is None else _layout(speed.point)),
        Cell(str(row["vllm_version"] or "not stated")),
        Cell(_load(row)),
        Cell(_milliseconds(row), MEASURED),
    ]
    if speed is None:
        return [*found, Cell(""), Cell(""), Cell(f"not computed: {row['unjudged']}")]
    assumed = [what for what in speed.point.assumed if what != "engine"]
    engine = speed.point.engine.value
    if not any(what.startswith("engine") for what in assumed):
        engine += ", assumed"
    told = "; ".join((f"engine {engine}", *assumed))
    if speed.point.id not in {point.id for point in _counting()}:
        told += "; a rate is pinned on it"
    return [
        *found,
        computed(f"{speed.seconds * 1e3:.2f}"),
        computed(f"{speed.error:+.1%}".replace("-", "−")),
        Cell(told),
    ]


def _layout(point: Point) -> str:
    return str(point.deployment.layout)


def _load(row: Json) -> str:
    """The load in short: `1,024/128 at 4`, `938/471 at 10 a second`."""
    load = row.get("load")
    given: Json = load if isinstance(load, dict) else row
    lengths = "/".join(_length(given.get(key)) for key in ("input_tokens", "output_tokens"))
    concurrency, rate = given.get("concurrency"), given.get("rate")
    ends = [f"at {concurrency}"] if concurrency else []
    if isinstance(rate, int | float):
        ends.append(f"{rate:g} a second")
    return f"{lengths} {', '.join(ends)}".strip()


def _length(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value or "?")


def _milliseconds(row: Json) -> str:
    value = row.get("milliseconds")
    return f"{value:.2f}" if isinstance(value, int | float) else "not published"


@cache
def _lines() -> tuple[Json, ...]:
    lines = (FOLDER / "points.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())


@cache
def _points() -> tuple[object, ...]:
    return tuple(read(FOLDER / "points.jsonl", FOLDER / "configs"))


@cache
def _priced() -> tuple[Speed, ...]:
    return tuple(priced(one for one in _points() if isinstance(one, Point)))


@cache
def _counting() -> tuple[Point, ...]:
    return tuple(speed.point for speed in counting(_priced()))


def figures() -> str:
    """How many figures of memory are computed, and how many of them agree."""
    found = [figure.found for case in cases() for figure in case.figures]
    known = [one for one in found if one in (Found.EQUAL, Found.DIFFERS)]
    return f"{known.count(Found.EQUAL)} of {counted(len(known), 'computed figure')}"


def publications() -> int:
    """How many pages and logs there are."""
    return len(cases())


def points() -> int:
    """How many loads there are."""
    return len(_lines())


def _kind(figure: Evidence) -> str:
    """Figures of one kind under one name."""
    for kind, words in KINDS.items():
        if any(word in figure.what for word in words):
            return kind
    return "others"


KINDS: Final = {
    "weights of a rank": ("weights",),
    "left for KV": ("left for KV",),
    "requests at once": ("at once", "fits"),
    "KV tokens, blocks, longest request": ("KV tokens", "blocks", "longest", "KV of one"),
}
