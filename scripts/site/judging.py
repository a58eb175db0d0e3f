"""Whether vLLM would take the commands that the site shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Final

import named
from html_tree import parse
from shown import (
    OUTSIDE,
    SHELL,
    Marks,
    Row,
    Shown,
    blocks_of,
    fences_of,
    in_lines,
    in_shell,
    rows_of,
    snippet,
)
from vllm_parallel.cli import parsed, question_of
from vllm_parallel.constraints import RULES
from vllm_parallel.engine.commands import OURS, Command
from vllm_parallel.engine.options import nearest
from vllm_parallel.engine.reading import Reading
from vllm_parallel.engine.shell import Shell
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.review import Review
from vllm_parallel.verdict import MEMORY_RULES

MOST: Final = 2048  # commands of the site
NAMES: Final = [rule.name for rule in RULES] + [rule.name for rule in MEMORY_RULES]


@dataclass(slots=True)
class Judge:
    """What was shown so far: refusals of snippets, and those that a page marks and must quote."""

    root: Path
    _refused: dict[str, str] = field(default_factory=dict)  # snippet:line -> complaint
    _marked: set[str] = field(default_factory=set)
    _quotes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # page -> place, words
    _judged: dict[str, set[str]] = field(default_factory=dict)  # page -> commands

    def markdown(self, text: str, page: str, offset: int) -> Iterator[str]:
        """Complaints about a page's fences; variables of one are known in the next."""
        self._judged[page], self._quotes[page] = set(), []  # it may be read again
        shell = Shell()
        for fence in fences_of(text):
            marks = Marks(model=fence.option("model"), refused=fence.option("refused"))
            rows = rows_of(fence, page, offset, self.root)
            if fence.language in SHELL:
                self._learn(rows, shell)
                found = in_shell(rows, shell)
            else:
                found = list(in_lines(rows))
            self._judged[page].update(one.command.text for one in found if one.command)
            yield from self._block(found, marks, page, f"{page}:{fence.line + offset}")

    def file(self, path: Path) -> Iterator[str]:
        """Complaints about a snippet; what vLLM refuses in it may be marked by a page later."""
        name = path.relative_to(self.root).as_posix()
        rows = [Row(text=text, place=f"{name}:{n}") for n, text in snippet(path, None)]
        found = in_shell(rows, Shell()) if path.suffix in (".sh", ".bash") else in_lines(rows)
        for shown in found:
            for line, complaint in flag_faults(shown):
                yield f"{shown.row_at(line)}{self._pages(name)}: {complaint}"
            refusal = refusal_of(shown.command, Marks()) if shown.command else None
            if refusal is not None and refusal.rule:
                self._refused[shown.row.place] = f"{shown.row}: {refusal.text}"

    def html(self, html: str, page: str) -> Iterator[str]:
        """What only a built page shows: commands, refusals it does not quote, names of metrics."""
        root = parse(html)
        said = plain(root.text(skip=frozenset({"script", "style"})))
        shell = Shell()
        for block in blocks_of(root, OUTSIDE):
            if "vllm" not in block.text:
                continue
            rows = [Row(text=text, place=page) for text in block.text.splitlines()]
            found = in_shell(rows, shell) if block.shell else list(in_lines(rows))
            new = [one for one in found if not self._seen(one, page, inline=block.inline)]
            yield from self._block(new, block.marks, page, page)
        yield from self._unquoted(page, said)
        for text in root.texts():
            yield from (f"{page}: {fault}" for fault in named.metric_faults(text))

    def text_quotes(self, text: str, page: str) -> Iterator[str]:
        """The same for a page that is not built, of its Markdown."""
        yield from self._unquoted(page, plain(text))

    def left(self) -> Iterator[str]:
        """Refusals of snippets that no page marks."""
        yield from (text for place, text in self._refused.items() if place not in self._marked)

    def _block(self, found: Sequence[Shown], marks: Marks, page: str, place: str) -> Iterator[str]:
        """Complaints about the commands of one block."""
        if marks.refused is not None and marks.refused not in NAMES:
            yield f"{place}: refused={marks.refused!r} is no rule; {nearest(marks.refused, NAMES)}"
            return
        met: set[str] = set()
        why = "is accepted by vLLM"
        for shown in found:
            faults = [f"{shown.row_at(line)}: {fault}" for line, fault in flag_faults(shown)]
            yield from faults
            refusal = refusal_of(shown.command, marks) if shown.command and not faults else None
            if refusal is None:
                continue
            met.add(refusal.rule)
            if not refusal.rule:
                why = f"cannot be judged: {refusal.text}"
            elif refusal.rule == marks.refused:
                self._marked.add(shown.row.source)
                quotes = self._quotes.setdefault(page, [])
                quotes.append((str(shown.row), refusal.message))
            else:
                yield f'{shown.row}: {refusal.text}, or mark it refused="{refusal.rule}"'
        if marks.refused is not None and not met - {""}:
            yield f'{place}: what is marked refused="{marks.refused}" {why}'

    def _learn(self, rows: Sequence[Row], shell: Shell) -> None:
        """Define what a snippet's file defines above the section that is shown."""
        first = next((row for row in rows if row.source), None)
        if first is not None:
            name, _, line = first.source.rpartition(":")
            above = [text for n, text in snippet(self.root / name, None) if n < int(line)]
            in_shell([Row(text=text, place="") for text in above], shell)

    def _pages(self, name: str) -> str:
        """The first page that shows a snippet."""
        for path in sorted((self.root / "docs").rglob("*.md")):
            for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if f'--8<-- "{name}' in text:
                    page = path.relative_to(self.root / "docs").as_posix()
                    return f" (shown by {page}:{number})"
        return ""

    def _seen(self, shown: Shown, page: str, *, inline: bool) -> bool:
        """Whether a command was judged in the page's source, or is a bare name in a sentence."""
        command = shown.command
        if command is None:
            return False
        return command.text in self._judged.get(page, ()) or (inline and not command.words)

    def _unquoted(self, page: str, said: str) -> Iterator[str]:
        for place, message in self._quotes.pop(page, []):
            if plain(message) not in said:
                yield f"{place}: the page does not quote the refusal: {message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a launch is not accepted. Without a `rule` it could not be judged."""

    rule: str = ""
    message: str = ""
    text: str


