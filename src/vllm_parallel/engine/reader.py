"""Goes through the words of a command as vLLM's parser does.

Source: vllm/utils/argparse_utils.py, FlexibleArgumentParser (v0.32.0); Python's argparse
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vllm_parallel.engine.commands import Command
from vllm_parallel.engine.naming import NUMBER, Flag, is_option
from vllm_parallel.engine.options import SERVE, Option, options
from vllm_parallel.engine.shell import Word
from vllm_parallel.engine.values import Unknown, check_depth, human_int, hyphened, value_of
from vllm_parallel.errors import ParseError, on_one_line, shortened

HELP: Final = ("-h", "--help")
MORE: Final = ("...", "…")  # how manuals leave options out
LEVEL: Final = re.compile(r"-O=?(.+)")
SEVERAL: Final = ("*", "+")
MOST_FAULTS: Final = 32  # enough to see that it is no command of vLLM


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One option as a command gives it."""

    flag: Flag
    value: object

    @property
    def option(self) -> Option:
        """What it is a value of."""
        return self.flag.option


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A word that vLLM's parser does not take."""

    line: int
    error: ParseError

    def __str__(self) -> str:
        return str(self.error)


@dataclass(slots=True)
class Reader:
    """A place in a command's words, moving on, and what was found up to it."""

    command: Command
    words: list[Word] = field(default_factory=list)
    at: int = 0
    model: Word | None = None
    given: list[Given] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    asks_help: bool = False
    unread: list[Word] = field(default_factory=list)  # they may hold options, or "..." for some
    _dotted: dict[str, tuple[Flag, dict[str, object]]] = field(default_factory=dict)

    def read(self) -> None:
        """Take every word; what is wrong is noted and passed over."""
        self.words = list(prepared(self.command.words))
        self.unread = [word for word in self.command.words if word.text in MORE]
        while self.at < len(self.words) and len(self.faults) < MOST_FAULTS:
            word = self.words[self.at]
            self.at += 1
            try:
                self._take(word)
            except ParseError as error:
                self.faults.append(Fault(line=word.line, error=error))
        self._close_dotted()
        self.faults += self._of_whole()

    def _take(self, word: Word) -> None:
        name, equals, _ = word.text.partition("=")
        if name in HELP:
            self.asks_help = True
        elif word.text == "--":
            for rest in self.words[self.at :]:
                self._positional(rest)
            self.at = len(self.words)
        elif not is_option(word, self.command.name):
            self._positional(word)
        elif "." in name:
            self._key(word)
        else:
            try:
                flag = Flag.of(word, self.command.name)
            except ParseError:
                if not equals:
                    self._values(1)  # most likely its value; one complaint is enough
                raise
            self._option(flag)

    def _option(self, flag: Flag) -> None:
        option, attached = flag.option, flag.attached
        if not option.takes_value:
            if attached is not None:
                problem = f"takes no value, but has {shortened(attached.text)}"
                raise ParseError(place=flag.typed, problem=problem, fix=f"write {flag.name} alone")
            self._add(flag, not option.turns_off(flag.name))
            return
        most = len(self.words) if option.nargs in SEVERAL else 1
        values = self._values(most) if attached is None else [attached]
        if not values and option.nargs not in ("?", "*"):
            raise ParseError(place=flag.typed, problem="has no value", fix="give one behind it")
        if option.nargs in SEVERAL:
            self._add(flag, [taken(option, word) for word in values])
        else:
            self._add(flag, taken(option, values[0]) if values else True)

    def _add(self, flag: Flag, value: object) -> None:
        self.given.append(Given(flag=flag, value=value))

    def _values(self, most: int) -> list[Word]:
        """The words up to the next option, but at most so many."""
        start = self.at
        while self.at < len(self.words) and self.at - start < most:
            word = self.words[self.at]
            if word.text == "--" or is_option(word, self.command.name):
                break
            self.at += 1
        return self.words[start : self.at]

    def _key(self, word: Word) -> None:
        """`--option.key value`: one key of a JSON object, merged with its others."""
        if NUMBER.fullmatch(word.text):
            problem = "begins like an option with a key"
            fix = f"write it behind the name of its option: --option={word.text}"
            raise ParseError(place=word.text, problem=problem, fix=fix)
        name, equals, text = word.text.partition("=")
        head, *keys = name.removesuffix("+").split(".")
        value = replace(word, text=text) if equals else None
        if value is None and self.at < len(self.words):
            value = self.words[self.at]
            self.at += 1
        flag = Flag.of(replace(word, text=head), self.command.name)
        if value is None:
            place = on_one_line(name)
            raise ParseError(place=place, problem="has no value", fix="give one behind it")
        check_depth(flag.name, "{" * len(keys) + value.text)
        _, merged = self._dotted.setdefault(flag.name, (flag, {}))
        merge(merged, keys, key_value(value, listed=name.endswith("+")))

    def _close_dotted(self) -> None:
        """Keys of an option count as one JSON value, given last."""
        for flag, value in self._dotted.values():
            try:
                value_of(flag.option, json.dumps(value, default=lambda unknown: unknown.text))
            except ParseError as error:
                self.faults.append(Fault(line=flag.line, error=error))
            else:
                self._add(flag, value)

    def _positional(self, word: Word) -> None:
        """The model of `vllm serve`; any other word belongs to no option."""
        before = self.model
        if self.command.name == SERVE and (before is None or (word.known and not before.known)):
            self.unread += [] if before is None else [before]
            self.model = word
        elif not word.known:
            self.unread.append(word)
        else:
            flag = self.given[-1].flag if self.given else None
            alone = flag is not None and not flag.option.takes_value
            fix = f"{flag.typed} takes no value" if alone and flag else "drop it, or quote it"
            raise ParseError(place=shortened(word.text), problem="belongs to no option", fix=fix)

    def _of_whole(self) -> Iterator[Fault]:
        """What only the whole command shows: an option missing, a model misplaced."""
        name, line = self.command.name, self.command.line
        dests = {given.option.dest for given in self.given}
        if self.command.cut is not None:
            cut = self.command.cut
            place = on_one_line(cut.text.partition("=")[0])
            fix = "end the line above with a backslash and nothing behind it"
            error = ParseError(place=place, problem="begins a line of its own", fix=fix)
            yield Fault(line=cut.line, error=error)
        if self.faults or self.asks_help:
            return
        for option in options(name).values():
            if option.required and option.dest not in dests:
                fix = f"vllm {name} needs it"
                error = ParseError(place=option.name, problem="is missing", fix=fix)
                yield Fault(line=line, error=error)
        if name == SERVE and "model" in dests and self.model is not None and self.model.known:
            place = shortened(self.model.text)
            error = ParseError(place=place, problem="stands beside --model", fix="keep one of them")
            yield Fault(line=line, error=error)
        first = self.words[0].text if self.words else ""
        typed = {given.flag.typed for given in self.given}
        place = "--served-model-name"
        unnamed = first.startswith("-") and not typed & {"--config", "--model"}
        if name == SERVE and unnamed and place in typed:
            fix = f"write the model first: vllm serve MODEL {place} NAME"
            error = ParseError(place=place, problem="stands before the model", fix=fix)
            yield Fault(line=line, error=error)


