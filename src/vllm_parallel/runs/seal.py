"""Checksums of a run's files, in the format of `sha256sum`, so that a later edit is seen."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.runs.finding import Finding, Sort

SEAL: Final = "SHA256SUMS"
LINE: Final = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def files_of(folder: Path) -> tuple[str, ...]:
    """The names of a run's files, checksums left out; those in folders below have slashes.

    >>> files_of(Path("no such folder"))
    ()
    """
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(name for name in names if name != SEAL))


def checksum(path: Path) -> str:
    """The SHA-256 of a file.

    Raises:
        ParseError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        place = on_one_line(str(path))
        raise ParseError(place=place, problem=problem, fix="give a file") from None


def sealed(folder: Path) -> str:
    """What the file of checksums says of a run as it is."""
    return "".join(f"{checksum(folder / name)}  {name}\n" for name in files_of(folder))


def broken(folder: Path) -> Iterator[Finding]:
    """Files that changed, came or went since the checksums were written; none without checksums."""
    path = folder / SEAL
    if not path.exists():
        return
    recorded = _recorded(path)
    present = files_of(folder)
    for name in sorted(recorded.keys() - set(present)):
        yield _finding(name, f"is named in {SEAL} and missing")
    for name in present:
        if name not in recorded:
            yield _finding(name, f"came after {SEAL} was written")
        elif checksum(folder / name) != recorded[name]:
            yield _finding(name, f"was changed after {SEAL} was written")


def _finding(name: str, says: str) -> Finding:
    fix = "restore it, or say in run.toml's note what was changed and seal the run again"
    return Finding(sort=Sort.CHANGED, file=name, says=says, fix=fix)


def _recorded(path: Path) -> Mapping[str, str]:
    found = {}
    text = path.read_text("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        match = LINE.fullmatch(line)
        if match is None:
            place, problem = f"{on_one_line(str(path))} line {number}", "is no checksum"
            raise ParseError(place=place, problem=problem, fix="write it with run check --seal")
        found[match[2]] = match[1]
    return found
