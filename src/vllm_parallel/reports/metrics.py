"""The command `metrics`: what each engine did between two readings of `/metrics`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from vllm_parallel.engine.metrics import EngineChange, MetricsChange, Snapshot
from vllm_parallel.engine.metrics.snapshot import INFO_LABELS
from vllm_parallel.errors import on_one_line
from vllm_parallel.render.numbers import UNKNOWN, ranks, whole_or_unknown
from vllm_parallel.render.text import table
from vllm_parallel.reports.progress import Progress
from vllm_parallel.symptoms import SYMPTOM

HEAD: Final = (
    "engine", "preemptions", "output tokens", "prompt tokens", "KV use", "running", "waiting",
    "KV tokens", "blocks", "block size",
)  # fmt: skip
# What an engine has to do more than the idlest, and by how much at least, to stand out.
FACTOR: Final = 1.5
TOKENS_APART: Final = 1000
REQUESTS_APART: Final = 8


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
    ['engines', 'symptoms', 'notes']
    """
    symptoms = [
        {
            "name": name,
            "engines": list(engines),
            "fix": SYMPTOM[name].fix,
            "address": SYMPTOM[name].address(_site()),
        }
        for name, engines in found(change).items()
    ]
    return {
        "engines": [_row(one) for one in change.engines],
        "symptoms": symptoms,
        "notes": list(change.notes),
    }


def found(change: MetricsChange) -> dict[str, tuple[int, ...]]:
    """The symptoms that two readings show, and the engines that have each.

    >>> found(MetricsChange(engines=(), notes=()))
    {}
    """
    engines = change.engines
    shown = {
        "counter-went-back": [one for one in engines if one.restarted],
        "preemptions": [one for one in engines if one.preemptions],
        "requests-wait": [one for one in engines if one.after.waiting and one.after.running],
        "engines-unbalanced": _busiest(engines),
    }
    return {name: tuple(one.engine for one in ones) for name, ones in shown.items() if ones}


def _busiest(engines: Sequence[EngineChange]) -> list[EngineChange]:
    """Engines that did, or have before them, clearly more than the idlest of several."""
    busy = []
    for measure, least in ((_generated, TOKENS_APART), (_present, REQUESTS_APART)):
        loads = [measure(one) for one in engines]
        known = [load for load in loads if load is not None]
        if len(known) == len(engines) > 1:
            limit = max(min(known) * FACTOR, min(known) + least)
            busy += [one for one, load in zip(engines, known, strict=True) if load > limit]
    return list(dict.fromkeys(busy))


def _generated(one: EngineChange) -> int | None:
    return one.generation_tokens


def _present(one: EngineChange) -> int | None:
    running, waiting = one.after.running, one.after.waiting
    return None if running is None or waiting is None else running + waiting


def report(change: MetricsChange) -> str:
    """A row an engine, then the notes."""
    rows = [HEAD, *(_cells(one) for one in change.engines)]
    if len(change.engines) > 1:
        rows.append(_total(change.engines))
    lines = ["Between the two readings", table(rows, right=range(1, len(HEAD)))]
    lines += [f"Note: {on_one_line(note)}" for note in change.notes]
    for name, engines in found(change).items():
        symptom, where = SYMPTOM[name], ranks(engines)
        plural = "s" * (len(engines) > 1)
        lines.append(f"Symptom, engine{plural} {where}: {symptom.sign}")
        lines.append(f"  fix: {symptom.fix}\n  see {symptom.address(_site())}")
    return "\n".join(lines)


def _site() -> str:
    """Where the pages are; nothing is made up where nobody said."""
    return os.environ.get("SITE_URL", "")


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
    return str(one.engine), *map(whole_or_unknown, gains), usage, *map(whole_or_unknown, stands)


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
    cells = [whole_or_unknown(number) for number in sums]
    return "all", *cells[:3], "", *cells[3:], "", ""
