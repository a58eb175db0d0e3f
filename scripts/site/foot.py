"""MkDocs hook: what a page says of itself: its release, and where its figures come from.

`facts: "2026-11-30"` in a page's front matter puts one line under its title. A page with figures
ends with the legend of their kinds, and a list of those in its sentences: a title that shows under
a mouse is out of reach of a keyboard, a finger and paper.
"""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Iterator
from html import escape

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from figure import Kind
from html_tree import Element, parse

LEGEND = {
    Kind.COMPUTED: "by the package from what the page names",
    Kind.ASSUMED: "rests on something not measured for this release",
    Kind.MEASURED: "read from a run or a publication that the page names",
}

BRANCH = "main"

_KIND = re.compile(r'class="[^"]*\b(?:computed|assumed|measured)\b')
# Nobody searches for figures, and words are lost among them: lunr, the theme's search, takes nodes
# of its tree for one another where many tokens end in digits.
_FIGURES_ONLY = re.compile(r'(<svg\b|<table class="(?:figures|ledger)[^"]*")')
_CELLS = re.compile(r"(</t[dh]>)(<t[dh])")
_NAMED = "<data "
_TITLE = re.compile(r"</h1>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Point edit links at the branch that is published, where there is a repository."""
    if config.repo_url and "edit_uri" not in config.user_configs[0]:
        config.edit_uri = f"edit/{BRANCH}/docs/"
    return config


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the line and the legend."""
    if "facts" in page.meta:
        html = _with_line(html, page)
    html = _CELLS.sub(r"\1 \2", _FIGURES_ONLY.sub(r'\1 data-search-exclude="yes"', html))
    return html + _foot(html) if _KIND.search(html) else html


def _with_line(html: str, page: Page) -> str:
    read_on = _date(page)
    release = importlib.import_module("vllm_parallel.term").RELEASE
    line = f'<p class="facts">Holds for vLLM {release}, read on <time>{read_on}</time>.</p>'
    if _TITLE.search(html) is None:
        raise PluginError(f"{page.file.src_uri}: facts stand under the title, and there is none")
    return _TITLE.sub(lambda title: f"{title[0]}\n{line}", html, count=1)


def _date(page: Page) -> dt.date:
    given = page.meta["facts"]
    try:
        return dt.date.fromisoformat(str(given))
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: facts is {given!r}, not a date") from error


def _foot(html: str) -> str:
    kinds = "; ".join(f'<span class="{kind}">{kind}</span> {LEGEND[kind]}' for kind in Kind)
    lines = list(dict.fromkeys(_lines(parse(html)))) if _NAMED in html else []
    listed = f"<details><summary>Figures in the text</summary><ul>{''.join(lines)}</ul></details>"
    return (
        '\n<div class="foot" data-search-exclude="yes">'
        f"<p>Figures: {kinds}.</p>{listed if lines else ''}</div>"
    )


def _lines(root: Element) -> Iterator[str]:
    """Each figure in a sentence with its source; what is not merely computed comes first."""
    figures = [element for element in root.walk() if element.tag == "data"]
    for kind in reversed(Kind):
        for figure in figures:
            if kind in figure.classes:
                text = escape(figure.text())
                source = escape(figure.attributes["title"].partition(": ")[2])
                yield f'<li><span class="{kind}">{text}</span> {kind}: {source}</li>'
