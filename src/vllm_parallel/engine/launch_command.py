"""`vllm serve` as a noun: a model, the arguments that are sized, and options beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.engine.arguments import Arguments
from vllm_parallel.engine.options import SERVE
from vllm_parallel.engine.values import Unknown, option_words
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass, field

COMMAND: Final = f"vllm {SERVE}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LaunchCommand:
    """One `vllm serve`, every option of which is in vLLM's own table.

    `model_word` is a word of the shell, quoted where it has to be. `extra` are options that change
    nothing that is sized, such as the port, by their destinations.

    >>> from vllm_parallel.layout import Layout
    >>> from vllm_parallel.settings import Settings
    >>> arguments = Arguments(layout=Layout(tp=8), settings=Settings())
    >>> command = LaunchCommand(model_word="m", arguments=arguments, extra={"prot": 8000})
    Traceback (most recent call last):
        ...
    vllm_parallel.errors.ParseError: prot is no option of vllm serve; did you mean port?
    """

    model_word: str
    arguments: Arguments
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what vLLM's parser would not take.

        Raises:
            ParseError: an option that is not in the table, or a value that it does not take.
        """
        for name in self.extra:
            if name in self.arguments.given():
                raise ParseError(
                    place=name, problem="is given twice", fix="leave it out of the extra options"
                )
        option_words(SERVE, self.given())

    @property
    def head(self) -> str:
        """What stands before the options."""
        return f"{COMMAND} {self.model_word}"

    @property
    def lines(self) -> tuple[tuple[str | Unknown, ...], ...]:
        """The words of each option."""
        return option_words(SERVE, self.given())

    def given(self) -> dict[str, object]:
        """Every option by its destination, the sized ones first.

        >>> from vllm_parallel.layout import Layout
        >>> from vllm_parallel.settings import Settings
        >>> arguments = Arguments(layout=Layout(tp=8), settings=Settings())
        >>> LaunchCommand(model_word="m", arguments=arguments, extra={"port": 8001}).given()
        {'tensor_parallel_size': 8, 'port': 8001}
        """
        return {**self.arguments.given(), **self.extra}
