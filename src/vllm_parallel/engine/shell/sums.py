"""What stands in $((…)): whole numbers, as the shell reckons.

Source: Bash Reference Manual, Shell Arithmetic
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

PARTS: Final = re.compile(r"\s*(?:(\d+)|\$?\{?([A-Za-z_]\w*)\}?|(&&|\|\||[<>=!]=|[-+*/%<>!?:()]))")
LARGEST: Final = 2**63
OPERATORS: Final[tuple[dict[str, Callable[[int, int], int]], ...]] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {
        "*": lambda a, b: a * b,
        "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
        "%": lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    },
)


def total(text: str, variables: Mapping[str, str]) -> int | None:
    """The value of a sum, None where it names what is not known or is not understood.

    >>> total("C * 8 > 64 ? C * 8 : 64", {"C": "16"}), total("N + 1", {})
    (128, None)
    """
    try:
        return _Sum(list(_parts(text, variables))).whole()
    except (ValueError, IndexError, ZeroDivisionError, OverflowError):
        return None


def _parts(text: str, variables: Mapping[str, str]) -> Iterator[int | str]:
    at = 0
    text = text.strip()
    while at < len(text):
        part = PARTS.match(text, at)
        if part is None:
            raise ValueError(text)
        number, name, operator = part.groups()
        if name is not None:
            number = variables.get(name, "?")
        yield operator if number is None else int(number)
        at = part.end()


@dataclass(slots=True)
class _Sum:
    """A place in the parts of a sum, moving on."""

    parts: list[int | str]
    at: int = 0

    def whole(self) -> int:
        """The sum, if nothing is left behind it."""
        value = self.choice()
        if self.at < len(self.parts):
            raise ValueError(self.parts)
        return value

    def choice(self) -> int:
        """`a ? b : c`, or what binds tighter."""
        value = self.level(0)
        if not self._taken("?"):
            return value
        first = self.choice()
        if not self._taken(":"):
            raise ValueError(self.parts)
        second = self.choice()
        return first if value else second

    def level(self, number: int) -> int:
        """Operators of one rank, from left to right."""
        if number == len(OPERATORS):
            return self.single()
        value = self.level(number + 1)
        while self.at < len(self.parts) and self.parts[self.at] in OPERATORS[number]:
            operator = OPERATORS[number][str(self.parts[self.at])]
            self.at += 1
            value = operator(value, self.level(number + 1))
            if abs(value) >= LARGEST:
                raise OverflowError
        return value

    def single(self) -> int:
        """A number, a sign and what follows, or brackets."""
        part = self.parts[self.at]
        self.at += 1
        if isinstance(part, int):
            return part
        if part == "(":
            value = self.choice()
            if self._taken(")"):
                return value
        elif part in ("-", "+", "!"):
            value = self.single()
            return {"-": -value, "+": value, "!": int(not value)}[part]
        raise ValueError(part)

    def _taken(self, part: str) -> bool:
        found = self.at < len(self.parts) and self.parts[self.at] == part
        self.at += found
        return found
