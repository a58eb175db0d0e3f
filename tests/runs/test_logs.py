"""Logs that do not belong to a run are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.made import LOG, complete
from vllm_parallel.runs import Check, Sort

Fault = Callable[[Path], object]


@pytest.mark.parametrize(
    "fault, sort, says",
    [
        (
            lambda f: (f / "tp1-serve.log").write_text(LOG.replace("0.32.0", "0.31.0")),
            Sort.DISAGREES,
            "tp1-serve.log is of vLLM 0.31.0, run.toml says 0.32.0",
        ),
        (
            lambda f: (f / "tp1-serve.log").write_text(LOG * 2),
            Sort.DISAGREES,
            "tp1-serve.log holds 2 starts: one start, one file",
        ),
        (
            lambda f: (f / "tp1-serve.log").write_text("hello\n"),
            Sort.UNREAD,
            "tp1-serve.log cannot be read: is no log of vLLM",
        ),
    ],
)
def test_each_fault_is_named(tmp_path: Path, fault: Fault, sort: Sort, says: str) -> None:
    folder = complete(tmp_path / "made-up")
    fault(folder)
    [found] = Check.of(folder).findings
    assert found.sort is sort
    assert says in str(found)
