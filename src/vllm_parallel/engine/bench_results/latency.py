"""Latencies of a result: mean, median and 99th percentile, in the milliseconds vLLM prints."""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.bench_results.fields import ResultFields
from vllm_parallel.frozen import dataclass

STATISTICS: Final = {"mean": ("mean",), "p50": ("p50", "median"), "p99": ("p99",)}
# Other programs write the same names without a unit, in seconds.
UNITS: Final = {"_ms": 1.0, "": 1000.0, "_s": 1000.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """One metric in milliseconds; None where a result does not give the statistic."""

    mean: float | None = None
    p50: float | None = None
    p99: float | None = None

    @classmethod
    def of(cls, fields: ResultFields, metric: str) -> Latency | None:
        """A metric such as `ttft`, None where a result has none of its statistics.

        A result without a sample has zeros in all of them, which are no times.

        >>> fields = ResultFields("r.json", {"median_ttft_ms": 40.0, "p99_ttft_ms": 90.0})
        >>> Latency.of(fields, "ttft")
        Latency(mean=None, p50=40.0, p99=90.0)
        """
        found = {name: _statistic(fields, words, metric) for name, words in STATISTICS.items()}
        given = [value for value in found.values() if value is not None]
        if not given:
            return None
        if not any(given):
            fields.note(f"gives every {metric} as 0: none was measured")
            return None
        return cls(**found)


def _statistic(fields: ResultFields, words: tuple[str, ...], metric: str) -> float | None:
    for unit, factor in UNITS.items():
        for word in words:
            name = f"{word}_{metric}{unit}"
            value = fields.amount(name)
            if value is not None:
                if factor != 1:
                    fields.note("gives latencies in seconds: their names do not end in _ms")
                return value * factor
    return None
