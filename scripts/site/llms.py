"""MkDocs hook: `llms.txt`, the pages with their questions, and `llms-full.txt`, what they say.

The second leaves out tables that are published as JSON and the code's own reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from as_text import text
from html_tree import parse
from sections import content

MOST_BYTES = 600_000
_LEFT_OUT = ("reference/", "notebooks/", "about/", "verification/coverage")


@dataclass(slots=True)
class _Site:
    pages: list[Page] = field(default_factory=list)


_SITE = _Site()


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Remember the order of the pages."""
    _SITE.pages = list(nav.pages)


def on_post_build(config: MkDocsConfig) -> None:
    """Write both files from the pages as built."""
    folder = Path(config.site_dir)
    (folder / "llms.txt").write_text("\n".join(_listed(config)) + "\n", encoding="utf-8")
    whole = "\n".join(_said(config))
    size = len(whole.encode())
    if size > MOST_BYTES:
        raise PluginError(f"llms-full.txt has {size:,} bytes, more than {MOST_BYTES:,}")
    (folder / "llms-full.txt").write_text(whole, encoding="utf-8")


def _listed(config: MkDocsConfig) -> Iterator[str]:
    root = config.site_url or ""
    yield _head(config)
    groups = groupby(_SITE.pages, lambda page: page.parent.title if page.parent else "Start")
    for title, pages in groups:
        yield f"## {title}\n"
        for page in pages:
            question = page.toc.items[0].title if page.toc.items else page.title
            yield f"- [{page.title}]({_address(page, config)}): {question}"
        yield ""
    yield "## Optional\n"
    yield f"- [The pages that explain, in one text]({root}llms-full.txt)"
    if (Path(config.site_dir) / "data" / "index.json").is_file():
        yield f"- [The tables of the reference as JSON]({root}data/index.json)"


def _said(config: MkDocsConfig) -> Iterator[str]:
    yield f"{_head(config)}\nFigures in *italics* are assumed, those in **bold** were measured.\n"
    for page in _SITE.pages:
        if not page.url.startswith(_LEFT_OUT):
            said = content(parse(Path(page.file.abs_dest_path).read_text("utf-8")))
            if said is not None:
                yield f"<!-- {_address(page, config)} -->\n"
                yield text(said)


def _head(config: MkDocsConfig) -> str:
    return f"# {config.site_name}\n\n> {config.site_description}\n"


def _address(page: Page, config: MkDocsConfig) -> str:
    """Where a page is; relative to these files where nobody knows where the site is published."""
    return f"{config.site_url or ''}{page.url}" or "./"
