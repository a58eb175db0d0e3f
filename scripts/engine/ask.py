"""Asks the real vLLM; run by the venv's python that `install.py` prints.

    engine=$(python scripts/engine/install.py)
    "$engine" scripts/engine/ask.py < questions.jsonl > answers.jsonl

A question is a line of JSON, an answer likewise, in the same order:

    {"id": 1, "ask": "verdict", "model": "config.json", "args": {"tensor_parallel_size": 8}}

`ask` is `verdict` (is the layout accepted, in which words not), `groups` (which ranks form which
group) or `build` (what ranks hold, and the blocks and tokens that `available_kv_bytes` gives; a
list of budgets gets a line each). `model` is a config file, its folder or the config itself;
`"as_bf16": true` leaves its `quantization_config` out. `build` takes `"parameters": true` for the
shape and dtype of every parameter and buffer, and `more_ranks` for ranks besides the first of
each stage and the last of all.

A question that cannot be read, or that only CUDA can answer (see `cuda_ask.py`), gets an `error`;
the exit code is 1.
"""

from __future__ import annotations

from asking import answer_all, claim_stdout
from builds import build_on_cpu
from cpu_standins import prepare_cpu
from groups import groups
from verdicts import verdict


def main() -> int:
    """Answers every line of stdin; 1 if one got no answer."""
    answers = claim_stdout()
    prepare_cpu()
    return answer_all({"verdict": verdict, "groups": groups, "build": build_on_cpu}, answers)


if __name__ == "__main__":
    raise SystemExit(main())
