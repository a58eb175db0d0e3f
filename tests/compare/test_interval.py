"""Intervals of ratios: against sums done by hand, and by how often equal layouts get a verdict."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import exp, log, pi, sqrt
from typing import Final

import pytest

from vllm_parallel.compare import FALSE_VERDICTS, Ratio

Noise = Callable[[random.Random, bool], float]  # the generator, and whether it is the baseline's

LABELS: Final = 2  # beside the baseline
CONCURRENCIES: Final = 4
COMPARISONS: Final = 200


def student(rng: random.Random) -> float:
    """Of three degrees of freedom: tails that have no fourth moment."""
    return rng.gauss(0, 1) / sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3)


NOISE: Final[dict[str, Noise]] = {
    "normal": lambda rng, base: log(1 + 0.05 * max(-10, min(10, rng.gauss(0, 1)))),
    "lognormal": lambda rng, base: 0.05 * rng.gauss(0, 1),
    "heavy tails": lambda rng, base: 0.02 * student(rng),
    "outliers": lambda rng, base: rng.gauss(0, 0.3 if rng.random() < 0.1 else 0.02),
    "skewed": lambda rng, base: -log(1 + rng.expovariate(20)),
    "baseline 3 times as noisy": lambda rng, base: rng.gauss(0, 0.06 if base else 0.02),
    "baseline 10 times as noisy": lambda rng, base: rng.gauss(0, 0.2 if base else 0.02),
    "baseline 10 times as steady": lambda rng, base: rng.gauss(0, 0.02 if base else 0.2),
}


@pytest.mark.parametrize("trials", [3, 5, 10])
@pytest.mark.parametrize("name", NOISE)
def test_equal_layouts_seldom_get_a_verdict(name: str, trials: int) -> None:
    """Of whole comparisons of equal layouts at most one in twenty finds one faster."""
    rng, noise = random.Random(f"{name} {trials}"), NOISE[name]
    error = FALSE_VERDICTS / (LABELS * CONCURRENCIES)
    false = 0
    for _ in range(COMPARISONS):
        verdicts = []
        for _ in range(CONCURRENCIES):
            base = [noise(rng, True) for _ in range(trials)]
            for _ in range(LABELS):
                ratio = Ratio.of([noise(rng, False) for _ in range(trials)], base, error)
                verdicts.append(ratio.above or ratio.below)
        false += any(verdicts)
    assert false / COMPARISONS <= FALSE_VERDICTS


@pytest.mark.parametrize("trials", [3, 5, 10])
def test_a_real_difference_is_found(trials: int) -> None:
    """Layouts that differ by a third, with noise of 1 %: nearly always."""
    rng = random.Random(trials)
    error = FALSE_VERDICTS / (LABELS * CONCURRENCIES)
    found = [
        Ratio.of(
            [log(4 / 3) + rng.gauss(0, 0.01) for _ in range(trials)],
            [rng.gauss(0, 0.01) for _ in range(trials)],
            error,
        ).above
        for _ in range(200)
    ]
    assert sum(found) >= 196


def test_bounds_by_hand() -> None:
    """Two degrees of freedom have a closed form: the share beyond t is 1 - t / sqrt(2 + t²)."""
    ours, theirs = [0.3, 0.32, 0.37], [0.0, 0.03, -0.06]
    ratio = Ratio.of(ours, theirs, 0.01)
    squares = sum(sum((x - sum(s) / 3) ** 2 for x in s) / 2 / 3 for s in (ours, theirs))
    assert ratio.low is not None
    assert ratio.high is not None
    t = log(ratio.high / ratio.value) / sqrt(squares)
    assert 1 - t / sqrt(2 + t * t) == pytest.approx(0.01)
    assert log(ratio.value / ratio.low) == pytest.approx(log(ratio.high / ratio.value))
    assert ratio.value == pytest.approx(exp(0.33 - -0.01))


def test_wide_samples_are_a_student_of_the_smaller() -> None:
    """With three degrees of freedom the density integrates to the share that is asked for."""
    ratio = Ratio.of([0.0, 1.0, 0.5, 0.2, 0.9, 0.3], [0.1, 0.3, 0.2, 0.25], 0.05)
    ours = [0.0, 1.0, 0.5, 0.2, 0.9, 0.3]
    theirs = [0.1, 0.3, 0.2, 0.25]
    square = 0.0
    for sample in (ours, theirs):
        mean = sum(sample) / len(sample)
        square += sum((x - mean) ** 2 for x in sample) / (len(sample) - 1) / len(sample)
    assert ratio.high is not None
    t = log(ratio.high / ratio.value) / sqrt(square)
    steps = 20000
    area = 0.0
    for step in range(steps):
        x = (step + 0.5) * t / steps
        area += 2 / (pi * sqrt(3)) * (1 + x * x / 3) ** -2 * t / steps
    assert 2 * area == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize(
    "ours, theirs",
    [([0.1, 0.2], [0.0, 0.1, 0.2]), ([0.1], [0.0]), ([0.1] * 3, [0.0] * 3)],
)
def test_no_bounds_without_noise_to_go_by(ours: list[float], theirs: list[float]) -> None:
    ratio = Ratio.of(ours, theirs, 0.05)
    assert (ratio.low, ratio.high) == (None, None)
    assert not ratio.above
    assert not ratio.below


def test_one_side_without_noise_has_bounds() -> None:
    assert Ratio.of([0.1] * 3, [0.0, 0.01, 0.02], 0.05).above


def test_nothing_has_no_ratio() -> None:
    with pytest.raises(ValueError, match="on both sides"):
        Ratio.of([], [0.0], 0.05)


def test_absurd_figures_do_not_overflow() -> None:
    ratio = Ratio.of([-700.0, 700.0, 0.0], [0.0, 0.1, 0.2], 1e-6)
    assert ratio.high == float("inf")
    assert ratio.low == 0.0
