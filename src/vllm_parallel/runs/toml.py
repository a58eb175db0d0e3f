"""Typed access to the tables of a TOML file; what nobody asks for is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Final

from vllm_parallel.errors import ParseError, close_names, on_one_line, shortened
from vllm_parallel.frozen import dataclass, field

LARGEST: Final = 2**20  # bytes of a file that people write by hand
LONGEST: Final = 2000  # characters of a text in it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """One table: where it stands, its values, and which keys were asked for."""

    place: str
    values: Mapping[str, object]
    asked: set[str] = field(default_factory=set)

    @classmethod
    def of_file(cls, path: Path) -> Table:
        """The whole file.

        Raises:
            ParseError: the file cannot be read, is too large, or is not TOML.
        """
        place = on_one_line(str(path))
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise ParseError(place=place, problem=problem, fix="give a file") from None
        if len(content) > LARGEST:
            problem = f"has more than {LARGEST} bytes"
            raise ParseError(place=place, problem=problem, fix="keep what was measured beside it")
        try:
            return cls(place, tomllib.loads(content.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            problem = f"is not TOML: {on_one_line(str(error))}"
            raise ParseError(place=place, problem=problem, fix="see results/README.md") from None

    def text(self, key: str, default: str | None = None) -> str:
        """A text on one line; without a default it must be there and not be empty.

        >>> Table("run.toml", {"title": "A run"}).text("title")
        'A run'
        """
        value = self._value(key, default)
        if not isinstance(value, str) or (not value.strip() and value != default):
            raise self._bad(key, value, "a text")
        if len(value) > LONGEST or not value.isprintable():
            raise self._bad(key, value, f"a line of at most {LONGEST} printable characters")
        return value

    def lines(self, key: str) -> str:
        """A text that may have several lines."""
        value = self._value(key, None)
        if not isinstance(value, str) or not value.strip():
            raise self._bad(key, value, "a text")
        if len(value) > LONGEST or not all(c.isprintable() or c == "\n" for c in value):
            raise self._bad(key, value, f"at most {LONGEST} printable characters")
        return value.strip("\n")

    def whole(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number that is not below `least`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**48:
            raise self._bad(key, value, f"a whole number of at least {least}")
        return value

    def wholes(self, key: str) -> tuple[int, ...]:
        """Whole numbers of at least 1, at least one of them.

        >>> Table("run.toml", {"trials": [1, 2]}).wholes("trials")
        (1, 2)
        """
        value = self._value(key, None)
        numbers = value if isinstance(value, list) else []
        if not numbers or not all(type(one) is int and 1 <= one < 2**48 for one in numbers):
            raise self._bad(key, value, "a list of whole numbers of at least 1")
        return tuple(numbers)

    def day(self, key: str) -> date:
        """A date, as TOML writes one: no quotes."""
        value = self._value(key, None)
        if isinstance(value, datetime) or not isinstance(value, date):
            raise self._bad(key, value, "a date such as 2026-11-30, without quotes")
        return value

    def moment(self, key: str) -> datetime | None:
        """A date with a time, None where it is not there."""
        self.asked.add(key)
        value = self.values.get(key)
        if value is not None and not isinstance(value, datetime):
            raise self._bad(key, value, "a time such as 2026-11-30T20:15:00Z, without quotes")
        return value

    def rate(self, key: str) -> float:
        """A positive number, or the text "inf" as vLLM writes it."""
        value = self._value(key, None)
        if value == "inf":
            return float("inf")
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self._bad(key, value, 'a positive number or "inf"')
        return float(value)

    def table(self, key: str) -> Table:
        """A table inside this one."""
        value = self._value(key, None)
        if not isinstance(value, dict):
            raise self._bad(key, value, f"a table [{key}]")
        return Table(f"{self.place}: {key}", value)

    def tables(self, key: str) -> tuple[Table, ...]:
        """An array of tables, at least one."""
        value = self._value(key, None)
        items = value if isinstance(value, list) else []
        if not items or not all(isinstance(one, dict) for one in items):
            raise self._bad(key, value, f"tables [[{key}]]")
        places = (f"{self.place}: {key} {number}" for number in range(1, len(items) + 1))
        return tuple(Table(place, one) for place, one in zip(places, items, strict=True))

    def close(self) -> None:
        """Refuse keys that nobody asked for.

        Raises:
            ParseError: the first of them, and the keys that are close.

        >>> table = Table("run.toml", {"titel": "A run"})
        >>> table.text("title", "")
        ''
        >>> table.close()
        Traceback (most recent call last):
        ...
        vllm_parallel.errors.ParseError: run.toml has 'titel', which is no key here; did you mean \
title?
        """
        for key in self.values:
            if key not in self.asked:
                problem = f"has {shortened(key)}, which is no key here"
                fix = close_names(key, sorted(self.asked), whose="this table")
                raise ParseError(place=self.place, problem=problem, fix=fix)

    def refuse(self, key: str, problem: str, fix: str) -> ParseError:
        """The error of a key whose value does not go with others."""
        return ParseError(place=f"{self.place}: {key}", problem=problem, fix=fix)

    def _value(self, key: str, default: object) -> object:
        self.asked.add(key)
        return self.values.get(key, default)

    def _bad(self, key: str, value: object, wanted: str) -> ParseError:
        if key not in self.values:
            return ParseError(place=self.place, problem=f"has no {key}", fix=f"write {wanted}")
        shown = str(value) if isinstance(value, float) else shortened(value)  # nan is TOML's own
        problem = f"{key} is {shown}"
        return ParseError(place=f"{self.place}:", problem=problem, fix=f"write {wanted}")
