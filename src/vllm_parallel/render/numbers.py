"""Numbers as people read them. The only place that divides bytes into GiB."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from vllm_parallel.units import GIB, KIB, MIB

UNKNOWN: Final = "–"


def whole(number: int) -> str:
    """A whole number with thousands separators.

    >>> whole(1368448)
    '1,368,448'
    """
    return f"{number:,}"


def whole_or_unknown(number: int | None) -> str:
    """A whole number, or the sign for one that is not known.

    >>> whole_or_unknown(8192), whole_or_unknown(None)
    ('8,192', '–')
    """
    return UNKNOWN if number is None else whole(number)


def gib(amount: int, places: int = 2) -> str:
    """Bytes in GiB.

    >>> gib(17640734720)
    '16.43 GiB'
    """
    return f"{bare_gib(amount, places)} GiB"


def bare_gib(amount: int, places: int = 1) -> str:
    """Bytes in GiB without the unit, where it stands elsewhere.

    >>> bare_gib(17640734720)
    '16.4'
    """
    return f"{amount / GIB:,.{places}f}"


def milliseconds(seconds: float, places: int = 1) -> str:
    """A time in ms.

    >>> milliseconds(0.01234), milliseconds(0.01234, 2)
    ('12.3 ms', '12.34 ms')
    """
    return f"{seconds * 1e3:.{places}f} ms"


def size(amount: int) -> str:
    """Bytes in the largest unit that keeps a digit before the point.

    >>> size(40 * 1024), size(0), size(2**20 * 3 // 2), size(17640734720)
    ('40 KiB', '0 B', '1.5 MiB', '16.43 GiB')
    """
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(amount) >= unit:
            text = f"{amount / unit:,.2f}".rstrip("0").rstrip(".")
            return f"{text} {name}"
    return f"{amount} B"


def times(factor: float) -> str:
    """How many times, as vLLM prints a concurrency.

    >>> times(167.047)
    '167.05×'
    """
    return f"{factor:,.2f}×"


def bounds(low: float, high: float) -> str:
    """The ends of an interval around a ratio, with digits enough to show which side of 1 they are.

    >>> bounds(0.912, 1.0832), bounds(0.9991, 1.4), bounds(1.00002, 1.8)
    ('0.91–1.08', '0.999–1.40', '1.00002–1.80')
    """
    return to(*(_beside_one(end) for end in (low, high)))


def _beside_one(value: float) -> str:
    texts = (f"{value:.{places}f}" for places in range(2, 7))
    return next((text for text in texts if float(text) != 1), f"{value:.2f}")


def to(least: str, most: str) -> str:
    """A range, from least to most.

    >>> to("1.2", "3.4"), to("-1", "2")
    ('1.2–3.4', '-1 to 2')
    """
    return f"{least} to {most}" if "-" in least + most else f"{least}–{most}"


def counted(number: int, what: str) -> str:
    """A number of things, in the plural unless it is one.

    >>> counted(1, "rank"), counted(1024, "rank")
    ('1 rank', '1,024 ranks')
    """
    return f"{whole(number)} {what}{'s' * (number != 1)}"


def run_of(numbers: range) -> str:
    """Numbers in a row, by their ends.

    >>> run_of(range(4, 8)), run_of(range(3, 4))
    ('4–7', '3')
    """
    return f"{numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def ranks(numbers: tuple[int, ...]) -> str:
    """Rank numbers in their order, runs of neighbours shortened.

    >>> ranks((0, 1, 2, 3)), ranks((0, 1, 4, 5)), ranks((0, 4, 1, 5))
    ('0–3', '0, 1, 4, 5', '0, 4, 1, 5')
    """
    if len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers)):
        return f"{numbers[0]}–{numbers[-1]}"
    return ", ".join(map(str, numbers))
