"""Lines of logs that several tests vary."""

# a line of a log is longer than one of ours

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log import ServeLog, read

CORE: Final = "(EngineCore pid=9) INFO 11-30 20:26:22 [kv_cache_utils.py:2327] "
WORKER: Final = "(Worker_TP0 pid=7) INFO 11-30 20:26:20 [model_runner.py:424] "
BOTH: Final = (
    "GPU KV cache size: 1,048,576 tokens, Maximum concurrency for 2,048 tokens per request: "
)
POOL: Final = f"{CORE}{BOTH}512.00x"
API: Final = "(APIServer pid=1) INFO 11-30 20:24:56 [a.py:1] "
READY: Final = "(APIServer pid=1) INFO:     Application startup complete."
BANNER: Final = (
    "(APIServer pid=1) INFO 11-30 20:24:56 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  "
)


def log(*lines: str) -> ServeLog:
    return read(["\n".join(lines).encode()])
