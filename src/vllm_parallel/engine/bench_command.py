"""`vllm bench serve` as a noun: whom it asks, with which load, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.engine.options import BENCH
from vllm_parallel.engine.values import Unknown, option_words
from vllm_parallel.frozen import dataclass, field, fields

COMMAND: Final = f"vllm {BENCH}"


Text = str | Unknown
Whole = int | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The server that is asked. `model` is the name it serves, `tokenizer` the model's files."""

    model: Text
    tokenizer: Text | None = None
    backend: str | None = None
    base_url: Text | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomLoad:
    """Requests of random tokens, alike in length, at most so many at a time."""

    dataset_name: str = "random"
    random_input_len: Whole | None = None
    random_output_len: Whole | None = None
    random_range_ratio: str | None = None
    num_prompts: Whole | None = None
    num_warmups: Whole | None = None
    max_concurrency: Whole | None = None
    request_rate: float | Unknown | None = None
    temperature: float | None = None
    ignore_eos: bool = False
    seed: Whole | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is measured and where the result is written. `metadata` are words `key=value`."""

    percentile_metrics: str | None = None
    metric_percentiles: str | None = None
    metadata: tuple[Text, ...] = ()
    save_result: bool = False
    result_dir: Text | None = None
    result_filename: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCommand:
    """One `vllm bench serve`, every option of which is in vLLM's own table.

    Fields are named as vLLM's destinations. What is None is left to vLLM's default.

    >>> command = BenchCommand(
    ...     endpoint=Endpoint(model="llama70b"),
    ...     load=RandomLoad(random_input_len=2048, max_concurrency=Unknown(text="$C")),
    ... )
    >>> list(command.given())
    ['model', 'dataset_name', 'random_input_len', 'max_concurrency']
    """

    endpoint: Endpoint
    load: RandomLoad = field(default_factory=RandomLoad)
    kept: Kept = field(default_factory=Kept)
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what vLLM's parser would not take.

        Raises:
            ParseError: an option that is not in the table, or a value that it does not take.
        """
        option_words(BENCH, self.given())

    @property
    def head(self) -> str:
        """What stands before the options."""
        return COMMAND

    @property
    def lines(self) -> tuple[tuple[str | Unknown, ...], ...]:
        """The words of each option."""
        return option_words(BENCH, self.given())

    def given(self) -> dict[str, object]:
        """Every option by its destination; what is left at "not given" is left out.

        A value that equals vLLM's default stays: the load of a comparison is spelled out.
        """
        nouns = (self.endpoint, self.load, self.kept)
        values = {one.name: getattr(noun, one.name) for noun in nouns for one in fields(noun)}
        kept = {name: value for name, value in values.items() if is_given(value)}
        return {**kept, **self.extra}


def is_given(value: object) -> bool:
    """Whether a field is set; 0 is, and false is not.

    >>> [is_given(value) for value in (0, 0.0, None, False, ())]
    [True, True, False, False, False]
    """
    return value is not None and value is not False and value != ()
