"""One trial, as `vllm bench serve` wrote it.

Source: vllm/benchmarks/serve.py, main_async and benchmark (v0.32.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.documents import Document
from vllm_parallel.engine.bench_results.doubts import doubts
from vllm_parallel.engine.bench_results.fields import AS_WRITTEN, ResultFields
from vllm_parallel.engine.bench_results.latency import Latency
from vllm_parallel.engine.bench_results.naming import ResultName
from vllm_parallel.engine.bench_results.outcome import BenchLoad, Outcome
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass

METRICS: Final = ("ttft", "tpot", "itl", "e2el")
GPUS: Final = ("gpus", "num_gpus", "gpu_count", "n_gpus")
WIDTHS: Final = (
    ("tensor_parallel_size", "tensor-parallel-size", "tp"),
    ("pipeline_parallel_size", "pipeline-parallel-size", "pp"),
    ("data_parallel_size", "data-parallel-size", "dp"),
    ("prefill_context_parallel_size", "prefill-context-parallel-size", "pcp"),
)
NO_LIMIT: Final = ("inf", "Infinity", inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """One trial of one layout at one concurrency. None: the file does not say.

    `doubts` say why the row cannot stand beside others; without any it is comparable. `notes` say
    what looked odd.
    """

    path: str
    line: int
    label: str | None
    gpus: int | None
    trial: int | None
    load: BenchLoad
    outcome: Outcome
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    start: int | None = None  # which start of the server answered, where the metadata say it

    @property
    def comparable(self) -> bool:
        """Whether its figures can stand beside those of other rows."""
        return not self.doubts

    @property
    def output_throughput_per_gpu(self) -> float | None:
        """Output tokens a second of each GPU; None where either is not known."""
        total = self.outcome.output_throughput
        return None if self.gpus is None or total is None else total / self.gpus

    @classmethod
    def of(cls, path: Path, place: str, document: Document) -> BenchResult:
        """The trial that an object describes; `place` is how notes and errors name it.

        Raises:
            ParseError: a field that no result can have.

        >>> fields = {"completed": 2, "failed": 0, "duration": 4.0, "output_throughput": 8.0}
        >>> document = Document(line=1, fields=fields | {"gpus": "2"})
        >>> one = BenchResult.of(Path("tp2-c4-r1.json"), "tp2-c4-r1.json", document)
        >>> one.label, one.trial, one.comparable, one.output_throughput_per_gpu
        ('tp2', 1, True, 4.0)
        """
        fields, name = ResultFields(place, document.fields), ResultName.of(path)
        load, outcome = _load(fields), _outcome(fields)
        if name.max_concurrency not in (None, load.max_concurrency):
            fields.note(
                f"is named for concurrency {name.max_concurrency}, not {load.max_concurrency}"
            )
        return cls(
            path=str(path),
            line=document.line,
            label=_label(fields, name.label),
            gpus=fields.said(GPUS) or _ranks(fields),
            trial=_trial(fields, name.trial),
            load=load,
            outcome=outcome,
            doubts=tuple(doubts(load, outcome)),
            start=fields.said(("start", "server_start")),
            notes=tuple(fields.notes),
        )


def _label(fields: ResultFields, named: str | None) -> str | None:
    """The layout: of the metadata, vLLM's own label, of a name, or of a sweep's parameters."""
    said = fields.text("layout") or fields.text("label")
    return said or named or fields.text("_benchmark_name")


def _load(fields: ResultFields) -> BenchLoad:
    return BenchLoad(
        model=fields.text("model_id"),
        date=fields.text("date"),
        num_prompts=fields.whole("num_prompts"),
        request_rate=_rate(fields),
        max_concurrency=fields.whole("max_concurrency"),
        input_tokens=_first(fields, "total_input_tokens", "total_input"),
        output_tokens=_first(fields, "total_output_tokens", "total_output"),
    )


def _first(fields: ResultFields, *names: str) -> int | None:
    """The first of these that a result has; the first releases left out the last word."""
    return next((fields.whole(name) for name in names if name in fields.values), None)


def _outcome(fields: ResultFields) -> Outcome:
    completed = fields.whole("completed")
    if completed is None:
        fix = AS_WRITTEN
        raise ParseError(place=fields.place, problem="gives no number as completed", fix=fix)
    return Outcome(
        completed=completed,
        failed=fields.whole("failed"),
        duration=fields.amount("duration"),
        output_throughput=fields.amount("output_throughput"),
        latencies=_latencies(fields) if completed else {},
    )


def _latencies(fields: ResultFields) -> Mapping[str, Latency]:
    found = {metric: Latency.of(fields, metric) for metric in METRICS}
    return {metric: latency for metric, latency in found.items() if latency is not None}


def _rate(fields: ResultFields) -> float | None:
    """Requests a second, infinite where there is no limit."""
    if fields.values.get("request_rate") in NO_LIMIT:
        return inf
    return fields.amount("request_rate")


def _ranks(fields: ResultFields) -> int | None:
    """The GPUs of a layout whose widths a sweep wrote beside the result, None without any."""
    widths = [fields.said(names) for names in WIDTHS]
    given = [width for width in widths if width is not None]
    return prod(given) if given else None


def _trial(fields: ResultFields, named: int | None) -> int | None:
    """The number of a trial: of the metadata, of the sweep, which counts from 0, or of the name."""
    said = fields.said(("trial", "repeat"))
    if said is None:
        said = fields.whole("run_number")
    return named if said is None else said
