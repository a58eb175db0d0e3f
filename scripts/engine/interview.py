"""Questions put to the engine in a process of its own, and which of its answers count."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]

HERE = Path(__file__).parent
BATCH = 500  # questions a process: one that dies loses no more
# What a package missing beside the engine says; with it vLLM would say something else.
ENVIRONMENT = ("Failed to import Ray", "No module named", "Elastic EP with async EPLB requires")
# A child that was killed or had too little time says nothing about vLLM.
TROUBLE = ("the process died", "no answer in")
# The CPU build drops enable_dbo, after which rules of the older runner do not come first.
AFTER_DBO = ("AuxOutput", "--enable-return-routed-experts", "The moonep")
NO_PART_OF_A_ROW = ("id", "ask", "as_bf16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interview:
    """Who is asked, by which script, and what it could not say."""

    python: str
    folder: Path  # holds the configs that questions name
    script: str = "ask.py"
    left_out: list[Row] = field(default_factory=list)

    def asked(self, questions: list[Row]) -> list[Row]:
        """The answers of one process, in the order of the questions.

        Raises:
            SystemExit: it ended before it had answered all, or a child of it was killed.
        """
        lines, errors = self.folder / "questions.jsonl", self.folder / "errors"
        lines.write_text("".join(f"{dumped(question)}\n" for question in questions), "utf-8")
        command = [self.python, str(HERE / self.script)]
        with lines.open("rb") as source, errors.open("wb") as log:
            done = subprocess.run(
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                check=False,
            )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        trouble = [row for row in answers if (row.get("message") or "").startswith(TROUBLE)]
        if trouble:
            raise SystemExit(f"start again on a quieter machine: {dumped(trouble[0])}")
        wanted = sum(map(budgets_of, questions))
        if len(answers) != wanted:
            tail = errors.read_text("utf-8", "replace")[-2000:]
            raise SystemExit(f"{len(answers)} answers where {wanted} were asked for:\n{tail}")
        return answers

    def answers(self, questions: list[Row]) -> Iterator[Row]:
        """The comparable answers, with progress on stderr; others are put into `left_out`."""
        start = time.monotonic()
        for first in range(0, len(questions), BATCH):
            batch = questions[first : first + BATCH]
            each = [question for question in batch for _ in range(budgets_of(question))]
            for question, answer in zip(each, self.asked(batch), strict=True):
                if is_comparable(answer):
                    yield {key: answer[key] for key in answer if key not in NO_PART_OF_A_ROW}
                else:
                    said = answer.get("error") or answer["message"]
                    self.left_out.append(question | {"said": said})
            count, seconds = first + len(batch), time.monotonic() - start
            told = f"{count} of {len(questions)} in {seconds:.0f} s"
            print(f"{told}, {len(self.left_out)} not comparable", file=sys.stderr, flush=True)


def dumped(row: Row) -> str:
    """A row as its line."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def without_repeats(questions: Iterable[Row]) -> list[Row]:
    """The questions in the order of their text, each once."""
    return [json.loads(text) for text in sorted({dumped(question) for question in questions})]


def engine(release: str) -> str:
    """The python of the engine's venv, installed if it is not."""
    command = [sys.executable, str(HERE / "install.py"), "--version", release]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def budgets_of(question: Row) -> int:
    """How many answers a question gets: one for each budget."""
    budgets = question.get("available_kv_bytes")
    return len(budgets) if isinstance(budgets, list) else 1


def is_comparable(answer: Row) -> bool:
    """Whether another machine, and CUDA, would answer the same."""
    if "error" in answer:
        return False
    blind = ENVIRONMENT + (AFTER_DBO if answer["args"].get("enable_dbo") else ())
    return not (answer.get("message") or "").startswith(blind)
