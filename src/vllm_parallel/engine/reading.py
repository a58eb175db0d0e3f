"""What a command of vLLM asks for, and every flag in it that vLLM would not take.

Source: vllm/utils/argparse_utils.py, FlexibleArgumentParser (v0.32.0); Python's argparse
"""

from __future__ import annotations

from collections.abc import Iterator

from vllm_parallel.engine.commands import Command
from vllm_parallel.engine.options import SERVE, commands, nearest, other_commands
from vllm_parallel.engine.reader import Fault, Given, Reader
from vllm_parallel.engine.shell import Word
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A command, read: the model, the options in their order, and what is wrong with them."""

    command: Command
    model: Word | None
    given: tuple[Given, ...]
    faults: tuple[Fault, ...]
    asks_help: bool
    unread: tuple[Word, ...] = ()  # words that may hold more options

    @classmethod
    def of(cls, command: Command) -> Reading:
        """What a command says, whether or not vLLM would take it.

        >>> from vllm_parallel.engine.commands import find
        >>> reading = Reading.of(find("vllm serve m -tp 8 --max_model_len 8k --sede 1")[0])
        >>> reading.values
        {'tensor_parallel_size': 8, 'max_model_len': 8000}
        >>> [str(fault) for fault in reading.faults]
        ['--sede is no option of vllm serve; did you mean --seed?']
        """
        if command.name not in commands():
            faults = tuple(_unrecorded(command))
            return cls(command=command, model=None, given=(), faults=faults, asks_help=True)
        reader = Reader(command)
        reader.read()
        return cls(
            command=command,
            model=reader.model,
            given=tuple(reader.given),
            faults=tuple(sorted(reader.faults, key=lambda fault: fault.line)),
            asks_help=reader.asks_help,
            unread=tuple(reader.unread),
        )

    @property
    def values(self) -> dict[str, object]:
        """The value of each option by its destination; of one given twice the last."""
        return {given.option.dest: given.value for given in self.given}

    @property
    def launches(self) -> bool:
        """Whether it starts an engine."""
        return self.command.name == SERVE and not self.asks_help


def _unrecorded(command: Command) -> Iterator[Fault]:
    """What is wrong with a command whose options are not recorded."""
    asks_help = all(word.text.startswith("-") for word in command.words)
    known = [*commands(), *other_commands()]
    begins = any(name.startswith(f"{command.name} ") for name in known)
    place = on_one_line(f"vllm {command.name}")
    if command.name and command.name not in known and not (begins and asks_help):
        typed = " ".join([command.name, *(word.text for word in command.words[:2])])
        fix = nearest(typed if begins else command.name, known)
        error = ParseError(place=place, problem="is no command of vLLM", fix=fix)
        yield Fault(line=command.line, error=error)
    elif command.words and not asks_help:
        fix = f"recorded are those of {', '.join(commands())}"
        error = ParseError(place=place, problem="has options that are not recorded", fix=fix)
        yield Fault(line=command.line, error=error)
