"""Whether each trial's result is of the layout, the load and the trial that its name says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results import BenchResult, Sweep
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.run import Run, RunLayout

SLACK: Final = 0.01  # of the tokens of a request, and one: a tokenizer adds the first of a text


def read_results(folder: Path, run: Run) -> tuple[dict[str, BenchResult], list[Finding]]:
    """The result of each trial whose file is there, by its name, and what could not be read."""
    results, findings = {}, []
    for layout, _, concurrency, trial in run.trials():
        name = layout.result(concurrency, trial)
        if not (folder / name).is_file():
            continue
        try:
            rows = Sweep.of([folder / name]).rows
        except ParseError as error:
            findings.append(_finding(Sort.UNREAD, name, f"cannot be read: {error.problem}"))
            continue
        if len(rows) > 1:
            findings.append(_finding(Sort.DISAGREES, name, f"holds {len(rows)} results for one"))
        results[name] = rows[0]
    return results, findings


def of_trials(run: Run, results: dict[str, BenchResult]) -> Iterator[Finding]:
    """What does not agree with `run.toml`, and results that are copies of others."""
    for layout, start, concurrency, trial in run.trials():
        name = layout.result(concurrency, trial)
        if name in results:
            result = results[name]
            if result.start not in (None, start.number):
                says = f"says start {result.start}, run.toml {start.number}"
                yield _finding(Sort.DISAGREES, name, says)
            for says in (*_named(layout, trial, result), *_asked(run, concurrency, result)):
                yield _finding(Sort.DISAGREES, name, says)
            for doubt in result.doubts:
                fix = "its row is shown as not comparable"
                yield Finding(sort=Sort.REMARK, file=name, says=f"is in doubt: {doubt}", fix=fix)
    first: dict[tuple[object, ...], str] = {}
    for name, result in results.items():
        outcome = result.outcome
        key = outcome.duration, outcome.output_throughput, result.load.date
        if outcome.completed and first.setdefault(key, name) != name:
            yield _finding(Sort.DISAGREES, name, f"is a copy of {first[key]}")


def _named(layout: RunLayout, trial: int, result: BenchResult) -> Iterator[str]:
    """What its metadata and its name say differently."""
    if result.label != layout.name:
        yield f"says layout {shortened(result.label)}, not {shortened(layout.name)}"
    if result.gpus is None:
        yield "has no gpus in its metadata"
    elif result.gpus != layout.gpus:
        yield f"says {result.gpus} GPUs, run.toml {layout.gpus}"
    if result.trial != trial:
        yield f"says trial {result.trial}"


def _asked(run: Run, concurrency: int, result: BenchResult) -> Iterator[str]:
    """What its load says differently."""
    load, said = run.load, result.load
    for what, found, wanted in (
        ("concurrency", said.max_concurrency, concurrency),
        ("prompts", said.num_prompts, load.prompts_at(concurrency)),
        ("requests a second", said.request_rate, load.request_rate),
    ):
        if found != wanted:
            yield f"says {found} {what}, run.toml {wanted}"
    completed, failed = result.outcome.completed, result.outcome.failed or 0
    if said.num_prompts is not None and completed + failed > said.num_prompts:
        yield f"counts {completed} requests done and {failed} failed, of {said.num_prompts}"
    for what, total, wanted in (
        ("input", said.input_tokens, load.input_tokens),
        ("output", said.output_tokens, load.output_tokens),
    ):
        if (
            completed
            and total is not None
            and abs(total / completed - wanted) > max(1, SLACK * wanted)
        ):
            yield f"has {total / completed:,.1f} {what} tokens a request, run.toml {wanted:,}"


def _finding(sort: Sort, name: str, says: str) -> Finding:
    fix = "repeat the trial, or correct run.toml"
    return Finding(sort=sort, file=name, says=says, fix=fix)
