"""Logs of the runs that are committed: each is read whole, and its pool is the estimate's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.shared import ROOT
from vllm_parallel.engine.log import read_file
from vllm_parallel.reports.beside import Beside
from vllm_parallel.reports.launched import Launched, Meant

LOGS: Final = sorted((ROOT / "results").glob("*/*-serve.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_log_of_a_run(path: Path) -> None:
    log = read_file(path)
    assert (log.starts, log.ready, log.refusal) == (1, True, None)
    assert log.engines
    assert not any("not read" in note for note in log.notes)
    launched = Launched.of(log, Meant(args={}), path.parent)
    assert launched is not None
    beside = Beside.of(log, launched.deployment)
    assert len(beside.ranks) == len(log.workers)
    for pool in beside.pools:
        assert pool.follows is not None
        assert pool.follows[0] <= pool.printed <= pool.follows[1]
