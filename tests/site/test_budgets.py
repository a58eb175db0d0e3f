"""A page that is too heavy, or a guide page that is too long, is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from budgets import GUIDE_WORDS, PAGE_BYTES, problems, words
from html_tree import Element, parse
from tests.site.builder import Builder
from tests.site.faults import PAGE, append, refused

LONG: Final = "word " * (GUIDE_WORDS + 1)


def page(html: str) -> Element:
    return parse(f'<nav>not counted</nav><article class="md-content__inner">{html}</article>')


@pytest.mark.parametrize(
    "html, count",
    [
        ("<p>One two, <em>three</em>-four – five.</p>", 4),
        ("<h2>One<a class='headerlink'>¶</a></h2><ul><li>two</li><li>three</li></ul>", 3),
        ("<p>One</p><table><tr><td>two</td></tr></table><pre><code>three</code></pre>", 1),
        ("<p>Ask <code>--port 8000</code></p><svg><title>four</title></svg>", 3),
        ("<p>One</p><div class='foot'><p>Figures: many words</p></div>", 1),
    ],
)
def test_words_outside_tables_and_code(html: str, count: int) -> None:
    assert words(page(html)) == count


@pytest.mark.parametrize(
    "name, html, size, says",
    [
        ("guide/launch.md", LONG, 10, f"{GUIDE_WORDS + 1} words are more than the 900"),
        ("guide/launch.md", LONG.removeprefix("word "), PAGE_BYTES, ""),
        ("parallelism/tensor.md", LONG, 10, ""),
        ("reference/flags.md", "", PAGE_BYTES + 1, "400,001 bytes are more than the 400,000"),
        ("notebooks/decide.py", "", PAGE_BYTES + 1, ""),
    ],
)
def test_budgets(name: str, html: str, size: int, says: str) -> None:
    found = list(problems(name, page(html), size))
    assert len(found) == bool(says)
    assert all(text.startswith(says) for text in found)


@pytest.mark.site
def test_pages_beyond_their_budget_fail_the_build(mini: Path, builder: Builder) -> None:
    append(f"docs/{PAGE}", f"\n{LONG}\n")(mini)
    append("docs/index.md", f"\n<p>{'x' * PAGE_BYTES}</p>\n")(mini)
    built = builder.build(mini, mini.with_name("site"))
    refused(built, 1, f"{PAGE}: ", "words are more than", "index.md: ", "bytes are more than")
