"""Typed access to the fields of a result; what looks odd is noted, what cannot be is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final

from vllm_parallel.errors import ParseError, shortened

LARGEST: Final = 2**63
AS_WRITTEN: Final = "give a result as vllm bench serve wrote it"


class ResultFields:
    """The fields of one object, where it stands, and the notes on what was read."""

    def __init__(self, place: str, values: Mapping[str, object]) -> None:
        self.place = place
        self.values = values
        self.notes: list[str] = []

    def note(self, words: str) -> None:
        """Keep a remark on what was read, once."""
        if (note := f"{self.place} {words}") not in self.notes:
            self.notes.append(note)

    def number(self, name: str) -> float | None:
        """A number; None where it is absent or null, and with a note where it is NaN or infinite.

        Raises:
            ParseError: it is something else.

        >>> ResultFields("r.json", {"duration": "8.5"}).number("duration")
        8.5
        """
        value = self.values.get(name)
        if value is None:
            return None
        found = _number(value)
        if found is None:
            fix = AS_WRITTEN
            problem = f"gives {name} as {shortened(value)}, which is no number"
            raise ParseError(place=self.place, problem=problem, fix=fix)
        if not isfinite(found):
            self.note(f"gives {name} as {found}: nothing was measured")
            return None
        return found

    def amount(self, name: str) -> float | None:
        """A number that is not below zero.

        Raises:
            ParseError: it is, or is larger than anything measured, or is no number.
        """
        found = self.number(name)
        if found is not None and not 0 <= found < LARGEST:
            problem = f"gives {name} as {found:g}, which cannot be"
            fix = AS_WRITTEN
            raise ParseError(place=self.place, problem=problem, fix=fix)
        return found

    def whole(self, name: str) -> int | None:
        """A whole number that is not below zero.

        Raises:
            ParseError: it is something else.
        """
        found = self.amount(name)
        if found is not None and found != int(found):
            problem = f"gives {name} as {found:g}, which is no whole number"
            fix = AS_WRITTEN
            raise ParseError(place=self.place, problem=problem, fix=fix)
        return None if found is None else int(found)

    def said(self, names: Iterable[str]) -> int | None:
        """A whole number of at least 1 that the user gave, under the first name that is there.

        What is no such number is noted and left out: the measurement beside it stands.

        >>> fields = ResultFields("r.json", {"gpus": True})
        >>> fields.said(["gpus"]), fields.notes
        (None, ['r.json gives gpus as true, which is no count: left out'])
        """
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            found = _number(value)
            if found is not None and 1 <= found < LARGEST and found == int(found):
                return int(found)
            self.note(f"gives {name} as {shortened(value)}, which is no count: left out")
            return None
        return None

    def text(self, name: str) -> str | None:
        """A text that is not empty; a number is one, anything else is noted and left out."""
        value = self.values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and value.strip():
            return value
        if value not in (None, ""):
            self.note(f"gives {name} as {shortened(value)}, which is no name: left out")
        return None


def _number(value: object) -> float | None:
    """A number, or a text that is one; vLLM's metadata are texts. True is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
