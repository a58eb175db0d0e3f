"""Runs `vllm bench serve` once for each line of words on its input, in one process.

Importing vLLM takes 20 to 50 seconds; here it happens once. The words go through vLLM's own parser
and into its own `main`, so what is written is what the command writes. Each line is answered on
the original stdout with `done`, or with what went wrong; vLLM's own printing goes to stderr.

Runs inside the engine's venv: `"$engine" scripts/replica/loads.py`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser


def answer_lines() -> None:
    """Say `ready`, then serve one line after the other until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print("ready", file=answers)
    for line in sys.stdin:
        print(outcome(json.loads(line)), file=answers)


def outcome(words: list[str]) -> str:
    """`done`, or one line that says what went wrong; the rest is on stderr."""
    parser = FlexibleArgumentParser(prog="vllm bench serve")
    add_cli_args(parser)
    try:
        main(parser.parse_args(words))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it was, the run is told
        traceback.print_exc()
        return f"{type(error).__name__}: {error}".replace("\n", " ")
    return "done"


if __name__ == "__main__":
    answer_lines()
