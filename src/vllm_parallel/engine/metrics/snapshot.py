"""One reading of `/metrics`, an engine at a time.

Source: vllm/v1/metrics/loggers.py, PrometheusStatLogger (v0.32.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Final

from vllm_parallel.engine.inputs import Watch, shown
from vllm_parallel.engine.metrics.registered import PREFIX, served_names
from vllm_parallel.engine.metrics.samples import AS_PRINTED, MetricSample, samples
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.term import RELEASE

# What is read, by the names that releases have given it, the newest first. `_total` is what the
# Prometheus client adds to a counter, and Ray does not.
COUNTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "preemptions": ("vllm:num_preemptions_total", "vllm:num_preemptions"),
    "generation_tokens": ("vllm:generation_tokens_total", "vllm:generation_tokens"),
    "prompt_tokens": ("vllm:prompt_tokens_total", "vllm:prompt_tokens"),
}
OLD_USAGE: Final = "vllm:gpu_cache_usage_perc"
GAUGES: Final[Mapping[str, tuple[str, ...]]] = {
    "kv_cache_usage": ("vllm:kv_cache_usage_perc", OLD_USAGE),
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
}
STARTS: Final = tuple(
    f"vllm:{name}_created" for name in ("num_preemptions", "generation_tokens", "prompt_tokens")
)
INFO: Final = "vllm:cache_config_info"
INFO_LABELS: Final[Mapping[str, str]] = {
    "kv_cache_size_tokens": "kv_cache_size_tokens",
    "num_blocks": "num_gpu_blocks",
    "block_size": "block_size",
}
NAMES: Final = (*COUNTERS.values(), *GAUGES.values(), STARTS, (INFO,))
READ: Final = frozenset(name for names in NAMES for name in names)
MOST_UNKNOWN: Final = 1000  # names that are remembered
WHOLE: Final = re.compile(r"[0-9]{1,18}")
LARGEST: Final = 2**63  # above any count of tokens; floats are no longer exact there


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMetrics:
    """What one engine counted since its start, and how it stands. None: not in the file.

    `kv_cache_usage` is a share from 0 to 1. `num_blocks` and `block_size` are as vLLM exports
    them: a block holds `block_size` tokens of one rank, and with data parallelism behind one
    front end `num_blocks` is the sum over engines.
    """

    engine: int
    model: str | None = None
    began: float | None = None  # the time at which its counters were made, in seconds
    preemptions: int | None = None
    generation_tokens: int | None = None
    prompt_tokens: int | None = None
    kv_cache_usage: float | None = None
    running: int | None = None
    waiting: int | None = None
    kv_cache_size_tokens: int | None = None
    num_blocks: int | None = None
    block_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The engines of one file, by their number, and what looked odd."""

    place: str
    engines: tuple[EngineMetrics, ...]
    notes: tuple[str, ...]

    @classmethod
    def of_file(cls, path: Path, watch: Watch | None = None) -> Snapshot:
        """What a file holds.

        Raises:
            ParseError: a file that cannot be read, a line that is no metric, a value that cannot
                be, a sample that occurs twice, or no metric of vLLM at all.
        """
        return cls.of(shown(path), samples(path, watch))

    @classmethod
    def of(cls, place: str, found: Iterable[MetricSample]) -> Snapshot:
        """What samples say; `place` is how notes and errors name where they are from.

        >>> sample = MetricSample(line=1, name="vllm:num_preemptions_total",
        ...     labels={"engine": "1"}, value=22.0, ended=True)
        >>> Snapshot.of("after.prom", [sample]).engines[0].preemptions
        22
        """
        kept = _Kept(place)
        for sample in found:
            kept.take(sample)
        if not kept.rows:
            what = "none of vLLM's metrics that are read" if kept.of_vllm else "no metric of vLLM"
            fix = AS_PRINTED
            raise ParseError(place=place, problem=f"holds {what}", fix=fix)
        kept.note_unknown()
        engines = tuple(kept.engine(number) for number in sorted(kept.rows))
        return cls(place=place, engines=engines, notes=tuple(kept.notes))


