"""Puts command lines through vLLM's own parser.

Runs inside the engine's venv. A line in is the words behind `vllm` as a JSON list; a line out says
whether the parser takes them, and which arguments of the engine they change.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from command_lines import answer, plain, whole_parser
from verdicts import KNOWN


def main() -> None:
    """One answer a line, in order."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever vLLM prints goes to stderr
    whole = whole_parser()
    base = answer(whole, ["serve"]) or {}
    for line in sys.stdin:
        words: Sequence[str] = json.loads(line)
        found = answer(whole, words)
        changed = {
            name: plain(value)
            for name, value in (found or {}).items()
            if name in KNOWN - {"model"} and value != base.get(name)
        }
        print(json.dumps({"taken": found is not None, "args": changed}), file=answers, flush=True)


if __name__ == "__main__":
    main()
