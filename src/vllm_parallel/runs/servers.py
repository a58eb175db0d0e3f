"""Whether what the servers were told and counted agrees with `run.toml` and with the results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results import BenchResult
from vllm_parallel.engine.commands import find
from vllm_parallel.engine.metrics import MetricsChange, Snapshot
from vllm_parallel.engine.reading import Reading
from vllm_parallel.errors import ParseError
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.run import ENVIRONMENT, Run, RunLayout, Start

# How `pip freeze` names vLLM: from an index, or as a wheel or checkout that was built.
FROZEN: Final = re.compile(r"^vllm(?:-cpu)?(?:==| @ .*?-)(\d+(?:\.\d+)+)", re.MULTILINE)
LARGEST: Final = 2**20  # of `pip freeze`
WIDTHS: Final = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size",
    "prefill_context_parallel_size",
)  # fmt: skip


def of_environment(folder: Path, run: Run) -> Iterator[Finding]:
    """Whether the packages are those of the version that was measured."""
    name = ENVIRONMENT[0]
    if not (folder / name).is_file():
        return
    with (folder / name).open(encoding="utf-8", errors="replace") as file:
        versions = FROZEN.findall(file.read(LARGEST))
    if not versions:
        yield _finding(Sort.REMARK, name, "does not name vLLM")
    elif versions[0] != release(run.vllm_version):
        yield _finding(Sort.DISAGREES, name, f"has vLLM {versions[0]}, run.toml {run.vllm_version}")
    for name in ENVIRONMENT:
        if (folder / name).is_file() and not (folder / name).stat().st_size:
            yield _finding(Sort.MISSING, name, "is empty")


def of_servers(folder: Path, run: Run, results: Mapping[str, BenchResult]) -> Iterator[Finding]:
    """Findings of the commands and the metrics of every start."""
    for layout in run.layouts:
        yield from _of_command(layout)
        for start in layout.starts:
            yield from _of_metrics(folder, run, (layout, start), results)


def _of_command(layout: RunLayout) -> Iterator[Finding]:
    """Whether the command asks for as many GPUs as the layout has."""
    commands = [one for one in find(layout.serve) if one.name == "serve"]
    if not commands:
        says = f"{layout.name}: serve holds no vllm serve command"
        yield _finding(Sort.DISAGREES, "run.toml", says)
        return
    values = [Reading.of(command).values for command in commands]
    ranks = sum(
        prod(width for width in map(one.get, WIDTHS) if isinstance(width, int)) for one in values
    )
    if ranks != layout.gpus:
        says = f"{layout.name}: its command takes {ranks} ranks, gpus is {layout.gpus}"
        yield _finding(Sort.DISAGREES, "run.toml", says)


def _of_metrics(
    folder: Path, run: Run, served: tuple[RunLayout, Start], results: Mapping[str, BenchResult]
) -> Iterator[Finding]:
    """Whether the readings are of one start, and count at least the tokens its results claim."""
    layout, start = served
    names = layout.metrics(start)
    if not all((folder / name).is_file() for name in names):
        return
    try:
        before, after = (Snapshot.of_file(folder / name) for name in names)
        change = MetricsChange.of(before, after)
    except ParseError as error:
        yield _finding(Sort.UNREAD, names[1], f"cannot be read: {error.problem}")
        return
    if not change.comparable:
        says = f"is not of the start that {names[0]} is of"
        yield _finding(Sort.DISAGREES, names[1], says)
    gains = [one.generation_tokens for one in change.engines]
    own = [layout.result(c, trial) for one, s, c, trial in run.trials() if (one, s) == served]
    found = [results[name].load.output_tokens for name in own if name in results]
    said = sum(tokens for tokens in found if tokens is not None)
    counted = sum(gain for gain in gains if gain is not None)
    if None not in gains and counted < said:
        says = f"counts {counted:,} output tokens, the results of this start {said:,}"
        yield _finding(Sort.DISAGREES, names[1], says)


def release(version: str) -> str:
    """A version without what it was built for."""
    return version.partition("+")[0]


def _finding(sort: Sort, name: str, says: str) -> Finding:
    fix = "keep the files of one run together, or correct run.toml"
    return Finding(sort=sort, file=name, says=says, fix=fix)
