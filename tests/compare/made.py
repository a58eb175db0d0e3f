"""Results that were made up, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path

from vllm_parallel.engine.bench_results import BenchLoad, BenchResult, Latency, Outcome

Fields = dict[str, object]


def result(
    label: str, throughput: float, *, trial: int = 1, concurrency: int | None = 4, **changes: object
) -> BenchResult:
    """A trial; `changes` are `failed`, `gpus`, `prompts`, `rate`, `tokens` or `model`."""
    asked = {"failed": 0, "gpus": 1, "prompts": 32, "rate": inf, "tokens": 128.0, "model": "m"}
    asked |= changes
    prompts, tokens, failed = (asked[name] for name in ("prompts", "tokens", "failed"))
    assert isinstance(prompts, int)
    assert isinstance(tokens, float)
    assert isinstance(failed, int)
    completed = prompts - failed
    return BenchResult(
        path=f"{label}-c{concurrency}-r{trial}.json",
        line=1,
        label=label,
        gpus=asked["gpus"],  # type: ignore[arg-type]  # a table of mixed values
        trial=trial,
        load=BenchLoad(
            model=asked["model"],  # type: ignore[arg-type]
            num_prompts=prompts,
            request_rate=asked["rate"],  # type: ignore[arg-type]
            max_concurrency=concurrency,
            input_tokens=round(completed * tokens),
            output_tokens=completed * 64,
        ),
        outcome=Outcome(
            completed=completed,
            failed=failed,
            duration=completed * 64 / throughput,
            output_throughput=throughput,
            latencies={
                "ttft": Latency(p50=1e4 / throughput),
                "tpot": Latency(p50=1e3 / throughput),
            },
        ),
        doubts=(f"{failed} of {prompts} requests failed",) if failed else (),
        notes=(),
    )  # fmt: skip


def trials(label: str, throughputs: Iterable[float], **changes: object) -> list[BenchResult]:
    """Trials of a label, numbered from 1."""
    return [
        result(label, one, trial=number, **changes)  # type: ignore[arg-type]
        for number, one in enumerate(throughputs, start=1)
    ]


def written(folder: Path, results: Iterable[BenchResult], **changes: object) -> Path:
    """A folder with a file for each result, as `vllm bench serve` would write it."""
    folder.mkdir(exist_ok=True)
    for one in results:
        name = one.path.replace("/", "_")
        (folder / name).write_text(json.dumps(fields(one) | changes), "utf-8")
    return folder


def fields(one: BenchResult) -> Fields:
    """The JSON of a result."""
    load, outcome = one.load, one.outcome
    medians = {f"median_{name}_ms": found.p50 for name, found in outcome.latencies.items()}
    rate = "inf" if load.request_rate == inf else load.request_rate
    return {
        "date": "20261203-090000",
        "endpoint_type": "openai",
        "backend": "openai",
        "model_id": load.model,
        "num_prompts": load.num_prompts,
        "layout": one.label,
        "gpus": str(one.gpus),
        "request_rate": rate,
        "burstiness": 1.0,
        "max_concurrency": load.max_concurrency,
        "duration": outcome.duration,
        "completed": outcome.completed,
        "failed": outcome.failed,
        "total_input_tokens": load.input_tokens,
        "total_output_tokens": load.output_tokens,
        "output_throughput": outcome.output_throughput,
        **medians,
    }


def metrics(preemptions: Mapping[int, int], began: float = 1.0, tokens: int = 0) -> str:
    """A reading of `/metrics` with so many preemptions of each engine, and tokens of each."""
    lines = []
    for name in ("num_preemptions", "generation_tokens", "prompt_tokens"):
        for engine, number in preemptions.items():
            label = f'{{engine="{engine}",model_name="m"}}'
            value = number if name == "num_preemptions" else tokens
            lines.append(f"vllm:{name}_total{label} {value}.0")
            lines.append(f"vllm:{name}_created{label} {began}")
    return "\n".join(lines) + "\n"