def flag_faults(shown: Shown) -> Iterator[tuple[int, str]]:
    """What is wrong with a command's flags, vLLM's or this package's own, and on which line."""
    if shown.error is not None:
        yield shown.line, f"{shown.error.problem}; {shown.error.fix}"
    if shown.command is not None:
        yield from faults_of(shown.command)


@lru_cache(maxsize=MOST)
def faults_of(command: Command) -> tuple[tuple[int, str], ...]:
    """The same of a command that can be read; a page and the whole to print show it alike."""
    return tuple(_faults(command))


def _faults(command: Command) -> Iterator[tuple[int, str]]:
    if command.program == OURS:
        yield from ((command.line, fault) for fault in own_faults(command))
        return
    reading = Reading.of(command)
    for fault in reading.faults:
        yield fault.line, str(fault)
    yield from named.hub_faults(reading)
    for given in reading.given:
        flag = given.flag
        if flag.name not in (flag.typed, flag.typed[:2]):
            yield flag.line, f"{flag.typed} is short for {flag.name}; write it out"


def own_faults(command: Command) -> Iterator[str]:
    """What this package's own parser says of a call; what the shell fills in counts as 1.

    Values of `plan` are read too, where none is left to the shell. Models and GPUs are looked up.
    """
    words = [word.text if word.known else "1" for word in command.words if word.text != "..."]
    try:
        with redirect_stdout(StringIO()):  # of help, and of the version
            given = parsed([*command.name.split(), *words])
        if command.name == "plan" and all(word.known for word in command.words):
            question_of(given)
        yield from named.own_faults(given, {word.text for word in command.words if word.known})
    except VllmParallelError as error:
        yield str(error)
    except SystemExit:
        return  # it asks for help or the version


@lru_cache(maxsize=MOST)
def refusal_of(command: Command, marks: Marks) -> Refusal | None:
    """Why vLLM refuses a launch, None if it does not or if the command starts no engine."""
    if command.program == OURS:
        return None
    # Rules do not go by quantisation, of which not every kind is modelled; memory does.
    terms: dict[str, object] = {} if marks.gpu else {"as_bf16": True}
    if marks.model is not None:
        terms["model"] = marks.model
    if marks.gpu is not None:
        terms["gpu"] = marks.gpu
    review = Review.of(command, terms)
    if review.passes or review.reading.faults:
        return None
    if review.verdict is None or review.verdict.refusal is None:
        return Refusal(text=" ".join(review.errors))
    refusal = review.verdict.refusal
    text = (
        f"vLLM refuses {command.text} at {refusal.stage}: {refusal.message} Way out: {refusal.fix}"
    )
    return Refusal(rule=refusal.name, message=refusal.message, text=text)


def plain(text: str) -> str:
    """A text without what Markdown and HTML do to its blanks, quotes and backticks."""
    for mark, other in (("`", ""), ("“", '"'), ("”", '"'), ("’", "'"), ("…", "...")):
        text = text.replace(mark, other)
    return " ".join(unescape(text).split())
