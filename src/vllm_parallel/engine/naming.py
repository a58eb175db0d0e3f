"""Which option a word names, and what argparse takes for an option at all.

Source: Python 3.11, argparse, ArgumentParser._parse_optional
"""

from __future__ import annotations

import re
from typing import Final

from vllm_parallel.engine.options import Option, named, nearest
from vllm_parallel.engine.shell import Word
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass, replace

NUMBER: Final = re.compile(r"-\d+|-\d*\.\d+")
FILLED_IN: Final = re.compile(r"[$`<]")
ATTACHED: Final = re.compile(r"(-[a-z]+)(\d.*)")
MOST_MEANT: Final = 5
LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A word that names an option. `name` is the option's own, `typed` may be its beginning."""

    option: Option
    name: str
    typed: str
    line: int
    attached: Word | None = None  # the value that is written into the word

    @classmethod
    def of(cls, word: Word, command: str) -> Flag:
        """The option that a word names.

        Raises:
            ParseError: no option of the command, or the beginning of several.

        >>> Flag.of(Word(text="--tensor-parallel=8", line=1), "serve").name
        '--tensor-parallel-size'
        """
        table = named(command)
        typed, equals, text = word.text.partition("=")
        attached = replace(word, text=text) if equals else None
        names = [typed] if typed in table else [name for name in table if name.startswith(typed)]
        if not names and not typed.startswith("--") and typed[:2] in table:
            names, attached = [typed[:2]], replace(word, text=word.text[2:])
        if len(names) != 1:
            raise _no_option(typed, names, command)
        name = names[0]
        return cls(option=table[name], name=name, typed=typed, line=word.line, attached=attached)


def is_option(word: Word, command: str) -> bool:
    """Whether argparse takes a word for an option and not for a value.

    >>> [is_option(Word(text=text, line=1), "serve") for text in ("-tp", "--nope", "-1", "m")]
    [True, True, False, False]
    """
    text = word.text
    name = text.partition("=")[0]
    if not text.startswith("-") or text == "-" or (not word.known and FILLED_IN.search(name)):
        return False
    if "." in name or any(known.startswith(name) for known in named(command)):
        return True
    return not (NUMBER.fullmatch(text) or " " in text)


def _no_option(typed: str, names: list[str], command: str) -> ParseError:
    place = on_one_line(typed[:LONGEST_NAME])
    if names:
        fix = f"it could be {' or '.join(names[:MOST_MEANT])}"
        return ParseError(place=place, problem="is short for several options", fix=fix)
    table = named(command)
    split = ATTACHED.fullmatch(typed)
    if split and split[1] in table:
        fix = f"did you mean {split[1]} {split[2]}?"
    else:
        fix = nearest(place, list(table))
    return ParseError(place=place, problem=f"is no option of vllm {command}", fix=fix)
