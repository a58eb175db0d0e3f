"""How often a comparison of equal layouts gives a verdict: drawn, and written down for the site.

`make verdicts` draws anew. Each row is a kind of noise, each column a number of trials; a figure is
the share of whole comparisons, of all layouts at all concurrencies, in which any verdict was given.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from math import log, sqrt
from pathlib import Path
from typing import Final

from vllm_parallel.compare import FALSE_VERDICTS, Ratio

OUTPUT: Final = Path(__file__).parent / "site" / "false_verdicts.json"
TRIALS: Final = (3, 5, 10)
LABELS: Final = 2  # beside the baseline
CONCURRENCIES: Final = 4
COMPARISONS: Final = 4000
STARTS: Final = 3

Noise = Callable[[random.Random, bool], float]  # of a trial; whether it is the baseline's
Draw = Callable[[random.Random, int], bool]  # whether a comparison of so many trials gave a verdict


def student(rng: random.Random) -> float:
    """A draw with three degrees of freedom: tails that have no fourth moment."""
    return rng.gauss(0, 1) / sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3)


# Logarithms of a trial's figure.
NOISE: Final[dict[str, Noise]] = {
    "normal, 5 %": lambda rng, _: log(1 + 0.05 * max(-10.0, min(10.0, rng.gauss(0, 1)))),
    "lognormal": lambda rng, _: 0.05 * rng.gauss(0, 1),
    "heavy tails (Student, 3)": lambda rng, _: 0.02 * student(rng),
    "one trial in ten an outlier": lambda rng, _: (
        rng.gauss(0, 0.3 if rng.random() < 0.1 else 0.02)
    ),
    "lopsided (exponential)": lambda rng, _: -log(1 + rng.expovariate(20)),
    "baseline 3 times as noisy": lambda rng, base: rng.gauss(0, 0.06 if base else 0.02),
    "baseline 10 times as noisy": lambda rng, base: rng.gauss(0, 0.2 if base else 0.02),
    "baseline 10 times as steady": lambda rng, base: rng.gauss(0, 0.02 if base else 0.2),
}  # fmt: skip
LIMITS: Final[dict[str, Noise]] = {
    "lopsided, and 10 times as noisy": lambda rng, base: (
        0.005 * (1 - rng.expovariate(1)) if base else 0.05 * (1 - rng.expovariate(1))
    ),
}


def of_trials(noise: Noise) -> Draw:
    """Every trial on its own."""

    def draw(rng: random.Random, trials: int) -> bool:
        return any(_any(rng, noise, trials) for _ in range(CONCURRENCIES))

    return draw


def _any(rng: random.Random, noise: Noise, trials: int) -> bool:
    """Whether one concurrency gives a verdict; all layouts meet the same baseline."""
    base = [noise(rng, True) for _ in range(trials)]
    return any(differ([noise(rng, False) for _ in range(trials)], base) for _ in range(LABELS))


def of_one_start(rng: random.Random, trials: int) -> bool:
    """One start a layout; starts differ as much as trials of one start do."""
    shifts = [rng.gauss(0, 0.02) for _ in range(1 + LABELS)]
    verdicts = []
    for _ in range(CONCURRENCIES):
        base, *others = ([rng.gauss(shift, 0.02) for _ in range(trials)] for shift in shifts)
        verdicts += [differ(one, base) for one in others]
    return any(verdicts)


def of_starts(rng: random.Random, starts: int) -> bool:
    """So many starts a layout with three trials each, the start as the unit."""
    shifts = [[rng.gauss(0, 0.02) for _ in range(starts)] for _ in range(1 + LABELS)]
    verdicts = []
    for _ in range(CONCURRENCIES):
        base, *others = (
            [sum(rng.gauss(shift, 0.02) for _ in range(3)) / 3 for shift in row] for row in shifts
        )
        verdicts += [differ(one, base) for one in others]
    return any(verdicts)


def differ(logs: list[float], base: list[float]) -> bool:
    """Whether two samples get a verdict."""
    ratio = Ratio.of(logs, base, FALSE_VERDICTS / (LABELS * CONCURRENCIES))
    return ratio.above or ratio.below


def rate(name: str, draw: Draw, trials: int, comparisons: int) -> float:
    """The share of comparisons that gave a verdict, drawn alike every time."""
    rng = random.Random(f"{name} {trials}")
    return sum(draw(rng, trials) for _ in range(comparisons)) / comparisons


DRAWS: Final[dict[str, Draw]] = {
    **{name: of_trials(noise) for name, noise in NOISE.items()},
    "starts differ as trials do, start as unit": of_starts,
    "starts differ as trials do, one start each": of_one_start,
    **{name: of_trials(noise) for name, noise in LIMITS.items()},
}


def main() -> None:
    """Draw every row and write the file."""
    rows = {}
    for name, draw in DRAWS.items():
        rows[name] = [rate(name, draw, trials, COMPARISONS) for trials in TRIALS]
        print(f"{name:45}", *(f"{one:7.2%}" for one in rows[name]))
        sys.stdout.flush()
    head = {"trials": TRIALS, "comparisons": COMPARISONS, "pairs": LABELS * CONCURRENCIES}
    OUTPUT.write_text(json.dumps(head | {"rates": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
