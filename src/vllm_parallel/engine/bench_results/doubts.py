"""Why the figures of a trial cannot stand beside those of others."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf
from typing import Final

from vllm_parallel.engine.bench_results.outcome import BenchLoad, Outcome

# Requests in flight on average. A client without a rate limit always has one, and never more than
# it sent; the margins allow for its own start and end.
LEAST_IN_FLIGHT: Final = 0.02
MOST_IN_FLIGHT: Final = 1.5


def doubts(load: BenchLoad, outcome: Outcome) -> Iterator[str]:
    """What is wrong with a trial, in words; nothing where it is sound.

    >>> list(doubts(BenchLoad(), Outcome(completed=7, failed=1, duration=1.0,
    ...     output_throughput=8.0, latencies={})))
    ['1 of 8 requests failed']
    """
    yield from _requests(load, outcome)
    if outcome.completed:
        for name in ("duration", "output_throughput"):
            value = getattr(outcome, name)
            if not value:
                yield f"it has no {name}" if value is None else f"its {name} is {value:g}"
        yield from _in_flight(load, outcome)


def _requests(load: BenchLoad, outcome: Outcome) -> Iterator[str]:
    done, failed, sent = outcome.completed, outcome.failed, load.num_prompts
    if not done:
        yield "no request was completed"
    elif failed:
        yield f"{failed} of {done + failed} requests failed"
    elif failed is None and sent is None:
        yield "it does not say how many requests failed"
    elif failed is None and sent is not None and done < sent:
        yield f"{done} of {sent} requests were completed"


def _in_flight(load: BenchLoad, outcome: Outcome) -> Iterator[str]:
    """Latencies that the duration has no room for, or that leave it empty."""
    ttft, tpot = outcome.latency("ttft"), outcome.latency("tpot")
    first = None if ttft is None else ttft.mean or ttft.p50
    later = None if tpot is None else tpot.mean or tpot.p50
    if first is None or later is None or not outcome.duration or not load.output_tokens:
        return
    tokens = load.output_tokens / outcome.completed
    each_ms = first + later * max(tokens - 1, 0)
    in_flight = outcome.completed * each_ms / 1000 / outcome.duration
    unlimited = load.request_rate is not None and isinf(load.request_rate)
    if unlimited and in_flight < LEAST_IN_FLIGHT:
        yield f"its latencies fill {in_flight:.2%} of the duration: they are not in milliseconds"
    if in_flight > outcome.completed * MOST_IN_FLIGHT:
        yield "its latencies are longer than the duration: they are not in milliseconds"
