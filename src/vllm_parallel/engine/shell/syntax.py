"""Shell text as a tree: commands, loops, choices, functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vllm_parallel.engine.shell.scanner import Scanner
from vllm_parallel.engine.shell.words import NAME, Token, unreadable

REDIRECTIONS: Final = frozenset("< > >> << <<- <<< >& <& >| <> &> &>>".split())
SEPARATORS: Final = frozenset(("\n", ";", "&", "&&", "||", "|", "|&"))
CLOSING: Final = frozenset("then elif else fi do done esac } ) ;; ;& ;;&".split())
PASSED_OVER: Final = frozenset("! time coproc".split())
ASSIGNMENT: Final = re.compile(rf"{NAME}(\[[^]]*\])?\+?=")
DECLARATIONS: Final = frozenset("declare export local readonly typeset".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """A command with its arguments, and the variables set before it."""

    assignments: tuple[Token, ...]
    words: tuple[Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`for`: a body run for each word; without words for each of what nobody defined."""

    name: str
    words: tuple[Token, ...] | None
    body: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`if`, `case`, `while`: at most one of these is run."""

    branches: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A subshell: what it sets is lost at its end."""

    body: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A body that is run by its name."""

    name: str
    body: Block


Node = Simple | Loop | Choice | Group | Function
Block = tuple[Node, ...]


@dataclass(slots=True)
class Parser:
    """A place in a list of tokens, moving on."""

    tokens: list[Token]
    at: int = 0

    def parse(self) -> Block:
        """The whole text.

        Raises:
            ParseError: a block is never closed, or closed without being open.
        """
        block = self._block()
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            text = token.operator or token.plain
            raise unreadable(token.line, f"has {text!r} without its beginning", "drop it")
        return block

    @property
    def _text(self) -> str:
        """What stands at the place, nothing at the end or where it is quoted."""
        if self.at >= len(self.tokens):
            return ""
        return self.tokens[self.at].operator or self.tokens[self.at].plain

    @property
    def _compounds(self) -> dict[str, Callable[[int], Block]]:
        """The words that begin more than a command, and what reads the rest."""
        return {
            "for": self._for,
            "select": self._for,
            "while": self._while,
            "until": self._while,
            "if": self._if,
            "case": self._case,
            "{": lambda line: self._closed(line, "}")[0],
            "(": self._bracket,
            "[[": self._test,
        }

    def _block(self) -> Block:
        """Nodes up to a closing word, which is left in place."""
        nodes: list[Node] = []
        while self.at < len(self.tokens) and self._text not in CLOSING:
            if self._text in SEPARATORS or self._text in PASSED_OVER:
                self.at += 1
            else:
                nodes += self._nodes()
        return tuple(nodes)

    def _nodes(self) -> Block:
        text, line = self._text, self.tokens[self.at].line
        compound = self._compounds.get(text)
        if compound is not None:
            self.at += 1
            return compound(line)
        after = [token.operator for token in self.tokens[self.at + 1 : self.at + 3]]
        if text == "function" or (after == ["(", ")"] and not self.tokens[self.at].operator):
            return self._function(line)
        return (self._simple(),)

    def _simple(self) -> Simple:
        assignments: list[Token] = []
        words: list[Token] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.operator and token.operator not in REDIRECTIONS:
                break
            self.at += 2 if token.operator else 1
            if token.operator:
                continue
            if is_assignment(token) and (not words or words[0].plain in DECLARATIONS):
                assignments.append(token)
            else:
                words.append(token)
        return Simple(assignments=tuple(assignments), words=tuple(words))

    def _closed(self, line: int, *ends: str) -> tuple[Block, str]:
        """A block and the word that closes it."""
        block, end = self._block(), self._text
        if end not in ends:
            fix = f"close it with {ends[-1]}"
            raise unreadable(line, "opens a block that is never closed", fix)
        self.at += 1
        return block, end

    def _skip_to(self, end: str, line: int) -> None:
        """Move behind a word or operator."""
        while self.at < len(self.tokens):
            self.at += 1
            if (self.tokens[self.at - 1].operator or self.tokens[self.at - 1].plain) == end:
                return
        raise unreadable(line, "opens a block that is never closed", f"close it with {end}")

    def _function(self, line: int) -> Block:
        self.at += self._text == "function"
        name = self._text
        self.at += 1
        while self._text in ("(", ")", "\n"):
            self.at += 1
        if self.at >= len(self.tokens):
            raise unreadable(line, "names a function without a body", "add one in { }")
        return (Function(name=name, body=self._nodes()),)

    def _for(self, line: int) -> Block:
        """`for NAME in …; do …; done`, or without a list, or over a sum."""
        name, words = self._text, None
        self.at += 1
        while self._text == "\n":
            self.at += 1
        if self._text == "in":
            self.at += 1
            listed = self._simple()
            words = (*listed.assignments, *listed.words)
        self._skip_to("do", line)
        body, _ = self._closed(line, "done")
        return (Loop(name=name, words=words, body=body),)

    def _while(self, line: int) -> Block:
        condition, _ = self._closed(line, "do")
        body, _ = self._closed(line, "done")
        return (*condition, Choice(branches=(body, ())))

    def _if(self, line: int) -> Block:
        """The conditions, then the branches; without `else` there is an empty one."""
        nodes, _ = self._closed(line, "then")
        branches: list[Block] = []
        end = "elif"
        while end != "fi":
            branch, end = self._closed(line, "elif", "else", "fi")
            branches.append(branch)
            if end == "elif":
                nodes += self._closed(line, "then")[0]
            elif end == "else":
                branches.append(self._closed(line, "fi")[0])
                return (*nodes, Choice(branches=tuple(branches)))
        return (*nodes, Choice(branches=(*branches, ())))

    def _case(self, line: int) -> Block:
        self._skip_to("in", line)
        branches: list[Block] = [()]
        while True:
            while self._text in ("\n", ";;", ";&", ";;&"):
                self.at += 1
            if self._text == "esac":
                self.at += 1
                return (Choice(branches=tuple(branches)),)
            self._skip_to(")", line)
            branches.append(self._block())
            if self._text not in (";;", ";&", ";;&", "esac"):
                raise unreadable(line, "opens a block that is never closed", "close it with esac")

    def _bracket(self, line: int) -> Block:
        """A subshell; ((…)) is a sum, and sets nothing that is followed."""
        if self._text == "(":
            self._skip_to(")", line)
            self._skip_to(")", line)
            return ()
        return (Group(body=self._closed(line, ")")[0]),)

    def _test(self, line: int) -> Block:
        self._skip_to("]]", line)
        return ()


def is_assignment(token: Token) -> bool:
    """Whether a word sets a variable where a command would stand."""
    if not token.pieces or token.operator:
        return False
    first = token.pieces[0]
    return first.source == first.text and ASSIGNMENT.match(first.text) is not None


def tree(scanner: Scanner) -> Block:
    """The tree of a text.

    >>> len(tree(Scanner("A=1; for B in 1 2; do f; done")))
    2
    """
    return Parser(scanner.tokens()).parse()
