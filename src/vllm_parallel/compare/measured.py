"""A folder of results: its trials, what was skipped, and the run that describes them."""

from __future__ import annotations

from pathlib import Path

from vllm_parallel.compare.comparison import Comparison, Terms
from vllm_parallel.compare.metric import Metric
from vllm_parallel.engine.bench_results import BenchResult, Sweep
from vllm_parallel.engine.bench_results.sweep import Follow
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass
from vllm_parallel.runs import RUN_FILE, Run, read_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What lies in a folder. Without a `run.toml`, `run` is None and no start is known."""

    folder: Path
    sweep: Sweep
    run: Run | None

    @classmethod
    def of(cls, folder: Path, follow: Follow | None = None) -> Measured:
        """The results of a folder and of those below it.

        Raises:
            ParseError: it is no folder, holds no result, or its `run.toml` cannot be read.
        """
        if not folder.is_dir():
            place, fix = on_one_line(str(folder)), "give the folder that the results are in"
            raise ParseError(place=place, problem="is no folder", fix=fix)
        run = read_run(folder) if (folder / RUN_FILE).exists() else None
        return cls(folder=folder, sweep=Sweep.of([folder], follow), run=run)

    def comparison(self, baseline: str, metric: Metric = Metric.OUTPUT_THROUGHPUT) -> Comparison:
        """Its layouts beside one of them.

        Raises:
            ParseError: the baseline is no layout of these results, or the only one.
        """
        terms = Terms(baseline=baseline, metric=metric, start_of=self.start_of)
        return Comparison.of(self.sweep.rows, terms)

    def start_of(self, result: BenchResult) -> int | None:
        """The server start that answered a trial: the run says it, else the result's metadata."""
        layout = None if self.run is None else self.run.layout(result.label or "")
        if layout is None or result.trial is None:
            return result.start
        start = layout.start_of(result.trial)
        return result.start if start is None else start.number
