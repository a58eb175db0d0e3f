"""The line that says how far a command has come."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from vllm_parallel.reports.progress import CLEAR, Progress

MIB = 2**20


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, path: Path, seconds: float, *, terminal: bool) -> str:
    """What stands on standard error after three pieces that took so long each."""
    clock = iter(float(number) * seconds for number in range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress() as watched:
        read = watched.follow(path)
        for _ in range(3):
            read(MIB)
    return stream.getvalue()


def test_a_large_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The line is drawn over itself, and taken away at the end."""
    path = tmp_path / "run\x1b[31m.json"
    path.write_bytes(bytes(4 * MIB))
    text = shown(monkeypatch, path, 2.0, terminal=True)
    first, *_, last = text.split(CLEAR)[1:]
    assert first == r"reading file 1, run\x1b[31m.json: 1.0 of 4.0 MiB"
    assert last == ""


@pytest.mark.parametrize("seconds, terminal", [(0.01, True), (2.0, False)])
def test_nobody_waits_or_watches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, terminal: bool
) -> None:
    assert shown(monkeypatch, tmp_path / "none.json", seconds, terminal=terminal) == ""
