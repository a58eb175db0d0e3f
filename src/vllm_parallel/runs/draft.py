"""A first `run.toml` for a folder of results: what they say is filled in, the rest left empty."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import count
from math import isinf
from pathlib import Path
from statistics import median
from typing import Final

from vllm_parallel.engine.bench_results import BenchResult, Sweep
from vllm_parallel.engine.log import ServeLog, read_file
from vllm_parallel.engine.options import SERVE
from vllm_parallel.engine.values import option_words
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.runs.reader import RUN_FILE, is_file_name
from vllm_parallel.runs.run import RunLayout, Start

ELSEWHERE: Final = ("model", "model_tag", "host", "port")  # of a command; said otherwise, or local


def write_draft(folder: Path) -> Path:
    """Write the `run.toml` of a folder; its empty texts are for people to fill.

    Raises:
        ParseError: there is one already, or no result that names its layout and its load.
    """
    path = folder / RUN_FILE
    if path.exists():
        place, fix = on_one_line(str(path)), "correct it by hand"
        raise ParseError(place=place, problem="is there already", fix=fix)
    path.write_text("\n".join(draft(folder)) + "\n", "utf-8")
    return path


def draft(folder: Path) -> Iterator[str]:
    """The lines of the file.

    Raises:
        ParseError: no result names its layout, its concurrency and its trial.
    """
    rows = [one for one in Sweep.of([folder]).rows if _described(one)]
    if not rows:
        place, problem = on_one_line(str(folder)), "has no result that says what it is of"
        raise ParseError(place=place, problem=problem, fix="name results <layout>-c<C>-r<K>.json")
    labels = dict.fromkeys(one.label or "" for one in rows)
    logs = {label: list(_logs(folder, label)) for label in labels}
    known = (log.vllm_version for found in logs.values() for log in found)
    yield from ('title = ""', f"date = {_date(rows)}", 'measured_by = ""')
    yield f"vllm_version = {_text(next((one for one in known if one), ''))}"
    most = max(one.gpus or 1 for one in rows)
    yield from ("", "[hardware]", 'name = ""', 'processor = ""', 'gpu = ""', f"count = {most}")
    yield from ("", "[model]", f"name = {_text(rows[0].load.model or '')}", 'config = ""')
    yield from _load(rows)
    for label, found in logs.items():
        yield from _layout([one for one in rows if one.label == label], found)


def _described(row: BenchResult) -> bool:
    named = row.label is not None and is_file_name(row.label)
    return named and None not in (row.load.max_concurrency, row.trial)


def _load(rows: Sequence[BenchResult]) -> Iterator[str]:
    """The load, as most of the results have it."""
    done = [one for one in rows if one.outcome.completed]
    rates = [one.load.request_rate for one in rows if one.load.request_rate is not None]
    rate = rates[0] if rates else float("inf")
    prompts = {one.load.max_concurrency or 0: one.load.num_prompts or 1 for one in rows}
    yield from ("", "[load]", 'dataset = ""')
    for name in ("input_tokens", "output_tokens"):
        sums = ((getattr(one.load, name), one.outcome.completed) for one in done)
        means = [total / completed for total, completed in sums if total is not None]
        yield f"{name} = {round(median(means)) if means else 1}"
    yield f"request_rate = {_text('inf') if isinf(rate) else rate}"
    yield f"concurrencies = {sorted(prompts)}"
    yield f"prompts = {[prompts[width] for width in sorted(prompts)]}"
    yield from (f"trials = {len({one.trial for one in rows})}", 'seed = ""', 'bench = ""')


def _layout(rows: Sequence[BenchResult], logs: Sequence[ServeLog]) -> Iterator[str]:
    first = rows[0]
    yield from ("", "[[layout]]", f"name = {_text(first.label or '')}", f"gpus = {first.gpus or 1}")
    yield f"serve = {_text(_command(logs[0]) if logs else '')}"
    starts: dict[int, set[int]] = {}
    for one in rows:
        starts.setdefault(one.start or 1, set()).add(one.trial or 1)
    for number in sorted(starts):
        yield from ("", "[[layout.start]]", f"trials = {sorted(starts[number])}")


def _command(log: ServeLog) -> str:
    """The command that a log names; empty where its options are not those of this release."""
    given: Mapping[str, object] = {
        name: value for name, value in log.asked.args.items() if name not in ELSEWHERE
    }
    try:
        words = [str(word) for words in option_words(SERVE, given) for word in words]
    except ParseError:
        return ""
    return shlex.join(["vllm", "serve", log.asked.model, *words]) if log.asked.model else ""


def _logs(folder: Path, label: str) -> Iterator[ServeLog]:
    layout = RunLayout(name=label, gpus=1, serve="", starts=())
    for number in count(1):
        path = folder / layout.log(Start(number=number, trials=()))
        if not path.is_file():
            return
        try:
            yield read_file(path)
        except ParseError:
            continue


def _date(rows: Sequence[BenchResult]) -> date | str:
    """The first day of the results, which vLLM writes as 20261203-090000; else an empty text."""
    days = []
    for one in rows:
        try:
            days.append(datetime.strptime((one.load.date or "")[:8], "%Y%m%d").date())  # noqa: DTZ007
        except ValueError:
            continue
    return min(days) if days else _text("")


def _text(value: str) -> str:
    """A text as TOML writes it, on one line."""
    return json.dumps(on_one_line(value), ensure_ascii=False)
