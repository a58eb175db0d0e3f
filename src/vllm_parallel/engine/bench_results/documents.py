"""The JSON objects of a file of any size: one, one a line, or a list of them.

A detailed result keeps every token's time, hundreds of megabytes of arrays that nobody asks for
here. They are dropped while the file is read, so what is held stays small. No streaming parser of
JSON takes the bare NaN that vLLM writes, so the cut is made here and `json` reads what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.fields import AS_WRITTEN
from vllm_parallel.engine.inputs import Watch, chunks, shown
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.json_text import NotJsonError, read_json

MOST: Final = 10_000  # objects of a file
LARGEST: Final = 2**20  # bytes of one object outside its arrays; a result has about 2 KB
BRACKETS: Final = re.compile(rb'["\[\]{}]')
STRING_END: Final = re.compile(rb'(?<!\\)(?:\\\\)*"')
BETWEEN: Final = b" \t\r\n,"
ESCAPE: Final = b"\\"

Fields = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object of a file: the line it begins in, and its fields; arrays are empty lists."""

    line: int
    fields: Fields


def documents(path: Path, watch: Watch | None = None) -> Iterator[Document]:
    """Every object of a file, one at a time; those before an error are given.

    Raises:
        ParseError: a file that cannot be read, is empty, is not JSON, or ends in the middle.
    """
    yield from read(shown(path), chunks(path, watch))


def read(place: str, pieces: Iterable[bytes]) -> Iterator[Document]:
    """The objects in some bytes; `place` is how errors name where they are from.

    >>> [one.fields for one in read("r.json", [b'{"ttfts": [1, 2]} ', b'{"completed": 3}'])]
    [{'ttfts': []}, {'completed': 3}]
    """
    cut = _Cut(place)
    number = 0
    for number, (line, raw) in enumerate(cut.objects(pieces), start=1):
        if number > MOST:
            problem, fix = f"has over {MOST} objects", "give a file of results"
            raise ParseError(place=place, problem=problem, fix=fix)
        yield Document(line=line, fields=_fields(f"{place} line {line}", bytes(raw)))
    if cut.listed or cut.string or cut.braces:
        problem = "ends in the middle: it was cut"
        raise ParseError(place=f"{place} line {cut.line}", problem=problem, fix="copy it again")
    if not number:
        problem = "is empty" if cut.empty else "holds no JSON object"
        raise ParseError(place=place, problem=problem, fix=AS_WRITTEN)


class _Cut:
    """Goes through bytes once, and keeps of each object what stands outside its arrays."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.line = 1  # that was reached
        self.counted = 0  # bytes of the chunk up to which lines were counted
        self.kept = bytearray()
        self.braces = 0  # objects that are open
        self.dropped = 0  # arrays that are open inside an object
        self.listed = False  # whether a list of objects is open
        self.string = False
        self.escaped = False  # whether the chunk before ended in a backslash
        self.empty = True
        self.began = 1

    def objects(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytearray]]:
        """The line and the text of each object."""
        for piece in pieces:
            self.empty = self.empty and not piece.strip(BETWEEN)
            self.counted = 0
            yield from self._through(piece)
            self._line(piece, len(piece))

    def _through(self, piece: bytes) -> Iterator[tuple[int, bytearray]]:
        if self.escaped:
            self._keep(piece, 0, 1)
            piece, self.escaped = piece[1:], False  # what is escaped begins nothing
        at = 0
        while at < len(piece):
            if self.string:
                at = self._in_string(piece, at)
                continue
            found = BRACKETS.search(piece, at)
            end = found.start() if found else len(piece)
            self._keep(piece, at, end)
            if found is None:
                return
            done = self._bracket(piece, end)
            at = end + 1
            if done:
                yield self.began, self.kept
                self.kept = bytearray()

    def _in_string(self, piece: bytes, at: int) -> int:
        """Go on to the end of a string, which may be in another chunk."""
        found = STRING_END.search(piece, at)
        end = found.end() if found else len(piece)
        self._keep(piece, at, end)
        self.string = found is None
        if self.string:
            rest = piece[at:]
            self.escaped = bool((len(rest) - len(rest.rstrip(ESCAPE))) % 2)
        return end

    def _bracket(self, piece: bytes, at: int) -> bool:
        """Take a bracket or the beginning of a string; True where it ends an object."""
        sign = piece[at : at + 1]
        if not self.braces:
            return self._outside(piece, at, sign)
        if sign == b'"':
            self.string = True
        elif sign == b"[":
            self.dropped += 1
            if self.dropped == 1:
                self.kept += b"[]"
            return False
        elif sign == b"]":
            if not self.dropped:
                raise self._refused(piece, at, "is not JSON: ] where nothing is open")
            self.dropped -= 1
            return False
        self._keep(piece, at, at + 1)
        if self.dropped or sign not in b"{}":
            return False
        self.braces += 1 if sign == b"{" else -1
        return not self.braces

    def _outside(self, piece: bytes, at: int, sign: bytes) -> bool:
        """A bracket between objects: it begins one, or a list of them; it ends none."""
        if sign == b"{":
            self.braces = 1
            self.kept += sign
            self.began = self._line(piece, at)
        elif sign == (b"]" if self.listed else b"["):
            self.listed = not self.listed
        else:
            raise self._refused(piece, at, "is no result and no list of them")
        return False

    def _keep(self, piece: bytes, start: int, end: int) -> None:
        if not self.braces:
            rest = piece[start:end].lstrip(BETWEEN)
            if rest:
                text = rest[:80].decode("utf-8", "replace").strip()
                raise self._refused(piece, end - len(rest), f"is not JSON: {shortened(text)}")
        elif not self.dropped:
            self.kept += piece[start:end]
            if len(self.kept) > LARGEST:
                problem = f"has over {LARGEST} bytes outside its arrays"
                raise self._refused(piece, start, problem)

    def _line(self, piece: bytes, at: int) -> int:
        """The line of a byte; of those already counted, the last."""
        self.line += piece.count(b"\n", self.counted, at)
        self.counted = max(self.counted, at)
        return self.line

    def _refused(self, piece: bytes, at: int, problem: str) -> ParseError:
        line = self._line(piece, at)
        fix = AS_WRITTEN
        return ParseError(place=f"{self.place} line {line}", problem=problem, fix=fix)


def _fields(place: str, raw: bytes) -> Fields:
    """The fields of one object.

    Raises:
        ParseError: it is not JSON, not UTF-8, nested too deep, or gives a field twice.
    """

    def once(pairs: list[tuple[str, object]]) -> Fields:
        fields: Fields = {}
        for name, value in pairs:
            if name in fields:
                problem = f"gives {shortened(name)} twice"
                raise ParseError(place=place, problem=problem, fix="keep the one that was meant")
            fields[name] = value
        return fields

    try:
        found = read_json(raw, pairs=once)
    except NotJsonError as error:
        fix = AS_WRITTEN
        raise ParseError(place=place, problem=f"is not JSON: {error.fault}", fix=fix) from None
    return found if isinstance(found, dict) else {}
