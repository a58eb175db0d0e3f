"""How often verdicts of measured comparisons are wrong, and how little they can tell apart."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Final

from vllm_parallel.compare import FALSE_VERDICTS, Ratio
from vllm_parallel.render.html import Cell, computed, table

DRAWN: Final = json.loads(Path(__file__).with_name("false_verdicts.json").read_text("utf-8"))
pairs: Final[int] = DRAWN["pairs"]
simulated: Final[int] = DRAWN["comparisons"]
NOISE: Final = (0.005, 0.01, 0.03)  # standard deviation of a trial, as a share


def rates() -> str:
    """The share of comparisons of equal layouts that gave a verdict."""
    rows = [
        [Cell(name), *(computed(f"{rate:.1%}") for rate in found)]
        for name, found in DRAWN["rates"].items()
    ]
    head = ("noise of the trials", *(f"{count} trials" for count in DRAWN["trials"]))
    caption = "False verdicts; in the row with the start as unit the columns count starts."
    return table(head, rows, caption=caption)


def reach() -> str:
    """The ratio that an interval of usual noise just leaves."""
    rows = [
        [Cell(f"{noise:.1%}"), *(computed(f"{_reach(n, noise):.2f}") for n in DRAWN["trials"])]
        for noise in NOISE
    ]
    head = ("trials scatter by", *(f"{count} trials" for count in DRAWN["trials"]))
    caption = "How many times as fast a layout must be; scatter is a standard deviation."
    return table(head, rows, caption=caption)


def _reach(count: int, noise: float) -> float:
    """Half an interval, as a ratio, of two samples that scatter by just this much."""
    half = count // 2
    sample = [1.0] * half + [-1.0] * half + [0.0] * (count % 2)
    logs = [one * noise / _deviation(sample) for one in sample]
    ratio = Ratio.of(logs, logs, FALSE_VERDICTS / pairs)
    if ratio.high is None:
        raise ValueError(f"{count} trials have no interval")
    return ratio.high / ratio.value


def _deviation(sample: list[float]) -> float:
    mean = sum(sample) / len(sample)
    return sqrt(sum((one - mean) ** 2 for one in sample) / (len(sample) - 1))
