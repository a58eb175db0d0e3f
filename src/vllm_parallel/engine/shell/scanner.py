"""Cuts shell text into words and operators.

Source: POSIX.1-2024, Shell Command Language, 2.2 to 2.7; Bash Reference Manual, arrays
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from vllm_parallel.engine.shell.words import NAME, Kind, Piece, Token, unreadable

OPERATORS: Final = re.compile(
    r"&>>|<<<|<<-|;;&|&&|\|\||;;|;&|\|&|&>|<<|>>|>&|<&|>\||<>|[;&|()<>\n]"
)
HERE: Final = ("<<", "<<-")
NEWLINE: Final = re.compile(r"\n")
PLACEHOLDER: Final = re.compile(r"<[A-Za-z][\w .:/|-]*>")  # <model>, as manuals write it
STREAM: Final = re.compile(r"\d+(?=[<>])")
PLAIN: Final = re.compile(r"[^\s;&|()<>\\'\"$`]+")
ARRAY: Final = re.compile(rf"{NAME}\+?=")
VARIABLE: Final = re.compile(rf"{NAME}|[0-9@*#?$!-]")
ESCAPED: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
INSIDE_QUOTES: Final = re.compile(r'[^"\\$`]+')
BLANKS: Final = re.compile(r"(?:[ \t\r]|\\\n)+")
COMMENT: Final = re.compile(r"#[^\n]*")


@dataclass(slots=True)
class Scanner:
    """A place in a text, moving on; `documents` are the here-documents met so far."""

    text: str
    first_line: int = 1
    at: int = 0
    documents: list[tuple[int, str]] = field(default_factory=list)
    _due: list[tuple[str, bool]] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [0, *(newline.end() for newline in NEWLINE.finditer(self.text))]

    @property
    def line(self) -> int:
        """The line of the place."""
        return bisect_right(self._starts, self.at) - 1 + self.first_line

    def tokens(self) -> list[Token]:
        """Every word and operator, newlines included.

        >>> [token.operator or token.plain for token in Scanner("a -b  c # d").tokens()]
        ['a', '-b', 'c']

        Raises:
            ParseError: a quote or bracket is never closed.
        """
        found: list[Token] = []
        while (token := self._token(newlines=True)) is not None:
            found.append(token)
            if len(found) > 1 and found[-2].operator in HERE:
                self._due.append((_unquoted(token), found[-2].operator == "<<-"))
            if token.operator == "\n":
                self._read_documents()
        return found

    def _token(self, *, newlines: bool) -> Token | None:
        """The next token, None at the end."""
        while self._skip(BLANKS) or self._skip(COMMENT) or (not newlines and self._skip(NEWLINE)):
            pass
        if self.at >= len(self.text):
            return None
        line = self.line
        if self._is_word():
            return self._word(line)
        stream = STREAM.match(self.text, self.at)
        operator = OPERATORS.match(self.text, stream.end() if stream else self.at)
        if operator:
            self.at = operator.end()
            return Token(line=line, operator=operator[0])
        return self._word(line)

    def _word(self, line: int) -> Token:
        start = self.at
        pieces: list[Piece] = []
        while self.at < len(self.text) and not self.text[self.at].isspace():
            if self.text[self.at] == "(" and ARRAY.fullmatch(self.text, start, self.at):
                return Token(line=line, pieces=tuple(pieces), array=self._array(line))
            if self.text[self.at] in ";&|()<>" and not self._is_word():
                break
            pieces += self._pieces()
        return Token(line=line, pieces=tuple(pieces))

    def _is_word(self) -> bool:
        """Whether a bracket or angle at the place begins a part of a word."""
        return self.text.startswith(("<(", ">("), self.at) or bool(
            PLACEHOLDER.match(self.text, self.at)
        )

    def _array(self, line: int) -> tuple[Token, ...]:
        self.at += 1
        words: list[Token] = []
        while (token := self._token(newlines=False)) is not None:
            if token.operator == ")":
                return tuple(words)
            words.append(token)
        raise unreadable(line, "opens a list that is never closed", "close it with )")

    def _pieces(self) -> list[Piece]:
        """What comes next outside of quotes."""
        letter = self.text[self.at]
        if letter == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            return [] if escaped == "\n" else [_text(escaped, quoted=True)]
        if letter == "'":
            return [_text(self._until("'", self.at + 1), quoted=True)]
        if letter == '"':
            self.at += 1
            return self._double()
        if letter in "$`<>":
            return [self._expansion(quoted=False)]
        plain = PLAIN.match(self.text, self.at)
        self.at = plain.end() if plain else self.at + 1
        return [_text(plain[0] if plain else letter)]

    def _double(self) -> list[Piece]:
        """What stands in double quotes, the place being behind the first."""
        line = self.line
        pieces: list[Piece] = []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == '"':
                self.at += 1
                return pieces or [_text("", quoted=True)]
            if letter == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                kept = "" if escaped == "\n" else escaped if escaped in '$`"\\' else f"\\{escaped}"
                pieces.append(_text(kept, quoted=True))
            elif letter in "$`":
                pieces.append(self._expansion(quoted=True))
            else:
                run = INSIDE_QUOTES.match(self.text, self.at)
                self.at = run.end() if run else self.at + 1
                pieces.append(_text(run[0] if run else letter, quoted=True))
        raise unreadable(line, "opens a quote that is never closed", 'close it with "')

    def _expansion(self, *, quoted: bool) -> Piece:
        """What begins with a dollar, a backtick or an angle."""
        start = self.at
        kind, inner = self._expanded(quoted=quoted)
        source = self.text[start : self.at]
        return Piece(kind=kind, text=inner, source=source, quoted=quoted or kind is Kind.TEXT)

    def _expanded(self, *, quoted: bool) -> tuple[Kind, str]:
        two, three = self.text[self.at : self.at + 2], self.text[self.at : self.at + 3]
        if two[0] == "`":
            return Kind.OUTPUT, self._until("`", self.at + 1)
        if placeholder := PLACEHOLDER.match(self.text, self.at):
            self.at = placeholder.end()
            return Kind.VARIABLE, ""
        if two in ("$(", "<(", ">("):
            inner = self._balanced(self.at + 1, "()")
            return (Kind.SUM, inner[1:-1]) if three == "$((" else (Kind.OUTPUT, inner)
        if two == "${":
            return Kind.VARIABLE, self._balanced(self.at + 1, "{}")
        if two == "$'" and not quoted and (escaped := ESCAPED.match(self.text, self.at)):
            self.at = escaped.end()
            return Kind.TEXT, escaped[1].replace("\\'", "'")
        name = VARIABLE.match(self.text, self.at + 1)
        self.at = name.end() if name else self.at + 1
        return (Kind.VARIABLE, name[0]) if name else (Kind.TEXT, two[0])

    def _until(self, end: str, start: int) -> str:
        """The text up to a closing mark; the place moves behind it."""
        close = self.text.find(end, start)
        if close < 0:
            raise unreadable(
                self.line, "opens a quote that is never closed", f"close it with {end}"
            )
        self.at = close + 1
        return self.text[start:close]

    def _balanced(self, start: int, brackets: str) -> str:
        """What stands in brackets, the ones inside counted; the place moves behind them."""
        depth, index = 0, start
        while index < len(self.text):
            letter = self.text[index]
            if letter == "\\":
                index += 1
            elif letter in "'\"" and brackets == "()":
                index = self._past_quote(index)
            elif letter in brackets:
                depth += 1 if letter == brackets[0] else -1
                if depth == 0:
                    self.at = index + 1
                    return self.text[start + 1 : index]
            index += 1
        raise unreadable(
            self.line, f"opens a {brackets[0]} that is never closed", f"close it with {brackets[1]}"
        )

    def _past_quote(self, index: int) -> int:
        """The index of the mark that closes the quote at an index."""
        mark = self.text[index]
        close = index + 1
        while close < len(self.text) and self.text[close] != mark:
            close += 2 if self.text[close] == "\\" and mark == '"' else 1
        return close

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match is not None

    def _read_documents(self) -> None:
        """The here-documents whose words stood on the line that has ended."""
        for delimiter, indented in self._due:
            line, body = self.line, []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                row = self.text[self.at : end]
                self.at = end + 1
                if (row.strip() if indented else row.rstrip("\r")) == delimiter:
                    break
                body.append(row)
            self.documents.append((line, "\n".join(body)))
        self._due.clear()


def _text(text: str, *, quoted: bool = False) -> Piece:
    return Piece(kind=Kind.TEXT, text=text, source=text, quoted=quoted)


def _unquoted(token: Token) -> str:
    """The word that ends a here-document."""
    return "".join(piece.text for piece in token.pieces)
