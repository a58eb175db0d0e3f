"""Serves the tiny model with the real vLLM, and reads what it prints, counts and benchmarks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PORT = 18_731
START_SECONDS = 420
SERVE = ("--load-format", "dummy", "--enforce-eager", "--max-model-len", "2048", "--seed", "0")
BENCH = (
    "--dataset-name", "random", "--random-input-len", "32", "--random-output-len", "8",
    "--num-prompts", "4", "--max-concurrency", "2", "--percentile-metrics", "ttft,tpot",
    "--metric-percentiles", "50,99", "--metadata", "layout=tp1", "gpus=1", "--save-result",
)  # fmt: skip
ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What one run of the server left behind."""

    config: dict[str, object]
    log: str
    metrics: str
    bench: dict[str, object]


def serve(python: str, folder: Path) -> Served:
    """Start the server, ask it for its metrics, benchmark it, stop it."""
    model = folder / "model"
    subprocess.run([python, str(HERE / "tiny_model.py"), str(model)], check=True)
    log = folder / "serve.log"
    with running(python, model, log):
        bench = benchmarked(python, model, folder)
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=60) as reply:
            metrics = reply.read().decode("utf-8")
    config = json.loads((model / "config.json").read_text("utf-8"))
    return Served(config=config, log=log.read_text("utf-8"), metrics=metrics, bench=bench)


@contextmanager
def running(python: str, model: Path, log: Path) -> Iterator[None]:
    """The server while it answers; its own process group is ended afterwards."""
    words = [python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), *SERVE]
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*words, "--host", "127.0.0.1", "--port", str(PORT)],
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=os.environ | ENVIRONMENT,
            start_new_session=True,
        )
    try:
        wait_until_healthy(process, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def wait_until_healthy(process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once `/health` answers; say why the server died if it does."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            tail = log.read_text("utf-8").splitlines()[-20:]
            raise RuntimeError("the server ended:\n" + "\n".join(tail))
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(2)
    raise RuntimeError(f"the server did not answer in {START_SECONDS} s")


def benchmarked(python: str, model: Path, folder: Path) -> dict[str, object]:
    """The result file of one small `vllm bench serve`."""
    words = [python, "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--model", str(model)]
    where = ["--base-url", f"http://127.0.0.1:{PORT}", "--result-dir", str(folder)]
    subprocess.run(
        [*words, *where, "--result-filename", "bench.json", *BENCH],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | ENVIRONMENT,
    )
    result: dict[str, object] = json.loads((folder / "bench.json").read_text("utf-8"))
    return result


def pool_line(log: str) -> tuple[int, int, float] | None:
    """Tokens, length and concurrency of the line that says how large the cache is.

    >>> pool_line("CPU KV cache size: 524,288 tokens, Maximum concurrency for 2,048 tokens per "
    ...     "request: 256.00x")
    (524288, 2048, 256.0)
    """
    found = re.search(
        r"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: "
        r"([\d.]+)x",
        log,
    )
    if found is None:
        return None
    tokens, length = (int(found[n].replace(",", "")) for n in (1, 2))
    return tokens, length, float(found[3])
