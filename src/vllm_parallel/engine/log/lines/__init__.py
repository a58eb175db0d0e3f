"""The table of log lines: those of a start, about memory, under load, of failures, older ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from vllm_parallel.engine.log.lines.errors import ERRORS
from vllm_parallel.engine.log.lines.line import KnownLine
from vllm_parallel.engine.log.lines.memory import MEMORY
from vllm_parallel.engine.log.lines.older import OLDER
from vllm_parallel.engine.log.lines.serving import SERVING
from vllm_parallel.engine.log.lines.starting import STARTING

LINES: Final[tuple[KnownLine, ...]] = (*STARTING, *MEMORY, *SERVING, *ERRORS, *OLDER)
LINE: Final[Mapping[str, KnownLine]] = {line.name: line for line in LINES}

__all__ = ["ERRORS", "LINE", "LINES", "MEMORY", "OLDER", "SERVING", "STARTING", "KnownLine"]


@lru_cache(maxsize=1)
def by_first_word() -> Mapping[str, tuple[KnownLine, ...]]:
    """The lines that messages of a first word may be.

    >>> [line.name for line in by_first_word()["Available"]]
    ['available-kv']
    """
    found: dict[str, tuple[KnownLine, ...]] = {}
    for line in LINES:
        if (
            line not in ERRORS
        ):  # those are sentences of exceptions, which have a reader of their own
            for word in line.first_words:
                found[word] = (*found.get(word, ()), line)
    return found
