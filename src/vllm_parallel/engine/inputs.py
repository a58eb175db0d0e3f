"""Files that anyone may have written: bytes and lines of them, with a bound on what is held."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass

CHUNK: Final = 2**18
LONGEST_LINE: Final = 2**16
FOREIGN: Final = {
    codecs.BOM_UTF16_LE: "is UTF-16, as PowerShell writes it",
    codecs.BOM_UTF16_BE: "is UTF-16, as PowerShell writes it",
    b"\x1f\x8b": "is compressed by gzip",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd",
    b"PK\x03\x04": "is a zip archive",
}

Watch = Callable[[int], None]  # told how many bytes were read, each time


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a file, its number from 1, and whether its end was there."""

    number: int
    text: str
    ended: bool


def shown(path: Path) -> str:
    r"""A path as words of an error, on one line.

    >>> shown(Path("a\nb.json"))
    'a\\nb.json'
    """
    return on_one_line(str(path))


def chunks(path: Path, watch: Watch | None = None) -> Iterator[bytes]:
    """The bytes of a file, some at a time, without the mark of UTF-8 at its beginning.

    Raises:
        ParseError: a file that cannot be read, or is no plain text.
    """
    first = True
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                if watch is not None:
                    watch(len(piece))
                if first:
                    _refuse_foreign(path, piece)
                    piece = piece.removeprefix(codecs.BOM_UTF8)
                    first = False
                yield piece
    except (OSError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ParseError(place=shown(path), problem=problem, fix="give a file") from None


def lines(path: Path, watch: Watch | None = None) -> Iterator[Line]:
    """The lines of a file of UTF-8, one at a time.

    Raises:
        ParseError: a file that cannot be read, a line that is too long or is not UTF-8.
    """
    number = 0
    for number, raw, ended in _split(path, chunks(path, watch)):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"{shown(path)} line {number}"
            problem = f"is not UTF-8 at byte {error.start + 1}"
            raise ParseError(place=place, problem=problem, fix="give the text as it was") from None
        yield Line(number=number, text=text, ended=ended)


def _split(path: Path, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Numbered lines, and whether each has its end."""
    number, rest = 1, b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            _refuse_long(path, number, line)
            yield number, line, True
            number += 1
        _refuse_long(path, number, rest)
    if rest:
        yield number, rest, False


def _refuse_long(path: Path, number: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        place = f"{shown(path)} line {number}"
        problem = f"has over {LONGEST_LINE} bytes"
        raise ParseError(place=place, problem=problem, fix="give a file of text lines")


def _refuse_foreign(path: Path, first: bytes) -> None:
    for mark, problem in FOREIGN.items():
        if first.startswith(mark):
            raise ParseError(place=shown(path), problem=problem, fix="give it as plain UTF-8")
