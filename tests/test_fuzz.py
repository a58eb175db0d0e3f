"""A small draw of what `make fuzz` tries: no damaged file brings a command down."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from scripts.damage import damaged
from scripts.fuzz import SHARES, TARGETS, Target, batch, folder_of, tried
from vllm_parallel import cli

DRAW: Final = 30  # inputs of each command
SEED: Final = 20261130


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_small_draw(target: Target) -> None:
    codes = batch(target, DRAW, SEED)
    assert set(codes) <= {cli.ACCEPTED, cli.REFUSED, cli.UNREADABLE}
    assert codes.total() >= DRAW // 2


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_whole_file_is_read(target: Target) -> None:
    """What is damaged is a file that its command takes."""
    whole = Path(__file__).parent / "fixtures" / "fuzz" / target.file
    with folder_of(target):
        assert tried(target, whole.read_bytes(), as_json=True) != cli.UNREADABLE


def test_the_shares() -> None:
    assert sum(SHARES.values()) == 100
    assert set(SHARES) == {target.name for target in TARGETS}


def test_damage() -> None:
    """Some by hand: where it is done, and that each kind does something."""
    text = b'{"a": 1, "b": 22}\nc\n'
    assert damaged(text, [("cut", 3, 1, b"")]) == b'{"a'
    assert damaged(text, [("dropped", 1, 3, b"")]) == b'{: 1, "b": 22}\nc\n'
    assert damaged(text, [("value_replaced", 13, 1, b"NaN")]) == b'{"a": 1, "b": NaN}\nc\n'
    assert damaged(text, [("line_moved", 1, 0, b"")]) == b'c\n{"a": 1, "b": 22}\n'
    assert damaged(b"", [("line_dropped", 9, 9, b"x"), ("put", 9, 9, b"x")]) == b"x"


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints an escape ends the run, with the smallest file that shows it."""
    from vllm_parallel.reports import bench  # noqa: PLC0415

    monkeypatch.setattr(bench, "on_one_line", str)
    target = next(one for one in TARGETS if one.name == "bench")
    content = (Path(__file__).parent / "fixtures" / "fuzz" / target.file).read_bytes()
    evil = content.replace(b'"tp2"', rb'"\u001b[31m"')
    with folder_of(target), pytest.raises(AssertionError, match="prints"):
        tried(target, evil, as_json=False)
