"""The samples of a file in the Prometheus text format, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from vllm_parallel.engine.inputs import Watch, lines, shown
from vllm_parallel.engine.metrics.registered import PREFIX
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass

RAY_PREFIXES: Final = ("ray_vllm_", "vllm_")  # Ray allows no colon, and says whose a name is

AS_PRINTED: Final = "give what curl prints of /metrics, whole"
SHORT: Final = 1024  # characters of a line that is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSample:
    """One sample: its line, the name as vLLM registers it, its labels and value."""

    line: int
    name: str
    labels: Mapping[str, str]
    value: float
    ended: bool  # whether the line has its end; a file that was cut has one that has not


def samples(path: Path, watch: Watch | None = None) -> Iterator[MetricSample]:
    """Every sample of a file, one line each; comments are passed over.

    Raises:
        ParseError: a file that cannot be read, or a line that is no sample.
    """
    for line in lines(path, watch):
        text = line.text.strip()
        if not text or text.startswith("#"):
            continue
        found = _parsed(text)
        if found is None:
            place = f"{shown(path)} line {line.number}"
            problem = f"is no metric: {shortened(text)}"
            fix = AS_PRINTED
            raise ParseError(place=place, problem=problem, fix=fix)
        yield MetricSample(
            line=line.number,
            name=as_registered(found.name),
            labels=found.labels,
            value=found.value,
            ended=line.ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parsed:
    name: str
    labels: Mapping[str, str]
    value: float


def _parsed(text: str) -> _Parsed | None:
    """The one sample of a line, None if it is none; readings of one server repeat most lines."""
    return _remembered(text) if len(text) <= SHORT else _remembered.__wrapped__(text)


@lru_cache(maxsize=2**14)
def _remembered(text: str) -> _Parsed | None:
    # Only who reads metrics pays for the library.
    from prometheus_client.parser import (  # noqa: PLC0415
        text_string_to_metric_families as families,
    )

    try:
        found = [sample for family in families(text) for sample in family.samples]
    except (ValueError, IndexError):
        return None
    if len(found) != 1:
        return None
    sample = found[0]
    return _Parsed(name=sample.name, labels=MappingProxyType(sample.labels), value=sample.value)


def as_registered(name: str) -> str:
    """A name as vLLM registers it, also where Ray exports it.

    >>> as_registered("ray_vllm_num_requests_running"), as_registered("vllm:prompt_tokens_total")
    ('vllm:num_requests_running', 'vllm:prompt_tokens_total')
    """
    for prefix in RAY_PREFIXES:
        if name.startswith(prefix):
            return PREFIX + name.removeprefix(prefix)
    return name
