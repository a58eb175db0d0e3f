"""Asks the real vLLM; run by the venv's python that `install.py` prints.

    engine=$(python scripts/engine/install.py)
    "$engine" scripts/engine/ask.py < questions.jsonl > answers.jsonl

A question is a line of JSON, an answer likewise, in the same order:

    {"id": 1, "ask": "verdict", "model": "config.json", "args": {"tensor_parallel_size": 8}}

`ask` is `verdict` (is the layout accepted, in which words not), `groups` (which ranks form which
group) or `build` (what ranks hold, and the blocks and tokens that `available_kv_bytes` gives).
`model` is a config file, its folder or the config itself; `"as_bf16": true` leaves its
`quantization_config` out. `build` takes `"tensors": true` for every parameter's shape and dtype,
and `more_ranks` for ranks besides the first of each stage and the last of all.

A question that cannot be read, or that only CUDA can answer, gets an `error`; the exit code is 1.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

# Before vLLM is imported; what the caller has set wins. The cache keeps what vLLM learns about
# model classes beside the venv. A pool of threads would not survive the forks.
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

from builds import build
from groups import groups
from questions import Question, QuestionError, Row
from standins import prepare_vllm
from verdicts import verdict

ANSWERS: dict[str, Callable[[Question, Path], Row]] = {
    "verdict": verdict,
    "groups": groups,
    "build": build,
}


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


def answer(line: str, root: Path) -> Row:
    """The answer to one line, or an `error` that says why there is none."""
    try:
        question = Question.of(line)
        if question.ask not in ANSWERS:
            raise QuestionError(f"ask {question.ask!r}; use one of {', '.join(ANSWERS)}")
        return question.echo | ANSWERS[question.ask](question, root)
    except QuestionError as error:
        return {"id": id_of(line), "error": str(error)}


def main() -> int:
    """Answers every line of stdin; 1 if one got no answer."""
    answers = claim_stdout()
    prepare_vllm()
    code = 0
    with tempfile.TemporaryDirectory() as root:
        for line in filter(str.strip, sys.stdin):
            row = answer(line, Path(root))
            code |= "error" in row
            print(json.dumps(row, sort_keys=True), file=answers, flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
