"""One use of a rank's memory, with the range it may lie in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance

RELEASE: Final = "0.32.0"


class Span(NamedTuple):
    """Bytes that are likely, and the least and most that they may be.

    >>> Span.total([Span.exactly(3), Span(least=0, likely=1, most=5)])
    Span(least=3, likely=4, most=8)
    """

    least: int
    likely: int
    most: int

    @classmethod
    def exactly(cls, amount: int) -> Span:
        """An amount without a range."""
        return cls(amount, amount, amount)

    @classmethod
    def total(cls, spans: Iterable[Span]) -> Span:
        """All together, end to end."""
        least = likely = most = 0
        for span in spans:
            least += span.least
            likely += span.likely
            most += span.most
        return cls(least, likely, most)

    def or_more(self, other: Span) -> Span:
        """The larger of two, at each point of the range."""
        return Span(*map(max, self, other))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Term:
    """One use of a rank's memory. Without a range the bytes are exact for their release."""

    name: str
    bytes: int
    provenance: Provenance
    source: str
    release: str = RELEASE
    span: Span | None = None

    @property
    def range(self) -> Span:
        """The bytes with the range they may lie in."""
        return Span.exactly(self.bytes) if self.span is None else self.span
