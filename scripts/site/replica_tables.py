"""The tables of `results/replica`, read from the run and computed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from statistics import median
from typing import Final

import replica
from replica import STARVED, Printed
from vllm_parallel.compare import Judgement, Metric, Standing
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import counted, whole
from vllm_parallel.runs import RunLayout

MEASURED: Final = Provenance.MEASURED
# What a GPU prints of each line, where that differs from this machine or is worth knowing.
ON_GPU: Final = {
    "KV cache size: … tokens": "the same, with GPU for CPU",
    "Available KV cache memory": "one worker of each node",
    "Explicitly set (…) GiB for KV cache": "never: there it is measured",
    "Model loading took": "every worker",
    "Initializing model took": "the first worker of each engine",
    "init engine (…) took": "the same",
    "Overriding num_gpu_blocks": "the same",
    "disabling stats logging": "the same",
    "Running: … reqs": "the same, every ten seconds",
    "Preemptions: …": "the same: never",
}


def pools() -> str:
    """Printed and computed KV tokens of every layout."""
    rows = []
    for layout in replica.layouts():
        found = [one for one in replica.printed() if one.layout == layout]
        known = replica.pool(layout)
        served = replica.deployment(layout)
        rows.append(
            [
                Cell(layout.name),
                computed(whole(known.num_blocks)),
                computed(whole(known.tokens)),
                Cell(_one({whole(one.engine.kv_tokens) for one in found}), MEASURED),
                Cell(_one({f"{one.engine.max_concurrency:.2f}×" for one in found}), MEASURED),
                computed(str(served.layout.dp)),
                Cell(whole(len(found)), MEASURED),
                computed(_equal(found)),
            ]
        )
    head = (
        "layout", "blocks", "tokens", "printed", "fit at once", "pools", "lines", "",
    )  # fmt: skip
    caption = "One pool, computed, and as the lines of all starts print it."
    return table(head, rows, caption=caption)


def all_equal() -> str:
    """How many of the printed pools are the computed ones."""
    found = replica.printed()
    return f"{sum(one.is_equal for one in found)} of {counted(len(found), 'printed pool')}"


def lines() -> str:
    """Which lines a start prints, by whom, and how often."""
    names = [layout.name for layout in replica.layouts()]
    rows = []
    for what, on_gpu in ON_GPU.items():
        by = set()
        cells = []
        for layout in replica.layouts():
            starts = [replica.said(layout, start)[what] for start in layout.starts]
            by |= {process.partition("_")[0] for one in starts for process in one.processes}
            cells.append(Cell(_range([one.times for one in starts]), MEASURED))
        rows.append([Cell(", ".join(sorted(by)) or "nobody"), Cell(what), Cell(on_gpu), *cells])
    head = ("printed by", "line", "on a GPU", *names)
    return table(head, rows, caption="Lines of a start, least to most of all starts.")


def preemptions() -> str:
    """Preemptions of every layout, and where they were read, at each concurrency."""
    pressure, widths = replica.pressure(), replica.run().load.concurrencies
    rows = []
    for layout in replica.layouts():
        total = pressure.layouts.get(layout.name)
        cells = [pressure.cells.get((layout.name, width)) for width in widths]
        if total == 0:  # a counter only grows
            cells = [0 for _ in widths]
        rows.append([Cell(layout.name), *(Cell(_count(one), MEASURED) for one in (total, *cells))])
    head = ("layout", "all trials", *(f"at {width}" for width in widths))
    return table(head, rows, caption="num_preemptions_total, after less before, over all starts.")


def speeds() -> str:
    """Medians over starts: output tokens a second, TPOT and TTFT at each concurrency."""
    rows = []
    for layout in replica.layouts():
        for width in replica.run().load.concurrencies:
            figures = [_figures(layout, width, metric) for metric in METRICS]
            cells = (Cell(f"{median(one):.1f}", MEASURED) for one in figures)
            flow = figures[0]
            spread = Cell(f"{(max(flow) - min(flow)) / median(flow):.0%}", MEASURED)
            rows.append([Cell(layout.name), Cell(str(width)), *cells, spread])
    head = ("layout", "at", "tokens/s", "TPOT, ms", "TTFT, ms", "spread of tokens/s")
    trials = replica.run().load.trials
    return table(
        head, rows, caption=f"Medians of {trials} starts on two CPU cores, one trial each."
    )


METRICS: Final = (Metric.OUTPUT_THROUGHPUT, Metric.TPOT_MS, Metric.TTFT_MS)


def hypotheses() -> str:
    """What was expected before, and what this machine said."""
    rows = [[Cell(what), Cell(found), Cell(word)] for what, found, word in _hypotheses()]
    caption = "The guide's hypotheses with tp2 for TP8, pp2 for TP4×PP2 and dp2 for TP4×DP2."
    return table(("expected", "measured", "verdict"), rows, caption=caption)


def _hypotheses() -> Iterator[tuple[str, str, str]]:
    widths = replica.run().load.concurrencies
    flow, tpot = Metric.OUTPUT_THROUGHPUT, Metric.TPOT_MS
    stands = [replica.standing("pp2", "tp2", width, flow) for width in widths]
    found = "; ".join(
        f"at {width} {_times(one)}" for width, one in zip(widths, stands, strict=True)
    )
    slower = all(one.verdict is Judgement.SLOWER for one in stands)
    yield "pp2 has less output than tp2 at every concurrency", found, _word(slower, stands)
    one = replica.standing("dp2", "tp2", widths[0], tpot)
    what = f"at {widths[0]}, a token of dp2 takes longer than one of tp2"
    yield what, f"TPOT {_times(one)}", _word(one.verdict is Judgement.SLOWER, [one])
    one = replica.standing("dp2", "tp2", widths[-1], flow)
    what = f"at {widths[-1]}, dp2 reaches or passes the output of tp2"
    yield what, f"output {_times(one)}", _word(one.verdict is Judgement.FASTER, [one])
    preempted = [replica.pressure().layouts.get(name) for name in ("tp2", "dp2")]
    what = "while KV fits, the smaller pools of dp2 preempt no more than those of tp2"
    text = f"{_count(preempted[1])} and {_count(preempted[0])} preemptions"
    yield what, text, _word(preempted == [0, 0], [])
    one = replica.standing(STARVED, "tp1", widths[-1], flow)
    count = _count(replica.pressure().cells.get((STARVED, widths[-1])))
    what = f"short of KV, output at {widths[-1]} falls"
    found = f"{count} preemptions, output {_times(one)} of tp1"
    yield what, found, _word(one.verdict is Judgement.SLOWER, [one])


def _word(holds: bool, stands: list[Standing]) -> str:
    if holds:
        return "confirmed"
    unsure = any(one.verdict is Judgement.INCONCLUSIVE for one in stands)
    return "inconclusive" if unsure else "rejected"


def _times(one: Standing) -> str:
    if one.ratio is None or one.ratio.low is None or one.ratio.high is None:
        return "not compared"
    return f"{one.ratio.value:.2f}× ({one.ratio.low:.2f} to {one.ratio.high:.2f})"


def _figures(layout: RunLayout, width: int, metric: Metric) -> list[float]:
    found = [
        metric.of(result)
        for result in replica.measured().sweep.rows
        if (result.label, result.load.max_concurrency) == (layout.name, width)
    ]
    return [one for one in found if one is not None]


@cache
def fields() -> tuple[str, ...]:
    """The fields of a result, the same in the same order in every one.

    Raises:
        ValueError: a result has others.
    """
    found = set()
    for name in replica.result_names():
        found.add(tuple(json.loads((replica.FOLDER / name).read_text("utf-8"))))
    if len(found) != 1:
        raise ValueError(f"results differ in their fields: {found}")
    return found.pop()


def _equal(found: list[Printed]) -> str:
    return "equal" if found and all(one.is_equal for one in found) else "not equal"


def _one(texts: set[str]) -> str:
    return " or ".join(sorted(texts)) or "not printed"


def _range(times: list[int]) -> str:
    least, most = min(times), max(times)
    return str(least) if least == most else f"{least}–{most}"


def _count(number: int | None) -> str:
    return "not read" if number is None else whole(number)
