"""What README and pages print after a prompt is what the command prints."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import pytest

from fences import Fence, Source
from vllm_parallel.cli import main

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PROMPT: Final = "$ vllm-parallel "


def transcripts() -> dict[str, Fence]:
    """Blocks that show a command of this package and what it printed."""
    return {
        f"{page.relative_to(ROOT).as_posix()}:{fence.line}": fence
        for page in PAGES
        for fence in Source.of(page.read_text("utf-8")).fences
        if fence.body and fence.body[0].startswith(PROMPT) and fence.body[1:]
    }


@pytest.mark.parametrize("place", transcripts())
def test_output_is_that_of_the_command(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *shown = transcripts()[place].body
    main(shlex.split(command.removeprefix(PROMPT)))
    printed = capsys.readouterr().out.splitlines()
    assert shown == printed[: len(shown)], f"{place} shows what the command does not print"


def test_the_readme_shows_one() -> None:
    assert any(place.startswith("README.md:") for place in transcripts())
