"""Splits a page's Markdown into fenced blocks and the lines between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"^(?P<indent>[ >]*)(?P<marks>`{3,}|~{3,})(?P<header>.*)$")
_HEADER = re.compile(r'[ \t]*(?P<language>[\w+#.-]*)(?P<options>(?:[ \t]+[a-z_]+="[^"]*")*)[ \t]*')
_OPTION = re.compile(r'([a-z_]+)="([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One fenced block.

    `language` is None where the header is not `language key="value" …`.
    """

    line: int
    header: str
    language: str | None
    options: tuple[tuple[str, str], ...]
    body: tuple[str, ...]
    closed: bool

    def option(self, name: str) -> str | None:
        """Value of an option, or None."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line outside every fence, and whether the next line with text is its body."""

    number: int
    text: str
    has_body: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page's Markdown, taken apart."""

    fences: tuple[Fence, ...]
    prose: tuple[Line, ...]

    @classmethod
    def of(cls, markdown: str) -> Source:
        r"""Fences and prose of one page.

        >>> source = Source.of('Words.\n```python exec="on"\nprint(1)\n```\n')
        >>> source.fences[0].options, source.fences[0].body
        ((('exec', 'on'),), ('print(1)',))
        >>> [line.text for line in source.prose]
        ['Words.']
        """
        lines = markdown.splitlines()
        fences: list[Fence] = []
        prose: list[Line] = []
        at = 0
        while at < len(lines):
            opening = _OPENING.match(lines[at])
            if opening is None:
                prose.append(Line(number=at + 1, text=lines[at], has_body=_has_body(lines, at)))
                at += 1
                continue
            end = _closing(lines, at, opening["marks"])
            fences.append(_fence(lines, at, end, opening["header"]))
            at = end + 1
        return cls(fences=tuple(fences), prose=tuple(prose))


def _closing(lines: list[str], at: int, marks: str) -> int:
    """Index of the line that closes the fence opened at `at`; the page's length if none does."""
    for index in range(at + 1, len(lines)):
        if lines[index].strip(" \t>") == marks:
            return index
    return len(lines)


def _fence(lines: list[str], at: int, end: int, header: str) -> Fence:
    match = _HEADER.fullmatch(header)
    return Fence(
        line=at + 1,
        header=header.strip(),
        language=match["language"] if match else None,
        options=tuple(_OPTION.findall(match["options"])) if match else (),
        body=tuple(lines[at + 1 : end]),
        closed=end < len(lines),
    )


def _has_body(lines: list[str], at: int) -> bool:
    """Whether the next line with text stands four columns further in."""
    following = next((line for line in lines[at + 1 :] if line.strip()), "")
    return _indent(following) >= _indent(lines[at]) + 4


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
