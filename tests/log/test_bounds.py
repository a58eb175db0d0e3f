"""Files that are huge, cut, empty or no text at all: one line, bounded memory, no traceback."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.engine.log import drafts, read, read_file, serve_log
from vllm_parallel.errors import ParseError

STATS: Final = (
    b"(APIServer pid=1) INFO 11-30 20:30:00 [loggers.py:310] Engine 000: Avg prompt throughput: "
    b"1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 8 reqs, Waiting: 4 reqs, "
    b"GPU KV cache usage: 98.5%, Prefix cache hit rate: 0.0%\n"
)
POOL: Final = (
    b"(EngineCore pid=9) INFO 11-30 20:26:22 [kv_cache_utils.py:2327] GPU KV cache size: 2,048 "
    b"tokens, Maximum concurrency for 1,024 tokens per request: 2.00x\n"
)
ALLOWED: Final = 8 * 2**20


def repeated(piece: bytes, kilobytes: int) -> Iterator[bytes]:
    """A piece over and over, in chunks of 64 KiB."""
    chunk = piece * (2**16 // len(piece) + 1)
    for _ in range(kilobytes // 64):
        yield chunk


def peak_of(chunks: Iterable[bytes]) -> int:
    """The most memory that reading took at once."""
    tracemalloc.start()
    try:
        read(chunks)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def several(*parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield from part


def processes(count: int) -> Iterator[bytes]:
    """Lines of ever new processes."""
    head = "(Worker_TP0 pid={}) INFO 11-30 20:26:20 [a.py:1] "
    line = head + "Model loading took {} GiB memory and 2.0 seconds\n"
    for number in range(count):
        yield line.format(number, number % 7).encode()


LONG: Final = {
    "one line": lambda: several([POOL], repeated(b"x", 48_000)),
    "one line of NULs": lambda: several([POOL], repeated(b"\0", 48_000)),
    "one line that begins as a record": lambda: several(
        [POOL[:80]], repeated(b"9", 48_000), [b"\n", POOL]
    ),
    "one line with returns": lambda: several([POOL], repeated(b"bar 5%\r", 64)),
    "statistics": lambda: several([POOL], repeated(STATS, 512)),
    "processes": lambda: processes(5000),
    "open sentences": lambda: several([POOL], repeated(b"ValueError: and so on\n", 256)),
    "wrapped lines": lambda: several([POOL], repeated(POOL[:100] + b"\n", 512)),
}


@pytest.mark.parametrize("name", LONG)
def test_memory_is_bounded(name: str) -> None:
    assert peak_of(LONG[name]()) < ALLOWED


def test_long_line_is_said() -> None:
    log = read(several([POOL], repeated(b"x", 128), [b"\n", STATS]))
    assert log.kv_tokens_total == 2048
    assert len(log.stats) == 1
    assert any(note.startswith("line 2 is too long") for note in log.notes)


def test_statistics_that_are_dropped_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "STATS_KEPT", 100)
    monkeypatch.setattr(serve_log, "STATS_KEPT", 100)
    log = read(several([POOL], [STATS] * 105))
    assert len(log.stats) == 100
    assert any("105 lines of statistics the last 100" in note for note in log.notes)


NO_LOGS: Final = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n \n", "is empty"),
    "NULs": (b"\0" * 100_000, "is empty"),
    "binary": (bytes(range(256)) * 1000, "is no log of vLLM"),
    "JSON": (b'{"date": "20261130", "completed": 3}\n', "is no log of vLLM"),
    "prose": (b"hello\nworld\n", "is no log of vLLM"),
    "gzip": (b"\x1f\x8b\x08\0" + b"\0" * 50, "is packed"),
    "another server": (b"INFO:     Started server process [1]\n", "is no log of vLLM"),
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_no_log(name: str, tmp_path: Path) -> None:
    data, problem = NO_LOGS[name]
    path = tmp_path / "x\ny.log"
    path.write_bytes(data)
    with pytest.raises(ParseError, match=problem) as caught:
        read_file(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["missing.log", ".", "a\0b"])
def test_unreadable(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        read_file(tmp_path / name)


@pytest.mark.parametrize("end", range(0, len(POOL) + 1, 7))
def test_cut_anywhere(end: int) -> None:
    """A log that is cut gives the figures before the cut, and never half a figure."""
    log = read([POOL, b"(EngineCore_DP1" + POOL[11 : 11 + end]])
    assert [pool.kv_tokens for pool in log.engines] in ([2048], [2048, 2048])
