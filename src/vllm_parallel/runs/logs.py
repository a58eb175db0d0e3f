"""Whether what the servers printed agrees with `run.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vllm_parallel.engine.bench_results.sweep import Follow
from vllm_parallel.engine.inputs import Watch
from vllm_parallel.engine.log import read_file
from vllm_parallel.errors import ParseError
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.run import Run
from vllm_parallel.runs.servers import release


def of_logs(folder: Path, run: Run, follow: Follow | None = None) -> Iterator[Finding]:
    """Findings of the log of every start."""
    for layout in run.layouts:
        for start in layout.starts:
            name = layout.log(start)
            if (folder / name).is_file():
                watch = None if follow is None else follow(folder / name)
                yield from _of_log(folder, run, name, watch)


def _of_log(folder: Path, run: Run, name: str, watch: Watch | None) -> Iterator[Finding]:
    try:
        log = read_file(folder / name, watch)
    except ParseError as error:
        yield _finding(Sort.UNREAD, name, f"cannot be read: {error.problem}")
        return
    if log.vllm_version is None:
        yield _finding(Sort.REMARK, name, "does not name its release")
    elif release(log.vllm_version) != release(run.vllm_version):
        says = f"is of vLLM {log.vllm_version}, run.toml says {run.vllm_version}"
        yield _finding(Sort.DISAGREES, name, says)
    if log.refusal is not None:
        yield _finding(Sort.DISAGREES, name, f"is of a start that failed, line {log.refusal.line}")
    elif not log.engines:
        yield _finding(Sort.DISAGREES, name, "has no line with the KV cache's size")
    if log.starts > 1:
        yield _finding(Sort.DISAGREES, name, f"holds {log.starts} starts: one start, one file")


def _finding(sort: Sort, name: str, says: str) -> Finding:
    fix = "keep one start a file, of the release that run.toml names"
    return Finding(sort=sort, file=name, says=says, fix=fix)
