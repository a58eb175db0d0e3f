"""How many times one layout's figure is another's, and between which bounds.

Trials are compared by their logarithms, as noise of a clock is a share of what it measures. The
bounds are Welch's, with the degrees of freedom of the smaller sample in place of his estimate.
His holds only near: with three trials, and noise of one layout many times the other's, it gives
twice the false verdicts that it promises. The smaller sample's never give more, whatever the two
spreads are. Bonferroni's division keeps the promise for a whole comparison.

Source: Mickey and Brown, Bounds on the distribution functions of the Behrens-Fisher statistic
(Annals of Mathematical Statistics 37, 1966)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp, fsum, inf, sqrt  # `sum` rounds otherwise since Python 3.12
from statistics import fmean
from typing import Final

from vllm_parallel.frozen import dataclass

LEAST_UNITS: Final = 3  # two give a spread that nothing vouches for
ROUNDING: Final = 1e-9  # trials that differ by less were written down, not measured
FALSE_VERDICTS: Final = 0.05  # of whole comparisons between equal layouts, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio of geometric means, with its bounds; the bounds are None where noise is unknown."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, logs: Sequence[float], baseline: Sequence[float], error: float) -> Ratio:
        """The ratio between two samples of logarithms, wrong in at most this share of cases.

        Raises:
            ValueError: an empty sample.

        >>> ratio = Ratio.of([0.69, 0.70, 0.71], [0.0, 0.01, -0.01], 0.05)
        >>> f"{ratio.value:.2f}, {ratio.low:.2f} to {ratio.high:.2f}"
        '2.01, 1.94 to 2.09'
        >>> Ratio.of([0.7], [0.0], 0.05).low is None
        True
        """
        least = min(len(logs), len(baseline))
        if not least:
            raise ValueError("a ratio needs a trial on both sides")
        difference = fmean(logs) - fmean(baseline)
        if least < LEAST_UNITS:
            return cls(value=_exp(difference))
        if all(max(sample) - min(sample) < ROUNDING for sample in (logs, baseline)):
            return cls(value=_exp(difference))
        squares = [_variance(sample) / len(sample) for sample in (logs, baseline)]
        reach = _quantile(least - 1, 1 - error / 2) * sqrt(fsum(squares))
        ends = _exp(difference - reach), _exp(difference + reach)
        return cls(value=_exp(difference), low=ends[0], high=ends[1])

    @property
    def above(self) -> bool:
        """Whether it is above 1, beyond noise."""
        return self.low is not None and self.low > 1

    @property
    def below(self) -> bool:
        """Whether it is below 1, beyond noise."""
        return self.high is not None and self.high < 1


def _variance(sample: Sequence[float]) -> float:
    mean = fmean(sample)
    return fsum((one - mean) ** 2 for one in sample) / (len(sample) - 1)


@cache
def _quantile(freedom: int, share: float) -> float:
    """Student's t that a share of samples stays below."""
    from scipy.special import stdtrit  # noqa: PLC0415  # only comparisons pay for it

    return float(stdtrit(freedom, share))


def _exp(value: float) -> float:
    try:
        return exp(value)
    except OverflowError:
        return inf