class _Kept:
    """The samples that are read, while a file is gone through."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.rows: dict[int, dict[str, MetricSample]] = {}
        self.infos: dict[int, dict[str, set[int]]] = {}
        self.models: dict[int, str] = {}
        self.notes: list[str] = []
        self.unknown: dict[str, None] = {}
        self.of_vllm = False

    def take(self, sample: MetricSample) -> None:
        """Keep a sample if it is read; refuse it where it occurs twice."""
        self.of_vllm = self.of_vllm or sample.name.startswith(PREFIX)
        if sample.name not in READ:
            if sample.name.startswith(PREFIX) and len(self.unknown) < MOST_UNKNOWN:
                self.unknown.update(dict.fromkeys({sample.name} - served_names()))
            return
        if not sample.ended:
            self._note(f"line {sample.line}, the last, has no end: its value may be cut")
        number = self._number(sample)
        row = self.rows.setdefault(number, {})
        if sample.name == INFO:
            self._take_info(number, sample)
            return
        if sample.name in row:
            problem = f"repeats {sample.name} of engine {number}, line {row[sample.name].line}"
            raise self._refused(sample, problem, "give one reading of one server a file")
        row[sample.name] = sample
        if "model_name" in sample.labels:
            self.models.setdefault(number, sample.labels["model_name"])

    def note_unknown(self) -> None:
        """Say so where another release wrote the file."""
        if self.unknown:
            first = shortened(next(iter(self.unknown))).strip("'")
            count = "1 metric" if len(self.unknown) == 1 else f"{len(self.unknown)} metrics"
            self._note(f"has {count} that vLLM {RELEASE} has not, such as {first}: another release")

    def engine(self, number: int) -> EngineMetrics:
        """What was kept of one engine."""
        row, info = self.rows[number], self.infos.get(number, {})
        began = [row[name].value for name in STARTS if name in row]
        usage = self._found(row, GAUGES["kv_cache_usage"])
        return EngineMetrics(
            engine=number,
            model=self.models.get(number),
            began=min(began) if began and all(map(isfinite, began)) else None,
            kv_cache_usage=None if usage is None else self._share(usage),
            **{name: self._whole(row, names) for name, names in COUNTERS.items()},
            **{name: self._whole(row, GAUGES[name]) for name in ("running", "waiting")},
            **{name: self._agreed(info.get(name, set()), name) for name in INFO_LABELS},
        )

    def _number(self, sample: MetricSample) -> int:
        label = sample.labels.get("engine")
        if label is None:
            self._note("its metrics carry no engine label, as in old releases: taken as engine 0")
            return 0
        if not WHOLE.fullmatch(label):
            problem = f"has engine {shortened(label)}, which is no number"
            raise self._refused(sample, problem, "vLLM numbers its engines from 0")
        return int(label)

    def _take_info(self, number: int, sample: MetricSample) -> None:
        for name, label in INFO_LABELS.items():
            value = sample.labels.get(label, "None")
            if value in ("None", ""):  # a front end that was not told, or a release without it
                continue
            if not WHOLE.fullmatch(value):
                problem = f"has {label} {shortened(value)}, which is no whole number"
                raise self._refused(sample, problem, "give the line as vLLM printed it")
            self.infos.setdefault(number, {}).setdefault(name, set()).add(int(value))

    def _found(
        self, row: Mapping[str, MetricSample], names: tuple[str, ...]
    ) -> MetricSample | None:
        """The sample under the newest of its names; an old one is noted."""
        sample = next((row[name] for name in names if name in row), None)
        if sample is not None and sample.name == OLD_USAGE:
            self._note(f"names the KV cache's use {sample.name}, as older releases did")
        return sample

    def _whole(self, row: Mapping[str, MetricSample], names: tuple[str, ...]) -> int | None:
        sample = self._found(row, names)
        if sample is None:
            return None
        value = sample.value
        if not isfinite(value) or value != int(value) or not 0 <= value < LARGEST:
            problem = f"gives {sample.name} as {value}, which is no count"
            raise self._refused(sample, problem, "take the reading again")
        return int(value)

    def _share(self, sample: MetricSample) -> float:
        if not 0 <= sample.value <= 1:
            problem = f"gives {sample.name} as {sample.value}, which is no share from 0 to 1"
            raise self._refused(sample, problem, "take the reading again")
        return float(sample.value)

    def _agreed(self, values: set[int], name: str) -> int | None:
        if len(values) > 1:
            listed = " and ".join(map(str, sorted(values)))
            self._note(f"gives {INFO_LABELS[name]} as {listed}: left out")
            return None
        return next(iter(values), None)

    def _refused(self, sample: MetricSample, problem: str, fix: str) -> ParseError:
        return ParseError(place=f"{self.place} line {sample.line}", problem=problem, fix=fix)

    def _note(self, words: str) -> None:
        note = f"{self.place} {words}"
        if note not in self.notes:
            self.notes.append(note)
