"""Whether a run is whole, agrees with itself, and may be published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.sweep import Follow
from vllm_parallel.frozen import dataclass
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.logs import of_logs
from vllm_parallel.runs.reader import RUN_FILE, read_run
from vllm_parallel.runs.redact import REDACTED, exposed
from vllm_parallel.runs.run import Run
from vllm_parallel.runs.seal import broken, files_of
from vllm_parallel.runs.servers import of_environment, of_servers
from vllm_parallel.runs.trials import of_trials, read_results

BESIDE: Final = {RUN_FILE, REDACTED, "README.md", "config.json", "nvidia-smi.txt", "serve-help.txt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A run, and what was found in its folder."""

    run: Run
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, folder: Path, words: Sequence[str] = (), follow: Follow | None = None) -> Check:
        """Check the run in a folder; `words` are names that it must not hold either.

        Raises:
            ParseError: there is no run, or its `run.toml` cannot be read.
        """
        run = read_run(folder)
        results, unread = read_results(folder, run)
        findings = [
            *_missing(folder, run),
            *unread,
            *of_trials(run, results),
            *of_environment(folder, run),
            *of_servers(folder, run, results),
            *of_logs(folder, run, follow),
            *broken(folder),
            *exposed(folder, words, follow),
        ]
        return cls(run=run, findings=tuple(findings))

    @property
    def consistent(self) -> bool:
        """Whether there is nothing but remarks."""
        return all(one.sort is Sort.REMARK for one in self.findings)


def _missing(folder: Path, run: Run) -> Iterator[Finding]:
    """Files that a run has and this does not, halves of pairs, and files that nobody names."""
    present, required = set(files_of(folder)), run.required()
    for name in required:
        if name not in present:
            fix = "see results/README.md for what it holds"
            yield Finding(sort=Sort.MISSING, file=name, says="is missing", fix=fix)
    optional = set()
    for layout, _, concurrency, trial in run.trials():
        pair = layout.trial_metrics(concurrency, trial)
        optional |= set(pair)
        halves = [name for name in pair if name in present]
        if len(halves) == 1:
            fix = "keep the readings before and after a trial, or neither"
            yield Finding(sort=Sort.MISSING, file=halves[0], says="has no other half", fix=fix)
    for name in sorted(present - set(required) - optional - BESIDE):
        fix = "take it out, or describe it in run.toml"
        sort = Sort.DISAGREES if name.endswith((".json", ".prom", "-serve.log")) else Sort.REMARK
        yield Finding(sort=sort, file=name, says="is of no layout of run.toml", fix=fix)