def prepared(words: Sequence[Word]) -> Iterator[Word]:
    """The words after the rewriting that vLLM's parser does first.

    >>> words = [Word(text=text, line=1) for text in ("--max_num_seqs", "8", "-O3", "...")]
    >>> [word.text for word in prepared(words)]
    ['--max-num-seqs', '8', '--optimization-level', '3']
    """
    for place, word in enumerate(words):
        behind = words[place + 1].text if place + 1 < len(words) else ""
        level = LEVEL.fullmatch(word.text)
        if word.text == "-O" and behind in ("0", "1", "2", "3"):
            yield replace(word, text="--optimization-level")
        elif level is not None:
            yield replace(word, text="--optimization-level")
            yield replace(word, text=level[1])
        elif word.text not in MORE:
            yield replace(word, text=hyphened(word.text))


def taken(option: Option, word: Word) -> object:
    """What an option makes of a word; a word with unknown parts stays as it is."""
    return value_of(option, word.text) if word.known else Unknown(text=word.text)


def key_value(word: Word, *, listed: bool) -> object:
    """The value of a key: JSON, else a number like 8k, else the text.

    >>> key_value(Word(text="8k", line=1), listed=False)
    8000
    >>> key_value(Word(text="a,b", line=1), listed=True)
    ['a', 'b']
    """
    if not word.known:
        return Unknown(text=word.text)
    if listed:
        return word.text.split(",")
    for read in (json.loads, human_int):
        try:
            value: object = read(word.text)
        except (ValueError, OverflowError, RecursionError):
            continue
        return value
    return word.text


def merge(into: dict[str, object], keys: Sequence[str], value: object) -> None:
    """Set a value inside nested objects; two lists become one.

    >>> found = {"a": {"b": 1}}
    >>> merge(found, ("a", "c"), 2)
    >>> found
    {'a': {'b': 1, 'c': 2}}
    """
    *above, last = keys
    for key in above:
        inner = into.get(key)
        if not isinstance(inner, dict):
            into[key] = inner = {}
        into = inner
    before = into.get(last)
    if isinstance(before, list) and isinstance(value, list):
        into[last] = [*before, *value]
    elif isinstance(before, dict) and isinstance(value, Mapping):
        for key, one in value.items():
            merge(before, (key,), one)
    else:
        into[last] = value
