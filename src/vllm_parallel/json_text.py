"""JSON that anyone may have written: the same value or the same words under every Python.

What Python's own reader says of a fault, where it puts it, and how deep it follows lists differ
from version to version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from vllm_parallel.errors import shortened

DEEPEST: Final = 64
MOST_DIGITS: Final = 1000
TOKENS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
BLANKS: Final = re.compile(r"[ \t\n\r]*")
TRAILING: Final = "Illegal trailing comma"
FAULTS: Final = {
    "Expecting value": "a value is expected",
    "Expecting property name": "a name in double quotes is expected",
    "Expecting ':' delimiter": "a colon is expected",
    "Expecting ',' delimiter": "a comma or the end is expected",
    "Extra data": "the text goes on behind its end",
    "Unterminated string": "a string begins that has no end",
    "Invalid control character": "a string holds a line break or another control character",
    "Invalid \\": "a string holds an escape that JSON does not have",
}

Pairs = Callable[[list[tuple[str, object]]], object]
Word = Callable[[str], object]


class NotJsonError(ValueError):
    """Why a text is not JSON, on one line: `fault`, and where, empty if it is the whole.

    >>> str(NotJsonError("a value is expected", place="line 1, column 1"))
    'line 1, column 1: a value is expected'
    """

    def __init__(self, fault: str, *, place: str = "") -> None:
        super().__init__(f"{place}: {fault}" if place else fault)
        self.fault = fault


class NoObjectError(ValueError):
    """What is wrong with a text that should be a JSON object, as the end of a sentence."""


def read_json(
    text: str | bytes, *, pairs: Pairs | None = None, constant: Word | None = None
) -> object:
    """The value that a text holds; `pairs` and `constant` are hooks of `json.loads`.

    Raises:
        NotJsonError: it holds none, is nested too deep, or has a number of too many digits.

    >>> read_json('{"layers": 80}')
    {'layers': 80}
    >>> read_json('{"layers": 80,}')
    Traceback (most recent call last):
        ...
    vllm_parallel.json_text.NotJsonError: line 1, column 15: a name in double quotes is expected
    """
    if isinstance(text, bytes):
        text = _decoded(text)
    text = text.removeprefix("\ufeff")
    _limit_depth(text)
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise _refused(error) from None


def read_object(text: str | bytes, *, constant: Word | None = None) -> Mapping[str, object]:
    """The object that a text holds.

    Raises:
        NoObjectError: it is not JSON, or another value.

    >>> read_object("null")
    Traceback (most recent call last):
        ...
    vllm_parallel.json_text.NoObjectError: is null
    """
    try:
        value = read_json(text, constant=constant)
    except NotJsonError as error:
        raise NoObjectError(f"is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise NoObjectError(f"is {shortened(value)}")
    return value


def no_constant(word: str) -> NoReturn:
    """A hook for NaN and Infinity, which Python reads and JSON does not have."""
    raise NotJsonError(f"{word} is no number")


def _decoded(text: bytes) -> str:
    encoding = json.detect_encoding(text)
    try:
        return text.decode(encoding, "surrogatepass")
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise NotJsonError(f"byte {error.start} is not {name}") from None


def _limit_depth(text: str) -> None:
    depth = 0
    for token in TOKENS.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            if depth > DEEPEST:
                raise NotJsonError(f"it is nested more than {DEEPEST} deep")
        elif sign in "]}":
            depth -= 1


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise NotJsonError(f"a number has {len(digits)} digits")
    return int(digits)


def _refused(error: json.JSONDecodeError) -> NotJsonError:
    """The fault in our words, at the place that every version would name."""
    text, place, fault = error.doc, error.pos, error.msg
    if fault.startswith(TRAILING):  # since Python 3.13; before, what follows the comma was wrong
        blanks = BLANKS.match(text, place + 1)
        place = blanks.end() if blanks else place
        fault = "Expecting property name" if text[place : place + 1] == "}" else "Expecting value"
    words = next((says for start, says in FAULTS.items() if fault.startswith(start)), "it is cut")
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return NotJsonError(words, place=f"line {line}, column {column}")
