"""What a page says of itself: its figures' kinds and sources, and the release it holds for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.site.builder import ROOT, Builder, Built
from tests.site.faults import append, refused, replace
from vllm_parallel.term import RELEASE

pytestmark = pytest.mark.site

FIGURES: Final = "scripts/site/figures.py"
KINDS: Final = (
    "\nfrom figure import assumed, measured\n"
    'overhead = assumed(3.25, "the <source> text")\n'
    'share = measured(0.9214, "run h100-8")\n'
)
SENTENCE: Final = "\nOf {= overhead =} GiB {= share :.1% =} are used, by {= tp8.tokens =} tokens.\n"


def built_with(builder: Builder, mini: Path, *edits: Callable[[Path], None]) -> Built:
    for edit in edits:
        edit(mini)
    return builder.build(mini, mini.with_name("site"))


def test_kinds_and_sources_are_shown(mini: Path, builder: Builder) -> None:
    built = built_with(builder, mini, append(FIGURES, KINDS), append("docs/index.md", SENTENCE))
    assert built.code == 0, built.output
    page = built.page("index.html")
    assert 'title="assumed: the &lt;source&gt; text" value="3.25">3.25</data>' in page
    assert 'class="measured" data-name="share" title="measured: run h100-8"' in page
    _, _, foot = page.partition('<div class="foot">')
    assert '<li><span class="measured">92.1%</span> measured: run h100-8</li>' in foot
    assert '<li><span class="assumed">3.25</span> assumed: the &lt;source&gt; text</li>' in foot
    assert '<li><span class="computed">1,368,448</span> computed: tp8.tokens</li>' in foot


def test_page_without_figures_has_no_legend(mini: Path, builder: Builder) -> None:
    built = built_with(builder, mini)
    assert built.code == 0, built.output
    assert 'class="foot"' in built.page("index.html")
    assert 'class="foot"' not in built.page("api/index.html")


def test_line_says_for_which_release_it_holds(mini: Path, builder: Builder) -> None:
    built = built_with(
        builder,
        mini,
        replace("docs/guide/estimate.md", "---\ntitle", '---\nfacts: "2026-11-30"\ntitle'),
    )
    assert built.code == 0, built.output
    line = f'<p class="facts">Holds for vLLM {RELEASE}, read on <time>2026-11-30</time>.</p>'
    assert line in built.page("guide/estimate/index.html")


FAULTS: Final = (
    (
        "a date that is none",
        replace("docs/guide/estimate.md", "---\ntitle", "---\nfacts: November\ntitle"),
        "guide/estimate.md: facts is 'November', not a date",
    ),
    (
        "a figure without a source",
        append(FIGURES, '\nfrom figure import assumed\nbad = assumed(3, " ")\n'),
        "a figure that is assumed says from what: source is empty",
    ),
)


@pytest.mark.parametrize("edit, says", [fault[1:] for fault in FAULTS], ids=[f[0] for f in FAULTS])
def test_build_refuses(
    edit: Callable[[Path], None], says: str, mini: Path, builder: Builder
) -> None:
    built = built_with(builder, mini, edit)
    refused(built, 1, says)


@pytest.mark.parametrize("room", ["guide", "parallelism"])
def test_every_page_of_facts_says_when_they_were_read(room: str) -> None:
    pages = sorted((ROOT / "docs" / room).glob("*.md"))
    assert len(pages) > 10
    dated = re.compile(r'\A---\n(?:.*\n)*?facts: "', re.MULTILINE)
    bare = [page for page in pages if not dated.match(page.read_text("utf-8"))]
    assert not bare, f"without facts: {[f'{room}/{page.name}' for page in bare]}"
