"""What a log of `vllm serve` says, as values. Figures are as vLLM printed them: GiB, seconds."""

from __future__ import annotations

from collections.abc import Mapping

from vllm_parallel.frozen import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePool:
    """The KV cache of one engine; `engine` is its data-parallel rank.

    `blocks` are those of a rank, where a line names them.
    """

    engine: int
    kv_tokens: int
    max_model_len: int | None
    max_concurrency: float | None
    device: str
    blocks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The memory of one worker: one rank. None stands for what was not printed.

    `total_gib` is the GPU's memory as the runtime reports it, `budget_gib` what of it was asked
    for, `used_gib` weights and all that is not torch's, `peak_gib` the activations.
    """

    name: str | None
    pid: int | None
    weight_gib: float | None = None
    load_seconds: float | None = None
    available_kv_gib: float | None = None
    graph_gib: float | None = None
    graph_estimate_gib: float | None = None
    total_gib: float | None = None
    budget_gib: float | None = None
    used_gib: float | None = None
    peak_gib: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One line of the periodic statistics; `engine` is None where engines are added up."""

    engine: int | None
    running: int
    waiting: int
    preemptions: int | None
    kv_cache_usage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A symptom that a line shows: its name in the table, the line's number, what it says."""

    symptom: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a start failed: the sentence of the exception that came first, and where it stands."""

    sentence: str
    line: int
    symptom: str
    rule: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for: the options of the command, and what the engine made of some.

    `args` holds vLLM's own argument names; `config` the words of the line that names the engine's
    config, such as its dtype.
    """

    model: str | None = None
    args: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeLog:
    """The last start that a log holds, and how many there are.

    `ready` says whether a server said so; `stats` are the last lines of a long log, in order.
    """

    vllm_version: str | None
    asked: Asked
    engines: tuple[EnginePool, ...]
    workers: tuple[Worker, ...]
    layer_split: tuple[int, ...] | None
    stats: tuple[Load, ...]
    refusal: Refusal | None
    signs: tuple[Sign, ...]
    notes: tuple[str, ...]
    starts: int
    ready: bool

    @property
    def kv_tokens_total(self) -> int | None:
        """Tokens of all engines, None where no pool was printed."""
        return sum(pool.kv_tokens for pool in self.engines) if self.engines else None
