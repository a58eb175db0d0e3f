"""How far a command has come with large files, on standard error, where people watch."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from vllm_parallel.engine.inputs import Watch
from vllm_parallel.errors import on_one_line
from vllm_parallel.units import MIB

SILENT: Final = 1.0  # seconds; what is done sooner needs no progress
OFTEN: Final = 0.2  # seconds between lines
LONGEST: Final = 40  # letters of a name, so that the line fits
CLEAR: Final = "\r\x1b[K"


class Progress:
    """A line that says which file is read and how much of it; nothing where nobody watches.

    >>> with Progress() as progress:
    ...     progress.follow(Path("run.json"))(1000)  # no terminal: silent
    """

    def __init__(self) -> None:
        self.watched = sys.stderr.isatty()
        self.shown = time.monotonic() + SILENT - OFTEN  # when a line was shown last
        self.files = 0
        self.written = False

    def follow(self, path: Path) -> Watch:
        """What a reader tells the bytes that it has read of a file."""
        self.files += 1
        name, done = on_one_line(path.name)[:LONGEST], 0
        size = path.stat().st_size if self.watched and path.is_file() else 0
        whole = f" of {size / MIB:,.1f}" if size else ""

        def read(count: int) -> None:
            nonlocal done
            done += count
            if self.watched and time.monotonic() > self.shown + OFTEN:
                self.shown = time.monotonic()
                self.written = True
                far = f"{done / MIB:,.1f}{whole} MiB"
                sys.stderr.write(f"{CLEAR}reading file {self.files}, {name}: {far}")
                sys.stderr.flush()

        return read

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self.written:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
