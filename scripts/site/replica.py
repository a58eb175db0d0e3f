"""The experiment on two CPU cores, as it lies in `results/`: what the kernel says beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from vllm_parallel import Deployment, Layout, Pool, Settings, load_model
from vllm_parallel.compare import Comparison, Findings, Measured, Metric, Pressure, Standing
from vllm_parallel.engine.commands import find
from vllm_parallel.engine.log import EnginePool, ServeLog, read_file
from vllm_parallel.engine.reading import Reading
from vllm_parallel.runs import Run, RunLayout, Start, read_run
from vllm_parallel.units import GIB

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "results" / "2026-11-30-cpu-replica"
CPU_BLOCK: Final = 128  # tokens of a block where none is asked for (vllm/platforms/cpu.py, v0.32.0)
SPOKEN: Final = re.compile(r"\((?P<process>[^()]+?) pid=(?P<pid>\d+)\) ")
STARVED: Final = "tp1-starved"

# What the guide greps for, and what this platform prints in its place.
LINES: Final = {
    "KV cache size: … tokens": r"KV cache size: [\d,]+ tokens",
    "Available KV cache memory": "Available KV cache memory",
    "Explicitly set (…) GiB for KV cache": r"Explicitly set \(.*\) GiB for KV cache",
    "Model loading took": "Model loading took",
    "Initializing model took": "Initializing model took",
    "init engine (…) took": r"init engine \(.*\) took",
    "Overriding num_gpu_blocks": "Overriding num_gpu_blocks",
    "disabling stats logging": "disabling stats logging",
    "Running: … reqs": r"Running: \d+ reqs",
    "Preemptions: …": r"Preemptions: \d+",
}


@cache
def run() -> Run:
    """The run that is published."""
    return read_run(FOLDER)


@cache
def measured() -> Measured:
    """Its trials."""
    return Measured.of(FOLDER)


@cache
def comparison(baseline: str, metric: Metric = Metric.OUTPUT_THROUGHPUT) -> Comparison:
    """Its layouts beside one of them."""
    return measured().comparison(baseline, metric)


@cache
def pressure() -> Pressure:
    """Its preemptions."""
    return Findings.of(measured(), "tp1", Metric.OUTPUT_THROUGHPUT).pressure


def layouts() -> tuple[RunLayout, ...]:
    """Its layouts."""
    return run().layouts


def named(name: str) -> RunLayout:
    """A layout by its name."""
    return next(layout for layout in layouts() if layout.name == name)


def standing(name: str, baseline: str, concurrency: int, metric: Metric) -> Standing:
    """How a layout stands beside another at a concurrency."""
    levels = comparison(baseline, metric).levels
    level = next(level for level in levels if level.concurrency == concurrency)
    return next(one for one in level.standings if one.pair.cell.label == name)


@cache
def log(layout: RunLayout, start: Start) -> ServeLog:
    """What a start printed."""
    return read_file(FOLDER / layout.log(start))


def asked(layout: RunLayout) -> dict[str, object]:
    """The arguments of the command that served a layout."""
    (command,) = (one for one in find(layout.serve) if one.name == "serve")
    return dict(Reading.of(command).values)


def kv_gib(layout: RunLayout) -> int:
    """The budget of every rank, as the command's variable says it."""
    found = re.search(r"\bVLLM_CPU_KVCACHE_SPACE=(\d+)\b", layout.serve)
    if found is None:
        raise ValueError(f"{layout.name}: its command gives no VLLM_CPU_KVCACHE_SPACE")
    return int(found[1])


def deployment(layout: RunLayout) -> Deployment:
    """What was served, from the config and the command that lie in the run."""
    values = asked(layout)
    whole = {name: value for name, value in values.items() if isinstance(value, int)}
    return Deployment(
        model=load_model(str(FOLDER / run().model.config)),
        layout=Layout(
            tp=whole.get("tensor_parallel_size", 1),
            pp=whole.get("pipeline_parallel_size", 1),
            dp=whole.get("data_parallel_size", 1),
        ),
        settings=Settings(
            max_model_len=whole["max_model_len"],
            max_num_batched_tokens=whole["max_num_batched_tokens"],
            max_num_seqs=whole["max_num_seqs"],
            block_size=CPU_BLOCK,
            num_gpu_blocks_override=whole.get("num_gpu_blocks_override"),
            prefix_caching=False,
        ),
    )


@cache
def pool(layout: RunLayout) -> Pool:
    """One engine's pool, computed."""
    served = deployment(layout)
    return Pool.of(served, (kv_gib(layout) * GIB,) * served.layout.pp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A pool as one start printed it, beside the computed one."""

    layout: RunLayout
    start: Start
    engine: EnginePool

    @property
    def is_equal(self) -> bool:
        """Whether tokens and concurrency are the computed ones, as they are printed."""
        computed = pool(self.layout)
        concurrency = f"{computed.max_concurrency:.2f}"
        return (
            self.engine.kv_tokens == computed.tokens
            and f"{self.engine.max_concurrency:.2f}" == concurrency
            and self.engine.max_model_len == computed.max_model_len
        )


@cache
def printed() -> tuple[Printed, ...]:
    """Every pool that any start printed."""
    return tuple(
        Printed(layout=layout, start=start, engine=engine)
        for layout in layouts()
        for start in layout.starts
        for engine in log(layout, start).engines
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Which processes printed a line in one start, and how often."""

    processes: tuple[str, ...]
    times: int


@cache
def said(layout: RunLayout, start: Start) -> dict[str, Said]:
    """Every line of `LINES` in one start."""
    found: dict[str, Counter[str]] = {what: Counter() for what in LINES}
    for process, text in spoken(layout, start):
        for what, pattern in LINES.items():
            if re.search(pattern, text):
                found[what][process] += 1
    return {
        what: Said(processes=tuple(sorted(counts)), times=counts.total())
        for what, counts in found.items()
    }


def spoken(layout: RunLayout, start: Start) -> Iterator[tuple[str, str]]:
    """The lines of a log that name their process, with its name."""
    with (FOLDER / layout.log(start)).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            prefix = SPOKEN.match(line)
            if prefix:
                yield prefix["process"], line[prefix.end() :]


def result_names() -> tuple[str, ...]:
    """The files of the trials, in the run's order."""
    return tuple(layout.result(width, trial) for layout, _, width, trial in run().trials())
