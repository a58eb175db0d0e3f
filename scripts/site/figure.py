"""A figure that a sentence quotes, with where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Where a figure came from; the values are classes of the style sheet."""

    COMPUTED = "computed"
    ASSUMED = "assumed"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value that is not merely computed. It formats as its value does.

    `source` says in a few words what it was taken from or rests on.

    >>> f"{measured(0.9214, 'nvidia-smi on the run h100'):.1%}"
    '92.1%'
    """

    value: int | float | str
    kind: Kind
    source: str

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ValueError(f"a figure that is {self.kind} says from what: source is empty")

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __str__(self) -> str:
        return str(self.value)


def by_name(figures: Mapping[str, Callable[[], object]]) -> Callable[[str], object]:
    """A module's `__getattr__`: a figure by its name, computed when a page asks.

    >>> by_name({"layers": lambda: 80})("layers")
    80
    """

    def found(name: str) -> object:
        if name not in figures:
            raise AttributeError(f"no figure {name!r}")
        return figures[name]()

    return found


def assumed(value: float | str, source: str) -> Figure:
    """A figure that rests on what nobody measured for this release."""
    return Figure(value=value, kind=Kind.ASSUMED, source=source)


def measured(value: float | str, source: str) -> Figure:
    """A figure that somebody measured: the run, or the publication, is its source."""
    return Figure(value=value, kind=Kind.MEASURED, source=source)
