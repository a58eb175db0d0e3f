"""The command `metrics`: what each engine did between two readings of `/metrics`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from vllm_parallel.engine.metrics import EngineChange, MetricsChange, Snapshot
from vllm_parallel.engine.metrics.snapshot import INFO_LABELS
from vllm_parallel.errors import on_one_line
from vllm_parallel.render.numbers import whole
from vllm_parallel.render.text import table
from vllm_parallel.reports.progress import Progress
from vllm_parallel.symptoms import SYMPTOM

HEAD: Final = (
    "engine", "preemptions", "output tokens", "prompt tokens", "KV use", "running", "waiting",
    "KV tokens", "blocks", "block size",
)  # fmt: skip
UNKNOWN: Final = "–"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("before", metavar="BEFORE", help="what /metrics said before the load")
    parser.add_argument("after", metavar="AFTER", help="what it said after it")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(given: argparse.Namespace) -> int:
    """Print what changed; 1 if an engine was started anew in between."""
    with Progress() as progress:
        before, after = (
            Snapshot.of_file(path, progress.follow(path))
            for path in (Path(given.before), Path(given.after))
        )
    change = MetricsChange.of(before, after)
    text = json.dumps(answer(change)) if given.json else report(change)
    sys.stdout.write(text + "\n")
    return 0 if change.comparable else 1


def answer(change: MetricsChange) -> dict[str, object]:
    """The answer as JSON; every key is there, null where the readings do not say.

    >>> list(answer(MetricsChange(engines=(), notes=())))
    ['engines', 'notes']
    """
    return {"engines": [_row(one) for one in change.engines], "notes": list(change.notes)}


def report(change: MetricsChange) -> str:
    """A row an engine, then the notes."""
    rows = [HEAD, *(_cells(one) for one in change.engines)]
    if len(change.engines) > 1:
        rows.append(_total(change.engines))
    lines = ["Between the two readings", table(rows, right=range(1, len(HEAD)))]
    lines += [f"Note: {on_one_line(note)}" for note in change.notes]
    if any(one.preemptions for one in change.engines):
        symptom = SYMPTOM["preemptions"]
        lines.append(f"Preemptions: {symptom.fix} ({symptom.address()})")
    return "\n".join(lines)


def _row(one: EngineChange) -> dict[str, object]:
    after = one.after
    return {
        "engine": one.engine,
        "restarted": one.restarted,
        "preemptions": one.preemptions,
        "generation_tokens": one.generation_tokens,
        "prompt_tokens": one.prompt_tokens,
        "kv_cache_usage": after.kv_cache_usage,
        "running": after.running,
        "waiting": after.waiting,
        **{name: getattr(after, name) for name in INFO_LABELS},
    }


def _cells(one: EngineChange) -> tuple[str, ...]:
    after = one.after
    usage = UNKNOWN if after.kv_cache_usage is None else f"{after.kv_cache_usage:.1%}"
    gains = (one.preemptions, one.generation_tokens, one.prompt_tokens)
    stands = (after.running, after.waiting, *(getattr(after, name) for name in INFO_LABELS))
    return str(one.engine), *map(_count, gains), usage, *map(_count, stands)


def _total(engines: Sequence[EngineChange]) -> tuple[str, ...]:
    """Sums over the engines; blocks and their size are not added up."""
    columns = [
        [one.preemptions for one in engines],
        [one.generation_tokens for one in engines],
        [one.prompt_tokens for one in engines],
        [one.after.running for one in engines],
        [one.after.waiting for one in engines],
        [one.after.kv_cache_size_tokens for one in engines],
    ]
    sums = [None if None in column else sum(map(int, filter(None, column))) for column in columns]
    cells = [_count(number) for number in sums]
    return "all", *cells[:3], "", *cells[3:], "", ""


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else whole(number)
