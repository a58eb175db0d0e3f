"""The guide's whole procedure with the real vLLM, on two CPU cores. `make replica` runs it.

    python scripts/replica/replicate.py [--trials 5] [--folder results/…] [--note "…"]

Serves a small random model in four layouts, and once more short of KV cache; sends each the same
loads; keeps logs, `/metrics` and results as vLLM wrote them. Call it again after a break: what is
there and whole is kept, the rest is measured. Ends only what it started.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from describe import STAMP, describe, finish
from experiment import CONCURRENCIES, TRIALS, Start, starts
from folder import Folder
from loader import Loader, loading
from progress import Pace, in_words
from server import Launch, metrics, running

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENGINE = HERE.parent / "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A server that answers, and who sends it the loads."""

    start: Start
    began: str
    port: int
    loader: Loader

    def send(self, concurrency: int, name: str) -> None:
        """One `vllm bench serve`; its result gets this name in the loader's folder."""
        self.loader.send(
            [
                *self.start.bench(concurrency, self.began),
                *("--base-url", f"http://127.0.0.1:{self.port}"),
                *("--result-dir", ".", "--result-filename", name),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One call: where things go, what runs the engine, every start there is to be."""

    folder: Folder
    python: str
    starts: list[Start]
    pace: Pace

    def measure(self) -> None:
        """Everything that is missing."""
        log = self.folder.scratch / "loads.log"
        with loading(self.python, self.folder.scratch, log) as loader:
            for start in self.starts:
                if self.folder.missing(start):
                    self.serve(start, loader)

    def serve(self, start: Start, loader: Loader) -> None:
        """One start of a server, and the trials it has still to answer."""
        self.say(f"{start.arm.label}, trial {start.trial}: starting")
        launch = Launch(
            words=(self.python, "-m", "vllm.entrypoints.cli.main", *start.arm.serve),
            folder=self.folder.scratch,
            environment=start.arm.environment,
            port=free_port(),
            log=self.folder.kept / f"{start.stem}-serve.log",
        )
        if len(self.folder.missing(start)) == len(CONCURRENCIES):  # nothing of it is kept
            launch.log.unlink(missing_ok=True)
        began = datetime.now(UTC).strftime(STAMP)
        with running(launch) as seconds:
            self.pace.note("start", start.arm.label, seconds)
            self.folder.write(f"{start.stem}-before.prom", metrics(launch.port))
            serving = Serving(start=start, began=began, port=launch.port, loader=loader)
            for concurrency in self.folder.missing(start):
                self.trial(serving, concurrency)
            self.folder.write(f"{start.stem}-after.prom", metrics(launch.port))

    def trial(self, serving: Serving, concurrency: int) -> None:
        """One load on a server that answers, and its result."""
        start, began = serving.start, time.monotonic()
        stem = start.trial_stem(concurrency)
        if start.arm.metrics_each:
            self.folder.write(f"{stem}-before.prom", metrics(serving.port))
        serving.send(concurrency, f"{stem}.json")
        if start.arm.metrics_each:
            self.folder.write(f"{stem}-after.prom", metrics(serving.port))
        self.pace.note("trial", f"{start.arm.label} {concurrency}", time.monotonic() - began)
        self.folder.keep(f"{stem}.json")
        found = self.folder.result(start, concurrency)
        if found is None:
            raise RuntimeError(f"{stem}.json: not every request was answered")
        rate = f"{found['output_throughput']:.1f} tokens/s"
        self.say(f"{start.arm.label}, trial {start.trial}, concurrency {concurrency}: {rate}")

    def steps(self) -> Iterator[tuple[str, str]]:
        """What is still to be done."""
        for start in self.starts:
            missing = self.folder.missing(start)
            if missing:
                yield "start", start.arm.label
            yield from (("trial", f"{start.arm.label} {width}") for width in missing)

    def say(self, what: str) -> None:
        """One line: the time, how far this is, what happened, how long the rest takes."""
        steps = list(self.steps())
        whole = len(self.starts) * len(CONCURRENCIES)
        done = whole - sum(kind == "trial" for kind, _ in steps)
        rest = f"{in_words(self.pace.remaining(steps))} to go" if steps else "done"
        print(f"{time.strftime('%H:%M:%S')} [{done}/{whole}] {what}; {rest}", flush=True)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def engine() -> str:
    """The engine's python, installed if need be."""
    words = [sys.executable, str(ENGINE / "install.py")]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().splitlines()[-1]


def unfinished() -> Path:
    """Today's folder, or that of a run that was begun before and has no run.toml yet."""
    begun = sorted((ROOT / "results").glob("*-cpu-replica"))
    if begun and not (begun[-1] / "run.toml").exists():
        return begun[-1]
    return ROOT / "results" / f"{datetime.now(UTC):%Y-%m-%d}-cpu-replica"


def main() -> None:
    """Measure what is missing, then describe the run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"{TRIALS} unless given")
    parser.add_argument("--folder", type=Path, default=unfinished(), help="where the run is kept")
    parser.add_argument("--note", default="", help="what a reader of the run must know")
    given = parser.parse_args()
    # A call that is ended from outside ends its server too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = Folder(
        kept=given.folder.absolute(), scratch=ROOT / "build" / "replica" / given.folder.name
    )
    for path in (folder.kept, folder.scratch):
        path.mkdir(parents=True, exist_ok=True)
    python = engine()
    model = [str(ENGINE / "tiny_model.py"), str(folder.scratch / "model")]
    subprocess.run([python, *model, str(HERE / "config.json")], check=True)
    describe(python, folder)
    wanted = list(starts(given.trials))
    Replica(folder=folder, python=python, starts=wanted, pace=Pace()).measure()
    finish(folder, wanted, given.note)
    # The run's files stay as vLLM wrote them, but for home folders; those lie beside it.
    check = ["run", "check", str(folder.kept), "--redact", "--seal"]
    subprocess.run([sys.executable, "-m", "vllm_parallel", *check], check=True)
    print(f"The run is in {given.folder}")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{error}\nCall make replica again: what was measured is kept.")
