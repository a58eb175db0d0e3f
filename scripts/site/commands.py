"""MkDocs hook: a command that the site shows is one that vLLM takes.

Every `vllm` command in fences, snippets, the README and the built pages is parsed and held against
vLLM's own options; where its model is known, against the rules too. A refused layout is marked:

    ```bash model="llama-3.1-70b" refused="dcp-needs-tp-above-kv-heads"

and the page quotes the refusal. Calls of `vllm-parallel` go through its own parser.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from judging import Judge

PROGRAM = "vllm"


@dataclass(slots=True)
class _Build:
    """The build under way. The package is imported when a text first shows a command."""

    root: Path = Path()
    judge: Judge | None = None
    shown: dict[str, Path] = field(default_factory=dict)  # pages with commands, where they are

    def judged_by(self) -> Judge:
        """What judges, made anew for every build."""
        if self.judge is None:
            made: Judge = importlib.import_module("judging").Judge(self.root)
            self.judge = made
        return self.judge


_BUILD = _Build()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Start afresh."""
    _BUILD.root, _BUILD.judge = Path(config.config_file_path).parent, None
    _BUILD.shown.clear()
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Check the snippets and the README."""
    found: list[str] = []
    for path in sorted((_BUILD.root / "snippets").rglob("*")):
        if path.is_file() and PROGRAM in path.read_text(encoding="utf-8", errors="replace"):
            found += _BUILD.judged_by().file(path)
    readme = _BUILD.root / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if PROGRAM in text:
        found += _BUILD.judged_by().markdown(text, readme.name, 0)
        found += _BUILD.judged_by().text_quotes(text, readme.name)
    _refuse(found)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Check a page's fences, snippets filled in."""
    if PROGRAM in markdown or (_BUILD.judge is not None and "--8<--" in markdown):
        front_matter = page.file.content_string.count("\n") - markdown.count("\n")
        _refuse(_BUILD.judged_by().markdown(markdown, page.file.src_uri, front_matter))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> None:
    """Remember the pages that show commands."""
    if PROGRAM in output:
        _BUILD.shown[page.file.src_uri] = Path(page.file.abs_dest_path)


def on_post_build(config: MkDocsConfig) -> None:
    """Check the pages as built: what examples print, docstrings, code in sentences.

    Each refused layout of a snippet has to be marked where it is shown.
    """
    found: list[str] = []
    for page, path in _BUILD.shown.items():
        found += _BUILD.judged_by().html(path.read_text("utf-8"), page)
    if _BUILD.judge is not None:
        _refuse([*found, *_BUILD.judge.left()])


def _refuse(found: Iterable[str]) -> None:
    lines = list(dict.fromkeys(found))
    if lines:
        raise PluginError("\n".join(lines))
