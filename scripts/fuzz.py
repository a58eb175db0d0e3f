"""Feed broken files to every command that reads what vLLM or a stranger wrote.

    python -m scripts.fuzz [--inputs 100000] [--seed 1] [--processes 2]

Whole files of each kind are damaged: bytes, lines and values are dropped, doubled, moved and
replaced by what readers stumble over. A command has to answer with 0 or 1, or to end with 2 and
one line; what it prints for people holds no control character, and its JSON is JSON. Anything
else, and any exception, ends the run with the smallest input that still shows it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from scripts.damage import Damage, damaged, damages
from vllm_parallel import cli
from vllm_parallel.errors import VllmParallelError

ROOT = Path(__file__).parents[1]
WHOLE = ROOT / "tests" / "fixtures" / "fuzz"
BATCH = 500  # inputs between two lines of progress
MEMORY = Path("/dev/shm")  # files that never reach a disk, where there is such a place


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A command: the file that is damaged, the files beside it, and the words of the call."""

    name: str
    file: str
    words: tuple[str, ...]
    beside: Mapping[str, str]  # of which whole file each other one is a copy

    def lay(self, folder: Path) -> None:
        """Put the files beside it into a folder; a result is of the layout in its name."""
        for name, source in self.beside.items():
            text = (WHOLE / source).read_text("utf-8")
            layout = name.split("-")[0]
            if source == "result.json":
                text = text.replace('"tp2", "gpus": "2"', f'"{layout}", "gpus": "{layout[2:]}"')
            Path(folder, name).write_text(text, "utf-8")


RUN = {
    "environment.txt": "topo.txt", "topo.txt": "topo.txt",
    **{f"{start}-serve.log": "serve.log" for start in ("tp1", "tp1-s2", "tp2")},
    **{f"{start}-{when}.prom": "metrics.prom" for start in ("tp1", "tp1-s2", "tp2")
       for when in ("before", "after")},
    **{f"{layout}-c4-r{trial}.json": "result.json" for layout in ("tp1", "tp2")
       for trial in (1, 2)},
}  # fmt: skip
TARGETS = (
    Target(name="log", file="serve.log", words=("log", "serve.log"), beside={}),
    Target(name="failed", file="failed.log", words=("log", "failed.log"), beside={}),
    Target(
        name="topo", file="topo.txt", words=("log", "--topo", "topo.txt", "a.log"),
        beside={"a.log": "serve.log"},
    ),
    Target(
        name="metrics", file="metrics.prom", words=("metrics", "a.prom", "metrics.prom"),
        beside={"a.prom": "metrics.prom"},
    ),
    Target(name="bench", file="result.json", words=("bench", "result.json"), beside={}),
    Target(
        name="compare", file="result.json", words=("compare", ".", "--baseline", "tp2"),
        beside={f"{layout}-c4-r{trial}.json": "result.json"
                for layout in ("tp1", "tp2") for trial in (1, 2, 3)},
    ),
    Target(name="run", file="run.toml", words=("run", "check", "."), beside=RUN),
)  # fmt: skip
# Of a hundred inputs; a command that reads twenty files takes as long as twenty.
SHARES = {"log": 20, "failed": 10, "topo": 5, "metrics": 30, "bench": 29, "compare": 3, "run": 3}


def refuse(target: Target, content: bytes, why: str) -> NoReturn:
    raise AssertionError(f"{target.name}: {why}\nthe file {target.file} was {content!r}")


def not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


@cache
def parsed(words: tuple[str, ...], *, as_json: bool) -> argparse.Namespace:
    """A call, read once: to read it takes as long as to answer it."""
    return cli.parsed([*words, "--json"] if as_json else words)


def answered(given: argparse.Namespace) -> int:
    """What `cli.main` does with a call that was read."""
    try:
        return int(given.run(given))
    except VllmParallelError as error:
        sys.stderr.write(f"vllm-parallel: {error}\n")
        return cli.UNREADABLE


def tried(target: Target, content: bytes, *, as_json: bool) -> int:
    """The exit code of one call.

    Raises:
        AssertionError: it printed what it should not.
    """
    Path(target.file).write_bytes(content)
    given = parsed(target.words, as_json=as_json)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = answered(given)
    said, complaint = out.getvalue(), err.getvalue()
    if code == cli.UNREADABLE:
        line = complaint.removesuffix("\n")
        if said or not line.startswith("vllm-parallel: ") or not line.isprintable():
            refuse(target, content, f"ends with {complaint!r} and {said!r}")
    elif complaint or code not in (cli.ACCEPTED, cli.REFUSED):
        refuse(target, content, f"ends with {code} and {complaint!r}")
    elif as_json:
        for line in said.splitlines():
            json.loads(line, parse_constant=not_json)
    elif not all(line.isprintable() for line in said.removesuffix("\n").split("\n")):
        refuse(target, content, f"prints {said!r}")
    return code


def batch(target: Target, inputs: int, number: int) -> Counter[int]:
    """How often each exit code came of so many inputs, the same for the same number."""
    whole = (WHOLE / target.file).read_bytes()
    codes: Counter[int] = Counter()

    @seed(number)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(damages, st.booleans())
    def run(done: list[Damage], as_json: bool) -> None:
        codes[tried(target, damaged(whole, done), as_json=as_json)] += 1

    with folder_of(target):
        run()
    return codes


@contextlib.contextmanager
def folder_of(target: Target) -> Iterator[None]:
    """Work in a folder of its own that holds what lies beside the file."""
    before = Path.cwd()
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        target.lay(Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def batches(inputs: int, first: int) -> list[tuple[Target, int, int]]:
    """What is run: target, inputs and seed, the targets in turn."""
    made = []
    for target in TARGETS:
        left = max(inputs * SHARES[target.name] // 100, 1)
        for number, start in enumerate(range(0, left, BATCH)):
            made.append((target, min(BATCH, left - start), first + number))
    return sorted(made, key=lambda one: one[2])


def of_batch(one: tuple[Target, int, int]) -> tuple[str, Counter[int], str]:
    """A batch in a process of its own; the error as text, as it may not travel."""
    target, inputs, number = one
    try:
        return target.name, batch(target, inputs, number), ""
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what was looked for
        notes = "\n".join(getattr(error, "__notes__", ()))
        return target.name, Counter(), f"seed {number}: {type(error).__name__}: {error}\n{notes}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(words)
    work = batches(asked.inputs, asked.seed)
    total = sum(inputs for _, inputs, _ in work)
    counts: dict[str, Counter[int]] = {target.name: Counter() for target in TARGETS}
    start = shown = time.monotonic()
    with multiprocessing.Pool(asked.processes) as pool:
        for name, codes, error in pool.imap_unordered(of_batch, work):
            if error:
                print(f"\n{name}: {error}")
                return 1
            counts[name] += codes
            if time.monotonic() > shown + 5:
                shown = time.monotonic()
                done = sum(codes.total() for codes in counts.values())
                print(f"{done:,} of {total:,} inputs, {shown - start:.0f} s", flush=True)
    for name, codes in counts.items():
        listed = ", ".join(f"exit {code}: {codes[code]:,}" for code in sorted(codes))
        print(f"{name}: {codes.total():,} inputs; {listed}")
    done = sum(codes.total() for codes in counts.values())
    seconds = time.monotonic() - start
    print(f"{done:,} inputs, no traceback, {seconds:.0f} s, seed {asked.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
