"""A run's files as lines of bounded length, bytes that are no UTF-8 included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.engine.inputs import Watch
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass

LONGEST: Final = 2**16
CUTS: Final = ' ,"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A line, or a part of a very long one, and the number of the line."""

    line: int
    text: str


def pieces(path: Path, watch: Watch | None = None) -> Iterator[Piece]:
    """Every piece of a file; joined they are the file, byte for byte.

    Raises:
        ParseError: the file cannot be read.
    """
    number, rest = 1, ""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            while read := file.readline(LONGEST):
                if watch is not None:
                    watch(len(read))
                text = rest + read
                if read.endswith("\n") or len(read) < LONGEST:
                    yield Piece(line=number, text=text)
                    number, rest = number + 1, ""
                    continue
                end = max(map(text.rfind, CUTS)) + 1 or len(text)
                yield Piece(line=number, text=text[:end])
                rest = text[end:]
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        place = on_one_line(str(path))
        raise ParseError(place=place, problem=problem, fix="give a file") from None
    if rest:
        yield Piece(line=number, text=rest)
