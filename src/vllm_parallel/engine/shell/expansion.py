"""What a shell makes of a word before a command gets it.

Source: POSIX.1-2024, Shell Command Language, 2.6; Bash Reference Manual, shell parameter expansion
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vllm_parallel.engine.shell.scanner import Scanner
from vllm_parallel.engine.shell.sums import total
from vllm_parallel.engine.shell.words import NAME, Kind, Piece, Token, Word, unreadable
from vllm_parallel.frozen import replace

Variables = dict[str, tuple[Word, ...]]  # one word, or those of an array; "@" a function's own

LONGEST: Final = 2**16  # characters of a word, and words of a list: a loop may double both
PARAMETER: Final = re.compile(
    rf"(?P<name>{NAME}|[0-9]{{1,5}}|[@*#])(?P<part>\[(?:[@*]|[0-9]{{1,5}})\])?"
    r"(?:(?P<operator>:?[-=?+])(?P<word>.*))?",
    re.DOTALL,
)


def fields(token: Token, variables: Variables) -> list[Word]:
    """The words that a token becomes: several for an array, none for an empty one."""
    words: list[Word] = []
    current: Word | None = None
    for piece in token.pieces:
        for atom in atoms(piece, variables, token.line):
            if atom is not None:
                current = atom if current is None else joined((current, atom))
            elif current is not None:
                words.append(current)
                current = None
    if current is not None:
        words.append(current)
    if len(words) > LONGEST:
        raise unreadable(token.line, f"makes {len(words)} words", f"at most {LONGEST} are read")
    return words


def atoms(piece: Piece, variables: Variables, line: int) -> Iterator[Word | None]:
    """What a piece stands for, None where a word ends."""
    for number, part in enumerate(values_of(piece, variables, line)):
        if number:
            yield None
        if piece.quoted or piece.kind is Kind.TEXT or not part.known:
            yield part
            continue
        if part.text[:1].isspace():
            yield None
        for place, text in enumerate(part.text.split()):
            if place:
                yield None
            yield replace(part, text=text)
        if part.text[-1:].isspace():
            yield None


def values_of(piece: Piece, variables: Variables, line: int) -> tuple[Word, ...]:
    """What a piece stands for, unsplit; itself, as written, where nobody defined it."""
    if piece.kind is Kind.TEXT:
        return (Word(text=piece.text, line=line),)
    found: tuple[Word, ...] | None = None
    if piece.kind is Kind.VARIABLE:
        found = parameter(piece.text, variables, line)
    elif piece.kind is Kind.SUM:
        numbers = {name: words[0].text for name, words in variables.items() if is_one(words)}
        value = total(piece.text, numbers)
        found = None if value is None else (Word(text=str(value), line=line),)
    return (Word(text=piece.source, line=line, known=False),) if found is None else found


def is_one(words: tuple[Word, ...]) -> bool:
    """Whether a variable is one known word."""
    return len(words) == 1 and words[0].known


def parameter(text: str, variables: Variables, line: int) -> tuple[Word, ...] | None:
    """The value of what stands in ${…}, None if that is not known.

    >>> shell = {"TP": (Word(text="8", line=1),)}
    >>> [parameter(text, shell, 2)[0].text for text in ("TP", "TP:-4", "PP:-2")]
    ['8', '8', '2']
    >>> parameter("PP", shell, 2) is None
    True
    """
    match = PARAMETER.fullmatch(text)
    if match is None:
        return None
    value = stored(match, variables, line)
    operator = match["operator"] or ""
    if not operator or operator.endswith("?"):
        return value
    filled = value is not None and (operator[0] != ":" or any(word.text for word in value))
    if operator.endswith("+"):
        return None if value is None else default(match["word"], variables, line) if filled else ()
    if filled:
        return value
    other = default(match["word"], variables, line)
    if operator.endswith("=") and other is not None:
        variables[match["name"]] = other
    return other


def stored(match: re.Match[str], variables: Variables, line: int) -> tuple[Word, ...] | None:
    """A variable's one word, all of an array's, or a function's argument."""
    name = match["name"]
    if name.isdigit() or name == "#":
        arguments = variables.get("@")
        if arguments is None or name == "0":
            return None
        count = Word(text=str(len(arguments)), line=line)
        one = arguments[int(name) - 1 : int(name)] if name != "#" else (count,)
        return one or (Word(text="", line=line),)
    words = variables.get("@" if name == "*" else name)
    if words is None:
        return None
    part = match["part"] or f"[{name if name in ('@', '*') else 0}]"
    if part == "[*]":
        return (joined(words, " "),) if words else ()
    if part == "[@]":
        return words
    number = int(part[1:-1])
    return words[number : number + 1] or (Word(text="", line=line),)


def default(text: str, variables: Variables, line: int) -> tuple[Word, ...] | None:
    """The word behind an operator, None where it is not one."""
    tokens = Scanner(text, line).tokens()
    if any(token.operator or token.array is not None for token in tokens):
        return None
    words = [word for token in tokens for word in fields(token, variables)]
    return (joined(words, " "),) if words else (Word(text="", line=line),)


def unsplit(pieces: Sequence[Piece], variables: Variables, line: int) -> Word:
    """The one word that a variable is set to."""
    parts = [joined(values_of(piece, variables, line) or (EMPTY,), " ") for piece in pieces]
    return replace(joined(parts), line=line)


def joined(words: Sequence[Word], between: str = "") -> Word:
    """Several words as one, on the line of the first."""
    text = between.join(word.text for word in words)
    if len(text) > LONGEST:
        line = words[0].line
        raise unreadable(
            line, f"makes a word of {len(text)} characters", f"at most {LONGEST} are read"
        )
    return Word(text=text, line=words[0].line, known=all(word.known for word in words))


EMPTY: Final = Word(text="", line=1)
