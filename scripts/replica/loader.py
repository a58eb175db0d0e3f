"""The process that sends the loads: started once, asked for one trial after the other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from experiment import ENVIRONMENT

PROGRAM = Path(__file__).with_name("loads.py")


@dataclass(slots=True)
class Loader:
    """The running process and its two ends."""

    questions: IO[str]
    answers: IO[str]
    log: Path
    ready: bool = False

    def send(self, words: Sequence[str]) -> None:
        """Run `vllm bench serve` with these words, and wait for its end.

        Raises:
            RuntimeError: It failed, or the process ended.
        """
        if not self.ready:  # importing vLLM went on while the first server started
            self._answer("ready")
            self.ready = True
        print(json.dumps(list(words)), file=self.questions, flush=True)
        self._answer("done")

    def _answer(self, wanted: str) -> None:
        answer = self.answers.readline().strip()
        if answer != wanted:
            said = answer or "the process ended"
            raise RuntimeError(f"vllm bench serve: {said}; {self.log} has what it printed")


@contextmanager
def loading(python: str, folder: Path, log: Path) -> Iterator[Loader]:
    """The process, in the folder that holds the model; it ends when this does."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [python, str(PROGRAM)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            env={**os.environ, **ENVIRONMENT, "VLLM_LOGGING_LEVEL": "ERROR"},
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            yield Loader(questions=process.stdin, answers=process.stdout, log=log)
        finally:
            process.kill()
