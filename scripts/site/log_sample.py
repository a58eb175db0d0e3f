"""What `vllm-parallel log` prints of a log that is committed."""

from __future__ import annotations

from pathlib import Path

from vllm_parallel.engine.log import read_file
from vllm_parallel.reports.launched import Meant
from vllm_parallel.reports.log import estimated
from vllm_parallel.reports.log_table import report

ROOT = Path(__file__).resolve().parents[2]


def sample(run: str, layout: str) -> str:
    """The report of a layout's log, under the path that a reader would type."""
    path = Path("results", run, f"{layout}-serve.log")
    shown = estimated(str(ROOT / path), read_file(ROOT / path), Meant(args={}))
    text = report(shown, "").replace(f"{ROOT}/", "")
    return f"```text\n{text}\n```"
