"""Asks the real vLLM as it would answer on H100s, with a stand-in for its CUDA platform.

    engine=$(python scripts/engine/install.py)
    "$engine" scripts/engine/cuda_ask.py < questions.jsonl > answers.jsonl

Questions are those of `ask.py`, and of quantised weights, quantised and mixed caches, EPLB and DBO
besides; `"gpus_per_node": 8` counts the GPUs of the node. `build` is asked unless `ask` says else:

    {"model": "config.json", "args": {"quantization": "fp8"}, "available_kv_bytes": [1000000000]}

Attention back ends, block sizes, kernels and batches in flight are CUDA's own choice. Weights are
counted as created, before a kernel repacks them. FlashInfer, DeepEP, NIXL and Ray are missing.
"""

from __future__ import annotations

import cuda_platform
from asking import answer_all, claim_stdout


def main() -> int:
    """Answers every line of stdin; 1 if one got no answer."""
    answers = claim_stdout()
    cuda_platform.install()
    # vLLM chooses its platform as it is imported.
    from builds import build  # noqa: PLC0415
    from cuda_standins import on_gpu, prepare_cuda  # noqa: PLC0415
    from groups import groups  # noqa: PLC0415
    from verdicts import verdict  # noqa: PLC0415

    prepare_cuda()
    asked = {"build": build, "verdict": verdict, "groups": groups}
    return answer_all({name: on_gpu(answer) for name, answer in asked.items()}, answers)


if __name__ == "__main__":
    raise SystemExit(main())
