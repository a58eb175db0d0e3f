"""Faults in what a page says: links, markup and HTML."""

from __future__ import annotations

from pathlib import Path

import pytest

from html_checks import page_problems
from html_tree import parse
from tests.site.builder import Builder
from tests.site.faults import OTHER_HOST, PageFault, check_page_fault, run

pytestmark = pytest.mark.site

LINKS = (
    PageFault(name="link missing", markdown="[gone](gone.md)", says="'gone.md'"),
    PageFault(name="image missing", markdown="![Gone](gone.svg)", says="'gone.svg'"),
    PageFault(name="anchor missing", markdown="[gone](#gone)", says="dead anchor in <a>: '#gone'"),
    PageFault(
        name="anchor missing on another page",
        markdown="[gone](../index.md#gone)",
        says="dead anchor in <a>: '../../#gone'",
    ),
    PageFault(
        name="anchor missing on the API page",
        markdown="[gone](../api.md#tiny.gone)",
        says="dead anchor in <a>: '../../api/#tiny.gone'",
    ),
    PageFault(
        name="link missing in raw HTML",
        markdown='<a href="../gone/">gone</a>',
        says="dead link in <a>: '../gone/'",
    ),
    PageFault(
        name="anchor missing in raw HTML",
        markdown='<a href="../../#gone">gone</a>',
        says="dead anchor in <a>: '../../#gone'",
    ),
    PageFault(
        name="image missing in raw HTML",
        markdown='<img src="gone.svg" alt="Gone">',
        says="dead link in <img>: 'gone.svg'",
    ),
    PageFault(
        name="link climbs out of the site",
        markdown='<a href="../../../elsewhere/">gone</a>',
        says="dead link in <a>: '../../../elsewhere/'",
    ),
    PageFault(
        name="link from the root of the host",
        markdown='<a href="/api/">root</a>',
        says="link that works only in one place in <a>: '/api/'",
    ),
    PageFault(
        name="link missing in generated Markdown",
        markdown=run("print('[gone](gone.md)')"),
        says="dead link in <a>: 'gone.md'",
    ),
    PageFault(name="reference undefined", markdown="[text][nope]", says="nope"),
    PageFault(
        name="bare reference undefined",
        markdown="See [nope] for more.",
        says="leaked reference or footnote markup: 'See [nope] for more.'",
    ),
    PageFault(
        name="footnote undefined", markdown="So it is.[^nope]", says="leaked reference or footnote"
    ),
)

MARKUP = (
    PageFault(
        name="admonition type unknown",
        markdown="!!! notice\n    Words.",
        says="admonition type 'notice' is unknown",
    ),
    PageFault(
        name="admonition body not indented",
        markdown="!!! note\nWords.",
        says="'!!! note' has no body",
    ),
    PageFault(
        name="admonition title not closed",
        markdown='!!! note "Title\n    Words.',
        says="is not: !!! type",
    ),
    PageFault(name="admonition mistyped", markdown="!!note\n    Words.", says="is not: !!! type"),
    PageFault(
        name="admonition without a body in HTML",
        markdown='<div class="admonition note"><p class="admonition-title">Bare</p></div>',
        says="admonition without a body: 'Bare'",
    ),
    PageFault(name="tab mistyped", markdown='== "Three"\n    Words.', says="is not: === "),
    PageFault(name="tab without a body", markdown='=== "Three"\nWords.', says="has no body"),
    PageFault(
        name="icon",
        markdown="So :material-gone: it is.",
        says="leaked icon markup: 'So :material-gone: it is.'",
    ),
    PageFault(
        name="attribute list",
        markdown="So it is {: .lede } then.",
        says="leaked attribute list markup",
    ),
    PageFault(name="emphasis left open", markdown="So **it is.", says="leaked emphasis markup"),
    PageFault(
        name="table not parsed",
        markdown="Words.\n| a | b |\n|---|---|",
        says="leaked table markup",
    ),
)

# What an example prints is rendered without having been checked as source.
PRINTED = (
    PageFault(
        name="printed snippet marker",
        markdown=run("print('<'.join(('So --8', '-- it is.')))"),
        says="leaked snippet marker markup: 'So --8<-- it is.'",
    ),
    PageFault(
        name="printed fence", markdown=run("print('So ``` it is.')"), says="leaked fence markup"
    ),
    PageFault(name="printed link", markdown=run("print('So](it) is.')"), says="leaked link markup"),
    PageFault(
        name="printed admonition", markdown=run("print('!!note')"), says="leaked admonition markup"
    ),
    PageFault(
        name="printed tab", markdown=run("""print('== "Three"')"""), says="leaked tab markup"
    ),
    PageFault(
        name="printed value", markdown=run("print('So {= it is.')"), says="leaked value markup"
    ),
)

HTML = (
    PageFault(
        name="duplicate id",
        markdown='<p id="twice">a</p>\n\n<p id="twice">b</p>',
        says="duplicate id: 'twice'",
    ),
    PageFault(
        name="label points nowhere",
        markdown='<p aria-labelledby="gone">a</p>',
        says="aria-labelledby of <p> points at no id: 'gone'",
    ),
    PageFault(
        name="alt text missing",
        markdown="![](../assets/images/square.svg)",
        says="image without alt text",
    ),
    PageFault(
        name="alt text missing in raw HTML",
        markdown='<img src="../../assets/images/square.svg">',
        says="image without alt text",
    ),
    PageFault(
        name="external script",
        markdown=f'<script src="{OTHER_HOST}/a.js"></script>',
        says=f"external asset in <script>: {OTHER_HOST}/a.js",
    ),
    PageFault(
        name="external image",
        markdown=f"![Far]({OTHER_HOST}/a.png)",
        says=f"external asset in <img>: {OTHER_HOST}/a.png",
    ),
    PageFault(
        name="external image for large screens",
        markdown=(
            '<img src="../../assets/images/square.svg" alt="Far" '
            f'srcset="../../assets/images/square.svg 1x, {OTHER_HOST}/b.png 2x">'
        ),
        says=f"external asset in <img>: {OTHER_HOST}/b.png",
    ),
    PageFault(
        name="external frame",
        markdown='<iframe src="//cdn.example.org/a"></iframe>',
        says="external asset in <iframe>: //cdn.example.org/a",
    ),
    PageFault(
        name="external style sheet",
        markdown=f'<link rel="stylesheet" href="{OTHER_HOST}/a.css">',
        says=f"external asset in <link>: {OTHER_HOST}/a.css",
    ),
    PageFault(
        name="external address in a style element",
        markdown=f"<style>p {{ background: url({OTHER_HOST}/a.png) }}</style>",
        says=f"external asset in CSS: {OTHER_HOST}/a.png",
    ),
    PageFault(
        name="external address in a style",
        markdown=f'<p style="background: url({OTHER_HOST}/a.png)">a</p>',
        says=f"external asset in CSS: {OTHER_HOST}/a.png",
    ),
)


@pytest.mark.parametrize("fault", (*LINKS, *MARKUP, *PRINTED, *HTML), ids=str)
def test_build_refuses(fault: PageFault, mini: Path, builder: Builder) -> None:
    check_page_fault(fault, mini, builder)


def test_a_blank_line_that_a_cell_prints_is_no_empty_block() -> None:
    """Nor is it one where a slow kernel sends the line by itself; an empty block elsewhere is."""
    page = '<pre></pre><div class="jp-RenderedText jp-OutputArea-output"><pre>\n</pre></div>'
    assert list(page_problems(parse(page))) == ["empty code block"]
