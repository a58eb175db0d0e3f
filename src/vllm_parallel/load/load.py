"""What clients send, and when a request was answered."""

from __future__ import annotations

from enum import StrEnum

from vllm_parallel.frozen import dataclass, replace


class Bound(StrEnum):
    """What kept requests from running at once."""

    KV = "kv"  # the pool of blocks
    SEQUENCES = "max_num_seqs"
    CLIENTS = "clients"  # nothing did: as many ran as were sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests of equal length, sent as `vllm bench serve` sends them.

    At most `concurrency` are on their way at once (None: any number), and `rate` are sent a
    second (None: as many as concurrency allows). Each generates all its `output_tokens`.

    Source: vllm/benchmarks/serve.py, benchmark (v0.32.0)
    """

    input_tokens: int
    output_tokens: int
    prompts: int
    concurrency: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Refuse a load of nothing."""
        counts = (self.input_tokens, self.output_tokens, self.prompts, self.concurrency or 1)
        if min(counts) < 1 or (self.rate is not None and self.rate <= 0):
            raise ValueError(f"{self}: lengths, prompts, concurrency and rate are above 0")

    @property
    def width(self) -> int:
        """Requests that may be on their way at once."""
        return min(self.prompts, self.concurrency or self.prompts)

    def shares(self, engines: int) -> tuple[Load, ...]:
        """The load of each engine that gets any, dealt evenly; the first ones get what is over.

        >>> load = Load(input_tokens=8, output_tokens=8, prompts=5, concurrency=3)
        >>> [(share.prompts, share.concurrency) for share in load.shares(2)]
        [(3, 2), (2, 1)]
        """
        used = min(engines, self.width)
        rate = None if self.rate is None else self.rate / used
        dealt = zip(_dealt(self.prompts, used), _dealt(self.width, used), strict=True)
        return tuple(
            replace(self, prompts=prompts, concurrency=width, rate=rate) for prompts, width in dealt
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds at which a request was sent, first scheduled, and answered first and last."""

    sent: float
    scheduled: float
    first: float
    last: float

    def per_output_token(self, output_tokens: int) -> float:
        """Seconds a token after the first, as `vllm bench serve` counts TPOT.

        >>> Times(sent=0, scheduled=1, first=2, last=8).per_output_token(4)
        2.0
        """
        return (self.last - self.first) / max(1, output_tokens - 1)


def _dealt(amount: int, engines: int) -> list[int]:
    share, over = divmod(amount, engines)
    return [share + (engine < over) for engine in range(engines)]
