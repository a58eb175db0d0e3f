"""The tables of `results/public-evidence`: published figures beside computed ones."""

from __future__ import annotations

from collections import Counter
from functools import cache
from html import escape
from typing import Final

from evidence import Case, Evidence, Found, cases
from json_rows import Json, rows_of
from speed_tables import all_speeds
from speeds import FOLDER, Speed, counting
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, grouped
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import counted

MEASURED: Final = Provenance.MEASURED


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
    blocks = [(_about(case), [_row(figure) for figure in case.figures]) for case in cases()]
    head = ("figure", "published", "computed", "")
    caption = "Figures as they were published, and what the kernel says of the same deployment."
    return grouped(head, blocks, caption=caption)


def _about(case: Case) -> str:
    release = "release not stated" if case.release == "not stated" else f"vLLM {case.release}"
    date = "" if case.date == "not stated" else f", {case.date}"
    conditions = "flags not stated" if case.conditions == "not stated" else case.conditions
    about = f"{case.hardware}; {conditions}; {release}{date}. {case.standing}"
    model = "A model not stated" if case.model == "not stated" else case.model
    return f"{link(model, case.source, case.id)}: {escape(about)}"


def _row(figure: Evidence) -> list[Cell]:
    published = Cell(figure.published, MEASURED)
    return [Cell(figure.what), published, computed(figure.computed), Cell(figure.found.value)]


def times() -> str:
    """Every published load: the time between tokens, and the computed one."""
    known = {one.point.id: one for one in all_speeds(pinned=True)}
    blocks: dict[str, list[list[Cell]]] = {}
    for row in _lines():
        speed = known.get(str(row["id"]))
        blocks.setdefault(_of_what(row, speed), []).append(_time(row, speed))
    head = ("point", "load", "TPOT, ms", "computed", "error")
    caption = "Loads: tokens in and out, at a concurrency or a rate. TPOT as published."
    return grouped(head, list(blocks.items()), caption=caption)


def _of_what(row: Json, speed: Speed | None) -> str:
    """What the points of one block have in common."""
    gpus = row.get("gpus")
    hardware = f"{gpus} × {row['gpu']}" if isinstance(gpus, int) and gpus > 1 else row["gpu"]
    layout = row.get("layout") if speed is None else str(speed.point.deployment.layout)
    release = row["vllm_version"]
    about = (
        f"{row['model'] or 'model not stated'}; {hardware or 'GPU not stated'}; "
        f"{layout or 'layout not stated'}; "
        f"{f'vLLM {release}' if release else 'release not stated'}. {_to_know(row, speed)}."
    )
    return escape(about)


def _to_know(row: Json, speed: Speed | None) -> str:
    """What was assumed, or why a point is not computed."""
    if speed is None:
        return f"Not computed: {row['unjudged']}"
    assumed = [what for what in speed.point.assumed if what != "engine"]
    engine = speed.point.engine.value
    if not any(what.startswith("engine") for what in assumed):
        engine += ", assumed"
    pinned = ["a rate is pinned on it"] if speed not in counting(all_speeds(pinned=True)) else []
    return "; ".join((f"Engine {engine}", *assumed, *pinned))


def _time(row: Json, speed: Speed | None) -> list[Cell]:
    found = [
        Cell(str(row["id"]), href=str(row["source"]).partition(" ")[0]),
        Cell(_load(row)),
        Cell(_milliseconds(row), MEASURED),
    ]
    if speed is None:
        return [*found, Cell(""), Cell("")]
    error = f"{speed.error:+.1%}".replace("-", "−")
    return [*found, computed(f"{speed.seconds * 1e3:.2f}"), computed(error)]


def link(text: str, address: str | None, ident: str) -> str:
    """A text in bold that links to another site, where there is an address."""
    inner = escape(text) if address is None else f'<a href="{escape(address)}">{escape(text)}</a>'
    return f'<strong id="{escape(ident)}">{inner}</strong>'


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
    return tuple(rows_of(FOLDER / "points.jsonl"))


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
