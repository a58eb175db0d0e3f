"""What vLLM serves at `/metrics`, made up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vllm_parallel.engine.metrics import MetricsChange, Snapshot

COUNTS: Final = {
    "vllm:num_preemptions_total": 3.0,
    "vllm:generation_tokens_total": 1024.0,
    "vllm:prompt_tokens_total": 1.5e6,
}
STANDS: Final = {
    "vllm:kv_cache_usage_perc": 0.25,
    "vllm:num_requests_running": 2.0,
    "vllm:num_requests_waiting": 0.0,
}
POOL: Final = {"block_size": "16", "num_gpu_blocks": "1024", "kv_cache_size_tokens": "16384"}
Values = Mapping[str, object]


def lines_of(values: Values, *, engine: int | None = 0, info: Mapping[str, str] = POOL) -> str:
    """One engine as vLLM serves it; without a number it carries no engine label."""
    label = "" if engine is None else f'engine="{engine}",'
    text = "# HELP python_info Python platform information\n# TYPE python_info gauge\n"
    text += 'python_info{implementation="CPython"} 1.0\n'
    text += "".join(f'{name}{{{label}model_name="m"}} {value}\n' for name, value in values.items())
    labels = ",".join(f'{name}="{value}"' for name, value in info.items())
    return text + (f"vllm:cache_config_info{{{label}{labels}}} 1.0\n" if info else "")


def file_of(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def snapshot(folder: Path, content: str | bytes) -> Snapshot:
    return Snapshot.of_file(file_of(folder, "one.prom", content))


def change(folder: Path, before: str, after: str) -> MetricsChange:
    early = Snapshot.of_file(file_of(folder, "before.prom", before))
    return MetricsChange.of(early, Snapshot.of_file(file_of(folder, "after.prom", after)))
