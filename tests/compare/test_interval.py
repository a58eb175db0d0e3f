"""Intervals of ratios: against sums done by hand, and by how often equal layouts get a verdict."""

from __future__ import annotations

import json
import random
from math import exp, log, pi, sqrt
from typing import Final

import pytest

from scripts.false_verdicts import CONCURRENCIES, DRAWS, LABELS, NOISE, OUTPUT, TRIALS, rate
from vllm_parallel.compare import FALSE_VERDICTS, Ratio

COMPARISONS: Final = 200  # the recorded figures are of many more
DRAWN: Final = json.loads(OUTPUT.read_text("utf-8"))


@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize("name", [*NOISE, "starts differ as trials do, start as unit"])
def test_equal_layouts_seldom_get_a_verdict(name: str, trials: int) -> None:
    """Of whole comparisons of equal layouts at most one in twenty finds one faster."""
    drawn = rate(name, DRAWS[name], trials, COMPARISONS)
    recorded = DRAWN["rates"][name][TRIALS.index(trials)]
    assert drawn <= FALSE_VERDICTS
    assert recorded <= FALSE_VERDICTS
    assert abs(drawn - recorded) < 0.045


def test_the_record_is_of_these_draws() -> None:
    assert list(DRAWN["rates"]) == list(DRAWS)
    assert DRAWN["trials"] == list(TRIALS)
    assert DRAWN["pairs"] == LABELS * CONCURRENCIES


@pytest.mark.parametrize("trials", TRIALS)
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
