"""The commands that a text shows a reader, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fences import Fence, Source
from html_tree import Element
from vllm_parallel.engine.commands import Command, find
from vllm_parallel.engine.shell import Shell
from vllm_parallel.errors import ParseError

SHELL: Final = frozenset({"bash", "sh", "shell"})
SNIPPET: Final = re.compile(r'[ \t>]*--8<-- "(?P<path>[^":]+)(?::(?P<section>[a-z][\w-]*))?"\s*')
MARKER: Final = re.compile(r"--8<-- \[(?P<edge>start|end):(?P<section>[a-z][\w-]*)\]")
QUOTE: Final = re.compile(r"^[ \t]*(?:> ?)+")
# A line that shows a command: behind a prompt, a list's dash, a key; in the environment it sets.
OPENING: Final = re.compile(
    r"""[ \t]*(?:[$%>][ \t]+|-[ \t]+|[\w-]+:[ \t]+)*(?P<quote>["']?)"""
    r"""(?P<text>(?:\w+=\S*[ \t]+)*(?:\S*/)?vllm(?:-parallel)?(?:[ \t]+[a-z-].*)?)$"""
)
QUOTED: Final = re.compile(r"""(?P<quote>["'`])(?P<text>vllm(?:-parallel)?[ ](?:(?!\1).)+)\1""")
CONTINUED: Final = re.compile(r"^[ \t]*>[ \t]")
PROMPT: Final = re.compile(r"^[ \t]*[$%][ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a text that is shown, and where it comes from."""

    text: str
    place: str  # page:line, or file:line
    source: str = ""  # of a snippet's line, the same in its own file

    def __str__(self) -> str:
        return f"{self.place} ({self.source})" if self.source else self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What an author says of a block: the model and GPU it is for, the rule that refuses it."""

    model: str | None = None
    gpu: str | None = None  # without one only what holds on every GPU is judged, as on Hopper
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A code element of a built page."""

    text: str
    marks: Marks
    shell: bool
    inline: bool  # in a sentence, where a command's bare name is no call


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A command and the rows it was found in; for what cannot be read, the error in its stead."""

    rows: Sequence[Row]
    line: int  # of the rows, from 1
    command: Command | None = None
    error: ParseError | None = None

    @property
    def row(self) -> Row:
        """Where it begins."""
        return self.row_at(self.line)

    def row_at(self, line: int) -> Row:
        """A row by its line, the nearest where there is none."""
        return self.rows[min(max(line, 1), len(self.rows)) - 1]


def in_shell(rows: Sequence[Row], shell: Shell) -> list[Shown]:
    """The commands of rows that a shell would read whole.

    >>> rows = [Row(text=text, place=str(n)) for n, text in enumerate(("M=m", "vllm serve $M"))]
    >>> [(shown.row.place, shown.command.text) for shown in in_shell(rows, Shell())]
    [('1', 'vllm serve m')]
    """
    try:
        found = find("\n".join(PROMPT.sub("", row.text) for row in rows), shell=shell)
    except ParseError as error:
        return [Shown(rows=rows, line=int(error.place.removeprefix("line ")), error=error)]
    return [Shown(rows=rows, line=one.line, command=one) for one in found]


def in_lines(rows: Sequence[Row]) -> Iterator[Shown]:
    """The commands that begin a line, or fill a quotation, of rows in another language.

    >>> rows = [Row(text='run("vllm serve m -tp 2")', place="a.py:1")]
    >>> [shown.command.text for shown in in_lines(rows)]
    ['vllm serve m -tp 2']
    """
    at = 0
    while at < len(rows):
        opening = OPENING.fullmatch(rows[at].text)
        if opening is None:
            for quotation in QUOTED.finditer(rows[at].text):
                yield from in_shell([replace(rows[at], text=quotation["text"])], Shell())
            at += 1
            continue
        end = at + 1
        while rows[end - 1].text.endswith("\\") and end < len(rows):
            end += 1
        quote = opening["quote"]
        first = opening["text"].removesuffix(quote) if quote else opening["text"]
        rest = [replace(row, text=CONTINUED.sub("", row.text)) for row in rows[at + 1 : end]]
        yield from in_shell([replace(rows[at], text=first), *rest], Shell())
        at = end


def rows_of(fence: Fence, page: str, offset: int, root: Path) -> list[Row]:
    """The lines of a fence, snippets filled in."""
    rows = []
    for number, text in enumerate(fence.body, fence.line + 1 + offset):
        place = f"{page}:{number}"
        match = SNIPPET.fullmatch(text)
        if match is None:
            rows.append(Row(text=QUOTE.sub("", text), place=place))
        else:
            lines = snippet(root / match["path"], match["section"])
            source = match["path"]
            rows += [Row(text=line, place=place, source=f"{source}:{n}") for n, line in lines]
    return rows


def snippet(path: Path, section: str | None) -> list[tuple[int, str]]:
    """The numbered lines of a snippet's section; none where MkDocs itself will complain."""
    if not path.is_file():
        return []
    lines = []
    inside = section is None
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        marker = MARKER.search(text)
        if marker is None and inside:
            lines.append((number, text))
        elif marker is not None and marker["section"] == section:
            inside = marker["edge"] == "start"
    return lines


def fences_of(markdown: str) -> Iterator[Fence]:
    """The fences of a page that show something and may hold a command."""
    for fence in Source.of(markdown).fences:
        if fence.option("exec") is None and fence.body:
            yield fence


def blocks_of(element: Element, around: Block) -> Iterator[Block]:
    """Every code element below one, with the marks and the language of what it stands in."""
    here = Block(
        text="",
        marks=Marks(
            model=element.attributes.get("data-model", around.marks.model),
            gpu=element.attributes.get("data-gpu", around.marks.gpu),
            refused=element.attributes.get("data-refused", around.marks.refused),
        ),
        shell=around.shell or "language-bash" in element.classes,
        inline=around.inline and element.tag != "pre",
    )
    if element.tag == "code":
        yield replace(here, text=element.text())
        return
    for child in element.children:
        if isinstance(child, Element):
            yield from blocks_of(child, here)


OUTSIDE: Final = Block(text="", marks=Marks(), shell=False, inline=True)
