"""Asks the real vLLM again: what the site shows, a sample of what is recorded, a server.

    make test-engine            # installs the engine if need be

Three things are compared. Every `vllm` command of the site goes through vLLM's own parser, and
its engine config where the model is in the catalog. A random sample of the recorded answers is
asked again (the seed is printed). A tiny model is served, and its log, metrics and benchmark are
held against the package and against what pages quote.
"""

from __future__ import annotations

import argparse
import json
import random
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lists import of_lists, of_metrics, of_readings
from on_site import ShownCommand, launches, shown_commands
from recordings import CONTRACT, ROOT
from served import Served, pool_line, serve
from vllm_parallel.answers import answer

HERE = Path(__file__).parent
KV_BYTES = 2**30  # VLLM_CPU_KVCACHE_SPACE=1
CPU_BLOCK = 128
BENCH_FIELDS = (
    "completed", "failed", "duration", "output_throughput", "max_concurrency", "layout", "gpus",
    "p50_ttft_ms", "p99_ttft_ms", "p50_tpot_ms", "p99_tpot_ms",
)  # fmt: skip
Row = Mapping[str, Any]


def engine() -> str:
    """The engine's python, installed if need be."""
    done = subprocess.run(
        [sys.executable, str(HERE / "install.py")], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip().splitlines()[-1]


def asked(python: str, script: str, questions: Sequence[object]) -> list[Row]:
    """The engine's answers to questions, in their order."""
    done = subprocess.run(
        [python, str(HERE / script)],
        input="\n".join(json.dumps(question) for question in questions),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_site(python: str, commands: Sequence[ShownCommand]) -> Iterator[str]:
    """What vLLM's parser or its config says of a shown command otherwise than the package."""
    shown = [one for one in commands if one.words is not None]
    parsed = asked(python, "parse.py", [one.words for one in shown])
    if len(parsed) != len(shown):
        yield f"{len(shown)} commands, {len(parsed)} of them parsed"
    launched: list[tuple[ShownCommand, Row]] = []
    for one, reply in zip(shown, parsed, strict=False):
        if reply["taken"] != (not one.review.reading.faults):
            said = "takes" if reply["taken"] else "does not take"
            yield f"{one.place}: {one.command.text}: vLLM {said} it, the package says otherwise"
        elif reply["taken"] and one.model is not None:
            question = {"ask": "verdict", "model": one.model, "as_bf16": True}
            launched.append((one, whole({**question, "args": reply["args"]})))
    for (one, _), reply in zip(
        launched, asked(python, "ask.py", [row for _, row in launched]), strict=True
    ):
        if reply.get("message", reply.get("error")) != one.refusal:
            yield f"{one.place}: {one.command.text}: vLLM says {reply}, not {one.refusal!r}"


def sampled(python: str, draw: random.Random, size: int) -> Iterator[str]:
    """What differs among record, kernel and engine in a random sample of recorded answers."""
    tests = runpy.run_path(str(CONTRACT / "test_recorded_answers.py"))
    kinds = (("verdicts", "verdict", "compared_verdict"), ("builds", "build", "compared_build"))
    for kind, ask, compare in kinds:
        rows = draw.sample(list(tests["rows"](f"{kind}.jsonl")), size)
        questions = [tests["question"](row) | {"id": n, "ask": ask} for n, row in enumerate(rows)]
        for question, row in zip(questions, rows, strict=True):
            if row.get("ranks"):
                question["more_ranks"] = [rank["rank"] for rank in row["ranks"]]
        replies = asked(python, "ask.py", [whole(question) for question in questions])
        if len(replies) != len(rows):
            yield f"{kind}: {len(rows)} questions, {len(replies)} answers"
        for row, reply in zip(rows, replies, strict=False):
            title = f"{kind}: {row['model']} {json.dumps(row['args'])}"
            yield from (f"{title}: {text}" for text in differences(row, reply))
            pairs: Mapping[str, tuple[object, object]] = tests[compare](row)
            yield from (
                f"{title}: {what}: {a!r}, {b!r}" for what, (a, b) in pairs.items() if a != b
            )


def cut(value: object) -> str:
    """A value short enough for a line."""
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}…"


def differences(row: Row, reply: Row) -> Iterator[str]:
    """Where the engine says something else than its recorded answer."""
    for key in sorted(row.keys() - {"model", "args"}):
        if reply.get(key) != row[key]:
            now = reply.get(key, reply.get("error"))
            yield f"{key} is recorded as {cut(row[key])}, now {cut(now)}"


def whole(question: Row) -> Row:
    """A question with its model's config in it, for an engine that knows no catalog."""
    if not isinstance(question["model"], str):
        return question
    path = ROOT / "src" / "vllm_parallel" / "catalog" / "models" / f"{question['model']}.json"
    return {**question, "model": json.loads(path.read_text("utf-8"))}


def of_server(served: Served) -> Iterator[str]:
    """What a server printed, counted or measured otherwise than the package and the pages say."""
    args = {"max_model_len": 2048, "block_size": CPU_BLOCK}
    ours = answer({"model": served.config, "args": args, "available_kv_bytes": KV_BYTES})
    printed, capacity = pool_line(served.log), ours["capacity"]
    if printed is None or not isinstance(capacity, dict):
        yield f"the log has no KV cache size, or the package no capacity: {ours}"
    else:
        mine = (capacity["tokens"], 2048, round(capacity["max_concurrency"], 2))
        if printed != mine:
            yield f"the log prints {printed}, the package says {mine}"
    yield from of_metrics(served)
    yield from of_readings(served)
    for field in BENCH_FIELDS:
        if field not in served.bench:
            yield f"the benchmark's result has no {field!r}"


def main() -> int:
    """Print what differs; 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--no-server", action="store_true")
    given = parser.parse_args()
    python = engine()
    commands = shown_commands()
    failures = list(of_site(python, commands))
    count = f"{len(commands)} commands, {launches(commands)} of them launches"
    print(f"the site's {count}: {len(failures)} differences", flush=True)
    print(f"seed {given.seed}, {given.sample} recorded answers of each kind")
    found = list(sampled(python, random.Random(given.seed), given.sample))
    print(f"recorded answers: {len(found)} differences", flush=True)
    failures += found
    found = list(of_lists(python))
    print(f"metrics and result fields: {len(found)} differences", flush=True)
    failures += found
    if not given.no_server:
        with tempfile.TemporaryDirectory() as folder:
            found = list(of_server(serve(python, Path(folder))))
        print(f"a server of one rank: {len(found)} differences")
        failures += found
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
