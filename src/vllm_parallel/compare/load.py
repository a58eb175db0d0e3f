"""What a trial asked of its server, and whether two asked the same."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import Final

from vllm_parallel.engine.bench_results import BenchResult
from vllm_parallel.frozen import dataclass

SLACK: Final = 0.01  # of the tokens of a request, and one: a tokenizer adds the first of a text


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The load of one trial, tokens as means over its requests. None: the result does not say."""

    model: str | None = None
    concurrency: int | None = None
    prompts: int | None = None
    request_rate: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None

    @classmethod
    def of(cls, result: BenchResult) -> Asked:
        """The load of a result."""
        load, completed = result.load, result.outcome.completed
        sums = load.input_tokens, load.output_tokens
        means = [total / completed if completed and total is not None else None for total in sums]
        return cls(
            model=load.model,
            concurrency=load.max_concurrency,
            prompts=load.num_prompts,
            request_rate=load.request_rate,
            input_tokens=means[0],
            output_tokens=means[1],
        )

    def same(self, other: Asked) -> bool:
        """Whether both ask the same, tokens to a hundredth or to one.

        >>> Asked(prompts=8, input_tokens=100.0).same(Asked(prompts=8, input_tokens=100.4))
        True
        """
        ours, theirs = self._exact, other._exact
        return ours == theirs and all(
            _near(mine, yours)
            for mine, yours in (
                (self.input_tokens, other.input_tokens),
                (self.output_tokens, other.output_tokens),
            )
        )

    @property
    def _exact(self) -> tuple[object, ...]:
        return self.model, self.concurrency, self.prompts, self.request_rate

    def in_words(self) -> str:
        """The load for the end of a sentence.

        >>> Asked(concurrency=16, prompts=128, request_rate=float("inf"), input_tokens=2048.0,
        ...     output_tokens=256.0, model="llama70b").in_words()
        'concurrency 16, 2,048 tokens in, 256 out, 128 requests without a rate limit, llama70b'
        """
        width = "any concurrency" if self.concurrency is None else f"concurrency {self.concurrency}"
        tokens = f"{_mean(self.input_tokens)} tokens in, {_mean(self.output_tokens)} out"
        requests = "requests" if self.prompts is None else f"{self.prompts:,} requests"
        if self.request_rate is None:
            rate = "at a rate not said"
        elif isinf(self.request_rate):
            rate = "without a rate limit"
        else:
            rate = f"at {self.request_rate:g} a second"
        model = [] if self.model is None else [self.model]
        return ", ".join([width, tokens, f"{requests} {rate}", *model])


def distinct(loads: Iterable[Asked]) -> list[Asked]:
    """Loads without those that are the same as an earlier one."""
    found: list[Asked] = []
    for load in loads:
        if not any(load.same(other) for other in found):
            found.append(load)
    return found


def _near(mine: float | None, yours: float | None) -> bool:
    if mine is None or yours is None:
        return mine is yours
    return abs(mine - yours) <= max(1, SLACK * max(mine, yours))


def _mean(tokens: float | None) -> str:
    if tokens is None:
        return "unknown"
    return f"{tokens:,.1f}".removesuffix(".0")
