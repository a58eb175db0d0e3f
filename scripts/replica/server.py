"""Starts one server of the experiment, waits until it answers, and ends it and its children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 900
END_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started: the words, the folder it runs in, its environment, its port and its log."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    port: int
    log: Path


@contextmanager
def running(launch: Launch) -> Iterator[float]:
    """The server while it answers; yields the seconds its start took.

    Whatever happens, the process group of the server is ended, and nothing else.
    """
    with launch.log.open("ab") as stream:
        process = subprocess.Popen(
            [*launch.words, "--host", "127.0.0.1", "--port", str(launch.port)],
            cwd=launch.folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **launch.environment},
            start_new_session=True,
        )
    try:
        yield healthy_after(process, launch)
    finally:
        end(process)


def healthy_after(process: subprocess.Popen[bytes], launch: Launch) -> float:
    """Seconds until `/health` answered.

    Raises:
        RuntimeError: The server ended, or did not answer in time.
    """
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS:
        if process.poll() is not None:
            tail = launch.log.read_text("utf-8", "replace").splitlines()[-20:]
            raise RuntimeError(f"the server ended with {process.returncode}:\n" + "\n".join(tail))
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{launch.port}/health", timeout=5):
                return time.monotonic() - began
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.25)
    raise RuntimeError(f"the server did not answer in {START_SECONDS} s")


def metrics(port: int) -> bytes:
    """What `/metrics` says now."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as reply:
        text: bytes = reply.read()
        return text


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process group that was started here: asked once, then made to.

    Also if this is itself asked to end a second time, while it waits.
    """
    process.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
