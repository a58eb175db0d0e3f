"""Walks shell text as a shell would, and lists the commands it comes by.

Nothing is executed. Variables, arrays, loops and functions of the text are followed; what it does
not define stays as it is written and is marked as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from vllm_parallel.engine.shell.expansion import Variables, fields, joined, unsplit
from vllm_parallel.engine.shell.scanner import Scanner
from vllm_parallel.engine.shell.syntax import (
    DECLARATIONS,
    Block,
    Choice,
    Function,
    Group,
    Loop,
    Simple,
    tree,
)
from vllm_parallel.engine.shell.words import NAME, Kind, Token, Word, unreadable
from vllm_parallel.errors import ParseError

MOST_WORDS: Final = 2**16  # of all commands, those of loops counted each time
MOST_CHARACTERS: Final = 2**18
LONG: Final = 64  # so many characters, or words kept, count as a word
RANGE: Final = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
SET: Final = re.compile(rf"(?P<name>{NAME})(?P<index>\[[^]]*\])?(?P<more>\+?)=")


@dataclass(slots=True)
class Shell:
    """Variables and functions defined so far, and every command met, in the text's order."""

    variables: Variables = field(default_factory=dict)
    functions: dict[str, Block] = field(default_factory=dict)
    met: list[tuple[Word, ...]] = field(default_factory=list)
    steps: int = 0  # words met
    _called: set[str] = field(default_factory=set)
    _calls: list[str] = field(default_factory=list)

    def run(self, text: str, first_line: int = 1) -> list[tuple[Word, ...]]:
        """The commands of a text, each as the words it gets.

        Raises:
            ParseError: an unclosed quote or block, or a text that does not end.

        >>> met = Shell().run('TP="8 16"; for N in $TP; do vllm serve "$M" -tp $N; done')
        >>> [" ".join(word.text for word in words) for words in met]
        ['vllm serve $M -tp 8', 'vllm serve $M -tp 16']
        """
        if len(text) > MOST_CHARACTERS:
            fix = f"at most {MOST_CHARACTERS} are read"
            raise unreadable(first_line, f"begins a text of {len(text)} characters", fix)
        self.met = []
        self._called.clear()
        scanner = Scanner(text.replace("\r\n", "\n"), first_line)
        defined = set(self.functions)
        try:
            self._block(tree(scanner))
            for name in sorted(set(self.functions) - defined - self._called):
                self._call(name, None)
            for line, document in scanner.documents:
                self._apart(document, line)
        except RecursionError as error:
            raise unreadable(first_line, "begins a text nested too deep", "simplify it") from error
        return sorted(self.met, key=lambda words: words[0].line)

    def _block(self, block: Block) -> None:
        for node in block:
            if isinstance(node, Simple):
                self._simple(node)
            elif isinstance(node, Loop):
                self._loop(node)
            elif isinstance(node, Choice):
                self._choice(node)
            elif isinstance(node, Function):
                self.functions[node.name] = node.body
            else:
                self._group(node)

    def _simple(self, node: Simple) -> None:
        words = [word for token in node.words for word in self._words(token)]
        self._spend(words)
        if not words or words[0].text in DECLARATIONS:
            for token in node.assignments:
                self._assign(token)
            return
        name = words[0].text
        if name in self.functions and name not in self._calls:
            self._call(name, tuple(words[1:]))
        elif name == "shift" and "@" in self.variables:
            self.variables["@"] = self.variables["@"][1:]
        elif name in ("read", "mapfile", "readarray", "unset"):
            for word in words[1:]:
                self.variables.pop(word.text, None)
        else:
            self.met.append(tuple(words))

    def _spend(self, words: Sequence[Word]) -> None:
        """Count words, long ones and long lists for more: a loop must end in time."""
        self.steps += 1 + len(words) + sum(len(word.text) for word in words) // LONG
        if self.steps > MOST_WORDS:
            line = words[0].line if words else 1
            raise unreadable(line, f"is met after {MOST_WORDS} words", "shorten the loops")

    def _words(self, token: Token) -> list[Word]:
        """The words that a token becomes, and the commands in its $(…)."""
        self._outputs(token)
        return fields(token, self.variables)

    def _outputs(self, token: Token) -> None:
        for piece in token.pieces:
            if piece.kind is Kind.OUTPUT and "vllm" in piece.text:
                self._apart(piece.text, token.line)

    def _apart(self, text: str, line: int) -> None:
        """Commands of a text of its own, if it is one of the shell."""
        inner = Shell(variables=dict(self.variables), steps=self.steps)
        with suppress(ParseError):  # a here-document may be a file of another kind
            self.met += inner.run(text, line)
        self.steps = inner.steps

    def _assign(self, token: Token) -> None:
        """`NAME=value`, `NAME=(…)`, `NAME+=…`; an element set by its index makes all unknown."""
        first = token.pieces[0]
        match = SET.match(first.text)
        if match is None:
            return
        name = match["name"]
        before = self.variables.get(name) if match["more"] else ()
        if match["index"] or before is None:
            self.variables.pop(name, None)
            return
        if token.array is not None:
            added = tuple(word for one in token.array for word in self._words(one))
            self.variables[name] = (*before, *added)
            self._spend((*added, *before[::LONG]))
            return
        self._outputs(token)
        rest = replace(first, text=first.text[match.end() :])
        value = unsplit((rest, *token.pieces[1:]), self.variables, token.line)
        self.variables[name] = (joined((*before[:1], value)),)
        self._spend(self.variables[name])

    def _loop(self, node: Loop) -> None:
        if node.words is None:
            values = [Word(text="", line=1, known=False)]
        else:
            values = [word for token in node.words for word in self._loop_words(token)]
        for value in values:
            if value.known:
                self.variables[node.name] = (value,)
            else:
                self.variables.pop(node.name, None)
            self._block(node.body)

    def _loop_words(self, token: Token) -> list[Word]:
        span = RANGE.fullmatch(token.plain)
        if span is None:
            return self._words(token)
        first, last = int(span[1]), int(span[2])
        numbers = range(first, last + 1) if first <= last else range(first, last - 1, -1)
        return [Word(text=str(number), line=token.line) for number in numbers[: MOST_WORDS + 1]]

    def _choice(self, node: Choice) -> None:
        """Each branch from the same start; what they leave different is unknown after it."""
        start = dict(self.variables)
        ends = []
        for branch in node.branches:
            self.variables = dict(start)
            self._block(branch)
            ends.append(self.variables)
        self.variables = {
            name: value
            for name, value in ends[0].items()
            if all(end.get(name) == value for end in ends[1:])
        }

    def _group(self, node: Group) -> None:
        start = dict(self.variables)
        self._block(node.body)
        self.variables = start

    def _call(self, name: str, arguments: tuple[Word, ...] | None) -> None:
        """Run a function, with its arguments if they are known."""
        before = self.variables.pop("@", None)
        if arguments is not None:
            self.variables["@"] = arguments
        self._called.add(name)
        self._calls.append(name)
        self._block(self.functions[name])
        self._calls.pop()
        self.variables.pop("@", None)
        if before is not None:
            self.variables["@"] = before
