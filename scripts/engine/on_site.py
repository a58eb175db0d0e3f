"""The `vllm` commands that the site shows, each with what the package says of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts" / "site"))

from html_tree import parse  # noqa: E402  # found by the line above
from shown import OUTSIDE, Marks, Row, Shown, blocks_of, in_lines, in_shell  # noqa: E402
from vllm_parallel.constraints import Stage  # noqa: E402
from vllm_parallel.engine.commands import VLLM, Command  # noqa: E402
from vllm_parallel.engine.options import SERVE  # noqa: E402
from vllm_parallel.engine.shell import Shell  # noqa: E402
from vllm_parallel.review import Review  # noqa: E402

MODEL = "/model"  # where a page leaves the model to a variable


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCommand:
    """One command, where it is first shown, and the package's review of it."""

    place: str
    command: Command
    review: Review

    @property
    def words(self) -> list[str] | None:
        """What vLLM's parser is given; None where the shell fills in more than the model."""
        if not all(word.known or word is self.review.reading.model for word in self.command.words):
            return None
        words = [word.text if word.known else MODEL for word in self.command.words]
        return [*self.command.name.split(), *words]

    @property
    def model(self) -> str | None:
        """The name of the model in the catalog, None where vLLM cannot be asked for a config."""
        question = self.review.question
        return None if question is None else question.deployment.model.name

    @property
    def refusal(self) -> str | None:
        """The refusal that vLLM's config has to give, None where it has to accept."""
        refusal = self.review.verdict.refusal if self.review.verdict else None
        return refusal.message if refusal is not None and refusal.stage is Stage.CONFIG else None


def shown_commands() -> list[ShownCommand]:
    """Every command of the built site, of the README and of the snippets, each text once."""
    found: dict[tuple[str, str | None], ShownCommand] = {}
    for place, marks, shown in _all():
        command = shown.command
        if command is None or command.program != VLLM or not command.words:
            continue
        terms = {"as_bf16": True} | ({"model": marks.model} if marks.model else {})
        review = Review.of(command, terms)
        one = ShownCommand(place=place, command=command, review=review)
        found.setdefault((command.text, marks.model), one)
    return list(found.values())


def _all() -> Iterator[tuple[str, Marks, Shown]]:
    for page in sorted((ROOT / "site").rglob("*.html")):
        place = page.relative_to(ROOT).as_posix()
        shell = Shell()
        for block in blocks_of(parse(page.read_text("utf-8")), OUTSIDE):
            if VLLM in block.text:
                rows = [Row(text=text, place=place) for text in block.text.splitlines()]
                found = in_shell(rows, shell) if block.shell else in_lines(rows)
                yield from ((place, block.marks, shown) for shown in found)
    for text in (ROOT / "README.md", *sorted((ROOT / "snippets").rglob("*.*"))):
        place = text.relative_to(ROOT).as_posix()
        rows = [Row(text=line, place=place) for line in text.read_text("utf-8").splitlines()]
        yield from ((place, Marks(), shown) for shown in in_lines(rows))


def launches(commands: list[ShownCommand]) -> int:
    """How many of them start an engine."""
    return sum(one.command.name == SERVE for one in commands)
