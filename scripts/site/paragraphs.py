"""MkDocs hook: takes off the paragraph that markdown-exec leaves around what an example prints.

Where an example prints headings, its output stands in a paragraph, which cannot hold them: browsers
end it at once and show an empty one behind.
"""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_OPENING = re.compile(r"<p>(?=<(?:div|figure|h[1-6]|ol|section|table|ul)\b)")
_TAG = re.compile(r"<(/?)p\b[^>]*>")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Take off what opens before a block, and the end that then closes nothing."""
    return unwrapped(html)


def unwrapped(html: str) -> str:
    """HTML without paragraphs around blocks.

    >>> unwrapped("<p><h2>A</h2><p>one</p></p><p>two</p>")
    '<h2>A</h2><p>one</p><p>two</p>'
    """
    while (opening := _OPENING.search(html)) is not None:
        before, rest = html[: opening.start()], html[opening.end() :]
        html = before + _without_end(rest)
    return html


def _without_end(html: str) -> str:
    """What follows an opening tag that is gone, without the end tag of it."""
    depth = 0
    for tag in _TAG.finditer(html):
        depth += -1 if tag[1] else 1
        if depth < 0:
            return html[: tag.start()] + html[tag.end() :]
    return html
