"""What shell text is made of: tokens as they are written, words as a command gets them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass

NAME: Final = r"[A-Za-z_]\w*"


class Kind(StrEnum):
    """What a piece of a word is before the shell has expanded it."""

    TEXT = "text"
    VARIABLE = "variable"  # what stands in ${…}
    SUM = "sum"  # what stands in $((…))
    OUTPUT = "output"  # what stands in $(…)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a word. `quoted` keeps the shell from splitting it."""

    kind: Kind
    text: str
    source: str  # as it is written
    quoted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word with its pieces, or an operator; of `NAME=(…)` the words in brackets too."""

    line: int
    operator: str = ""
    pieces: tuple[Piece, ...] = ()
    array: tuple[Token, ...] | None = None

    @property
    def plain(self) -> str:
        """The word if nothing in it is quoted or expanded, else nothing."""
        if all(piece.kind is Kind.TEXT and not piece.quoted for piece in self.pieces):
            return "".join(piece.text for piece in self.pieces)
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a command. `known` is false where its text still names what nobody defined."""

    text: str
    line: int
    known: bool = True


def unreadable(line: int, problem: str, fix: str) -> ParseError:
    """The error of a text that no shell would read.

    >>> str(unreadable(3, "opens a quote that is never closed", "close it"))
    'line 3 opens a quote that is never closed; close it'
    """
    return ParseError(place=f"line {line}", problem=problem, fix=fix)
