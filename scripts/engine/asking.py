"""Lines of questions in, lines of answers out: what every script that asks vLLM has in common.

To be imported before vLLM: it sets the environment that vLLM reads.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from questions import Question, QuestionError, Row

# What the caller has set wins. The cache keeps what vLLM learns about model classes beside the
# venv. A pool of threads would not survive the forks.
os.environ.update(
    {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CACHE_ROOT": str(Path(sys.prefix).parent / "vllm-cache"),
        "OMP_NUM_THREADS": "1",
    }
    | dict(os.environ)
)

# By what is asked: the rows that answer a question, in a folder for configs.
Answers = Mapping[str, Callable[[Question, Path], list[Row]]]


def claim_stdout() -> TextIO:
    """The stream for answers; whatever vLLM and its children print goes to stderr from here on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def id_of(line: str) -> object:
    """The id of a question that could not be read, if it has one."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row.get("id") if isinstance(row, dict) else None


def answer(line: str, root: Path, answers: Answers) -> list[Row]:
    """The answers to one line, or an `error` that says why there is none."""
    try:
        question = Question.of(line)
        if question.ask not in answers:
            raise QuestionError(f"ask {question.ask!r}; use one of {', '.join(answers)}")
        return [question.echo | row for row in answers[question.ask](question, root)]
    except QuestionError as error:
        return [{"id": id_of(line), "error": str(error)}]


def answer_all(answers: Answers, stream: TextIO) -> int:
    """Answers every line of stdin; 1 if one got no answer."""
    code = 0
    with tempfile.TemporaryDirectory() as root:
        for line in filter(str.strip, sys.stdin):
            for row in answer(line, Path(root), answers):
                code |= "error" in row
                print(json.dumps(row, sort_keys=True), file=stream, flush=True)
    return code
