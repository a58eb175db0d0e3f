"""What describes the run beside vLLM's files: the environment, the machine, the model, run.toml."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from experiment import (
    ARMS,
    CONCURRENCIES,
    INPUT_TOKENS,
    LOAD,
    MODEL,
    OUTPUT_TOKENS,
    SEED,
    Arm,
    Start,
    prompts,
)  # fmt: skip
from folder import Folder

HERE = Path(__file__).parent
TITLE = "A Llama of 30 M parameters on two CPU cores"
STAMP = "%Y-%m-%dT%H:%M:%SZ"  # how a start's time is written into its results
FIRST = "CPU times say nothing about GPUs."


def describe(python: str, folder: Folder) -> None:
    """Put the environment, the machine and the model's config into the run."""
    pip = [python, "-m", "pip", "freeze", "--disable-pip-version-check"]
    folder.write("environment.txt", output(pip))
    folder.write("topo.txt", output(["lscpu"]) or f"{platform.processor()}\n".encode())
    folder.write("config.json", (HERE / "config.json").read_bytes())


def output(words: list[str]) -> bytes:
    """What a command prints; nothing where there is no such command."""
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    except FileNotFoundError:
        return b""


def finish(folder: Folder, starts: list[Start], note: str) -> None:
    """Write run.toml, last: a run without it is not complete."""
    folder.write("run.toml", "\n".join(run_toml(folder, starts, note)).encode())


def run_toml(folder: Folder, starts: list[Start], note: str) -> Iterator[str]:
    """The lines of run.toml."""
    began = {start: beginnings(folder, start) for start in starts}
    broken = sorted(start.stem for start, times in began.items() if len(times) > 1)
    notes = [FIRST, *([note] if note else [])]
    if broken:
        notes.append(
            f"Broken off and started again in the middle of its trial: {', '.join(broken)}."
        )
    yield f"title = {text(TITLE)}"
    yield f"date = {min(min(times) for times in began.values()):%Y-%m-%d}"
    yield 'measured_by = "make replica"'
    yield f"vllm_version = {text(version(folder))}"
    yield f"note = {text(' '.join(notes))}"
    yield from ("", "[hardware]", f"name = {text(f'{len(os.sched_getaffinity(0))} CPU cores')}")
    yield from ('processor = "cpu"', f"count = {max(arm.ranks for arm in ARMS)}")
    yield f"detail = {text(f'{processor()}; each rank is bound to one core')}"
    yield from ("", "[model]", f"name = {text(MODEL)}", 'config = "config.json"')
    yield from ("", "[load]", *load(len({start.trial for start in starts})))
    for arm in ARMS:
        yield from ("", "[[layout]]", f"name = {text(arm.label)}", f"gpus = {arm.ranks}")
        yield f"serve = '''\n{command(arm)}\n'''"
        for start, times in began.items():
            if start.arm == arm:
                yield from ("", "[[layout.start]]", f"began = {min(times):%Y-%m-%dT%H:%M:%SZ}")
                yield f"trials = [{start.trial}]"
    yield ""


def load(trials: int) -> Iterator[str]:
    """The lines of the table that says what every layout was asked."""
    yield from ('dataset = "random"', f"input_tokens = {INPUT_TOKENS}")
    yield from (f"output_tokens = {OUTPUT_TOKENS}", 'request_rate = "inf"')
    yield f"concurrencies = {list(CONCURRENCIES)}"
    yield f"prompts = {[prompts(width) for width in CONCURRENCIES]}"
    yield from (f"trials = {trials}", f"seed = {SEED}")
    words = ["vllm", "bench", "serve", *LOAD]
    ends = '--num-prompts "$N" --max-concurrency "$C" --metadata layout="$LABEL" gpus="$RANKS"'
    yield f"bench = '''\n{shlex.join(words)} {ends}\n'''"


def command(arm: Arm) -> str:
    """The command that serves an arm, as it can be typed."""
    kept = ("VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND")
    variables = [f"{name}={shlex.quote(arm.environment[name])}" for name in kept]
    return " ".join([*variables, shlex.join(["vllm", *arm.serve])])


def beginnings(folder: Folder, start: Start) -> set[datetime]:
    """When the server was started that answered a trial; two times after a break."""
    found = (folder.result(start, width) for width in CONCURRENCIES)
    times = {str(result["began"]) for result in found if result}
    return {datetime.strptime(time, STAMP).replace(tzinfo=UTC) for time in times}


def version(folder: Folder) -> str:
    """The release of the engine, from the list of its packages."""
    lines = (folder.kept / "environment.txt").read_text("utf-8").splitlines()
    found = next(line for line in lines if line.startswith("vllm=="))
    return found.removeprefix("vllm==").partition("+")[0]


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def text(value: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(value, ensure_ascii=False)
