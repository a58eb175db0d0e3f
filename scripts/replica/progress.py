"""How long the rest will take, from how long the same things took so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

# Seconds on two free cores, until something was measured.
FIRST_GUESS: Mapping[str, float] = {"start": 45.0, "trial": 15.0}


@dataclass(slots=True)
class Pace:
    """Seconds of what was done, by its kind and what it was."""

    seen: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def note(self, kind: str, what: str, seconds: float) -> None:
        """Remember how long something took."""
        self.seen.setdefault((kind, what), []).append(seconds)

    def expected(self, kind: str, what: str) -> float:
        """The mean of the same, else of its kind, else a first guess.

        >>> pace = Pace()
        >>> pace.expected("start", "tp2")
        45.0
        >>> pace.note("start", "tp1", 30.0)
        >>> pace.note("start", "dp2", 90.0)
        >>> pace.expected("start", "dp2"), pace.expected("start", "tp2")
        (90.0, 60.0)
        """
        same = self.seen.get((kind, what))
        if same:
            return fmean(same)
        kin = [seconds for (of, _), all_ in self.seen.items() if of == kind for seconds in all_]
        return fmean(kin) if kin else FIRST_GUESS[kind]

    def remaining(self, steps: Iterable[tuple[str, str]]) -> float:
        """Seconds of everything that is still to be done."""
        return sum(self.expected(kind, what) for kind, what in steps)


def in_words(seconds: float) -> str:
    """A length of time as people say it.

    >>> [in_words(seconds) for seconds in (5, 89, 3000, 5500)]
    ['less than a minute', '1 minute', '50 minutes', '1 h 32 min']
    """
    minutes = round(seconds / 60)
    if seconds < 60:
        return "less than a minute"
    if minutes < 90:
        return f"{minutes} minute{'s' if minutes > 1 else ''}"
    return f"{minutes // 60} h {minutes % 60:02d} min"
