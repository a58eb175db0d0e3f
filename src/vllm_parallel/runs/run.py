"""A run: layouts that were served and measured under one load, as `run.toml` describes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from enum import StrEnum
from math import isinf
from typing import Final

from vllm_parallel.frozen import dataclass

ENVIRONMENT: Final = ("environment.txt", "topo.txt")  # `pip freeze`; how the ranks are joined


class Processor(StrEnum):
    """What the ranks run on."""

    GPU = "gpu"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machines. `gpu` is a name of the catalog, None on a CPU; `count` is how many ranks."""

    name: str
    processor: Processor
    count: int
    gpu: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The model. `config` is a name of the catalog, or a file of the run such as `config.json`."""

    name: str
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLoad:
    """What every layout of a run was asked; `prompts` has one entry a concurrency."""

    dataset: str
    input_tokens: int
    output_tokens: int
    request_rate: float
    concurrencies: tuple[int, ...]
    prompts: tuple[int, ...]
    trials: int
    seed: int
    bench: str

    def prompts_at(self, concurrency: int) -> int:
        """How many requests a trial at a concurrency sends.

        Raises:
            ValueError: a concurrency that is not part of the load.
        """
        return self.prompts[self.concurrencies.index(concurrency)]

    def in_words(self) -> str:
        """The load as a sentence's end.

        >>> load = RunLoad(dataset="random", input_tokens=2048, output_tokens=256, seed=42,
        ...     request_rate=float("inf"), concurrencies=(1, 16), prompts=(64, 128), trials=3,
        ...     bench="vllm bench serve")
        >>> load.in_words()
        'random prompts, 2,048 tokens in, 256 out, 64–128 requests a trial, no rate limit'
        """
        ends = sorted({min(self.prompts), max(self.prompts)})
        requests = "–".join(f"{end:,}" for end in ends)
        rate = "no rate limit" if isinf(self.request_rate) else f"{self.request_rate:g} a second"
        return (
            f"{self.dataset} prompts, {self.input_tokens:,} tokens in, "
            f"{self.output_tokens:,} out, {requests} requests a trial, {rate}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of a server: its number from 1, and the trials that it answered."""

    number: int
    trials: tuple[int, ...]
    began: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLayout:
    """One layout: its name in files and metadata, the command that served it, its starts."""

    name: str
    gpus: int
    serve: str
    starts: tuple[Start, ...]

    def stem(self, start: Start) -> str:
        """What the names of a start's files begin with; further starts are numbered.

        >>> layout = RunLayout(name="tp2", gpus=2, serve="vllm serve m", starts=())
        >>> layout.stem(Start(number=1, trials=(1,))), layout.stem(Start(number=2, trials=(2,)))
        ('tp2', 'tp2-s2')
        """
        return self.name if start.number == 1 else f"{self.name}-s{start.number}"

    def log(self, start: Start) -> str:
        """The file of what a start printed."""
        return f"{self.stem(start)}-serve.log"

    def metrics(self, start: Start) -> tuple[str, str]:
        """The files of `/metrics` before a start's first trial and after its last."""
        return f"{self.stem(start)}-before.prom", f"{self.stem(start)}-after.prom"

    def result(self, concurrency: int, trial: int) -> str:
        """The file of one trial's result.

        >>> RunLayout(name="tp2", gpus=2, serve="vllm serve m", starts=()).result(16, 3)
        'tp2-c16-r3.json'
        """
        return f"{self.name}-c{concurrency}-r{trial}.json"

    def trial_metrics(self, concurrency: int, trial: int) -> tuple[str, str]:
        """The files of `/metrics` around one trial, which may be left out."""
        stem = f"{self.name}-c{concurrency}-r{trial}"
        return f"{stem}-before.prom", f"{stem}-after.prom"

    def start_of(self, trial: int) -> Start | None:
        """The start that answered a trial."""
        return next((start for start in self.starts if trial in start.trials), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything `run.toml` says; `name` is that of its folder."""

    name: str
    title: str
    date: date
    measured_by: str
    vllm_version: str
    note: str
    hardware: Hardware
    model: Subject
    load: RunLoad
    layouts: tuple[RunLayout, ...]

    def layout(self, name: str) -> RunLayout | None:
        """A layout by its name."""
        return next((one for one in self.layouts if one.name == name), None)

    def trials(self) -> Iterator[tuple[RunLayout, Start, int, int]]:
        """Every trial: layout, start, concurrency, number."""
        for layout in self.layouts:
            for concurrency in self.load.concurrencies:
                for start in layout.starts:
                    for trial in start.trials:
                        yield layout, start, concurrency, trial

    def required(self) -> tuple[str, ...]:
        """The files that a run has beside `run.toml`, in the order of the layouts."""
        files = [*ENVIRONMENT, *(name for name in (self.model.config,) if name.endswith(".json"))]
        for layout in self.layouts:
            for start in layout.starts:
                files += [layout.log(start), *layout.metrics(start)]
        files += [layout.result(width, trial) for layout, _, width, trial in self.trials()]
        return tuple(files)
