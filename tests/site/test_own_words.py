"""The site says what the source texts say in words of its own: never twelve of theirs in a row.

Fences, quotations and longer code spans are aside: commands and messages are vLLM's.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from covered import FILE, items
from fences import Source
from html_tree import Element, parse
from sections import content
from tests.site.builder import ROOT

SHARED: Final = Path(os.environ.get("VLLM_PARALLEL_SHARED", ROOT.parent / "shared"))
SEEDS: Final = SHARED / "seeds"
WORDS: Final = 12
BREAK: Final = "\0"  # no word: what stands on either side does not follow
WORD: Final = re.compile(rf"[a-z0-9]+|{BREAK}")
SPAN: Final = re.compile(r"`+([^`]*)`+")
QUOTED: Final = 3  # words of a code span that may still be part of a sentence
ASIDE: Final = frozenset({"blockquote", "pre", "script", "style", "template"})

needs_seeds = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the source texts are not beside this checkout"
)


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def runs(sequence: list[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(sequence) - WORDS + 1):
        run = tuple(sequence[start : start + WORDS])
        if BREAK not in run:
            yield run


def shared_runs(text: str, sources: Iterable[str]) -> list[str]:
    """Runs of words that a text has from one of the sources; of an overlapping chain the first."""
    theirs = {run for source in sources for run in runs(words(source))}
    found: list[str] = []
    last = -WORDS
    for at, run in enumerate(runs(words(text))):
        if run in theirs and at - last >= WORDS:
            found.append(" ".join(run))
            last = at
    return found


def sources() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(SEEDS.glob("*.txt"))]


def span(text: str) -> str:
    return text if len(words(text)) <= QUOTED else BREAK


def of_markdown(markdown: str) -> str:
    """Prose of a page; what is aside breaks it."""
    lines = (line.text for line in Source.of(markdown).prose)
    prose = "\n".join(BREAK if line.lstrip().startswith(">") else line for line in lines)
    return SPAN.sub(lambda match: span(match[1]), prose)


def of_html(element: Element) -> str:
    """Words of a built page in the same way."""
    if element.tag in ASIDE:
        return BREAK
    if element.tag == "code":
        return span(element.text())
    parts = (child if isinstance(child, str) else of_html(child) for child in element.children)
    return "".join(parts) + (" " if element.tag in {"td", "th", "li", "p", "div"} else "")


@needs_seeds
def test_pages_as_written() -> None:
    theirs = sources()
    found = {
        path.relative_to(ROOT).as_posix(): shared
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if (shared := shared_runs(of_markdown(path.read_text(encoding="utf-8")), theirs))
    }
    assert not found


@needs_seeds
def test_lists_as_written() -> None:
    claims = tomllib.loads((ROOT / "scripts/site/claims.toml").read_text(encoding="utf-8"))
    texts = {one.id: one.says for one in items((ROOT / FILE).read_text(encoding="utf-8"))}
    readme = of_markdown((ROOT / "README.md").read_text(encoding="utf-8"))
    texts |= {"claims": str(claims), "README": readme}
    found = {
        name: shared for name, text in texts.items() if (shared := shared_runs(text, sources()))
    }
    assert not found


@needs_seeds
@pytest.mark.site
def test_pages_as_built(real_site: Path) -> None:
    theirs = sources()
    found: dict[str, list[str]] = {}
    for path in sorted(real_site.rglob("*.html")):
        root = content(parse(path.read_text(encoding="utf-8")))
        shared = shared_runs(of_html(root), theirs) if root else []
        if shared:
            found[path.relative_to(real_site).as_posix()] = shared
    assert not found


SAID: Final = "One two three four five six seven eight nine ten eleven twelve thirteen."


@pytest.mark.parametrize(
    "text, count",
    [
        ("one two three four FIVE six seven, eight nine\nten eleven twelve", 1),
        ("one two three four five six seven eight nine ten eleven thirteen", 0),
        ("zero one two `three` four five six seven eight nine ten eleven twelve thirteen", 1),
        ("```text\none two three four five six seven eight nine ten eleven twelve\n```", 0),
        ("one two `three four five six` seven eight nine ten eleven twelve thirteen", 0),
    ],
)
def test_copied_words_are_found(text: str, count: int) -> None:
    assert len(shared_runs(of_markdown(text), [SAID])) == count


def test_copied_words_are_found_in_html() -> None:
    page = parse(
        "<p>One two <em>three</em> four five six seven</p> <p>eight nine ten eleven twelve"
    )
    assert len(shared_runs(of_html(page), [SAID])) == 1
    assert not shared_runs(of_html(parse(f"<pre>{SAID}</pre>")), [SAID])
