"""Work done in a forked child, so that what vLLM keeps in globals, or a crash, ends with it."""

from __future__ import annotations

import logging
import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from pydantic import ValidationError

T = TypeVar("T")


class NoRoomError(Exception):
    """vLLM's refusal for want of memory, told apart from its other ValueErrors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why vLLM stops, and where: `config`, `load` or `memory`."""

    stage: str
    message: str


def words_of(error: Exception) -> str:
    """An error's sentence, without pydantic's frame; its type where it has none.

    >>> words_of(AssertionError())
    'AssertionError: '
    """
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return str(first.get("ctx", {}).get("error", first["msg"]))
    return str(error) or f"{type(error).__name__}: "


def attempt(work: Callable[[], T], stage: str) -> T | Refusal:
    """What the work returns, or the refusal it ends in."""
    try:
        return work()
    except NoRoomError as refusal:
        return Refusal(stage="memory", message=str(refusal))
    except Exception as error:
        # Whatever vLLM raises is its answer, accidents included.
        logging.getLogger(__name__).debug("refused", exc_info=error)
        return Refusal(stage=stage, message=words_of(error))


def in_child(work: Callable[[], T], limit_seconds: float) -> T | Refusal:
    """What the work returns in a forked child, or how it was refused or died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        report(work, writer)
    os.close(writer)
    data = read_all(reader, time.monotonic() + limit_seconds)
    if data is None:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if data is None:
        return Refusal(stage="load", message=f"no answer in {limit_seconds:.0f} s")
    if code:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return Refusal(stage="load", message=f"the process died: {how}")
    answer: T | Refusal = pickle.loads(data)
    return answer


def report(work: Callable[[], T], writer: int) -> NoReturn:
    """The child's whole life: does the work, writes what came of it and ends."""
    code = 1
    try:
        data = pickle.dumps(attempt(work, "load"))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        code = 0
    finally:
        # Whatever happened, the parent's code must not run twice.
        os._exit(code)


def read_all(reader: int, deadline: float) -> bytes | None:
    """Everything a child writes until it closes its end, or None when time is up."""
    parts: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = pipe.read(1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None
