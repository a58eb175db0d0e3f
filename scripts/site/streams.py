"""MkDocs hook: a notebook is shown the same in every build.

A kernel sends what a cell prints in pieces, by the clock, and each would be a block of its own; and
cells are named at random. Its page asks no other host: nbconvert would fetch Mermaid from one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page
from nbconvert.preprocessors import CoalesceStreamsPreprocessor, ExecutePreprocessor

# Neither is typed.
_RUN: Any = ExecutePreprocessor.preprocess_cell
_JOIN: Any = CoalesceStreamsPreprocessor
MERMAID: Final = re.compile(
    r'<script type="module">(?:(?!</script>).)*?\.jp-Mermaid.*?</script>', re.DOTALL
)


def on_config(config: MkDocsConfig) -> None:
    """Join the pieces of each cell once it has run, and count the cells."""
    setattr(ExecutePreprocessor, "preprocess_cell", _run_and_join)  # noqa: B010  # for mypy


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Without the script that draws diagrams: no notebook has one."""
    return MERMAID.sub("", output) if page.file.src_uri.startswith("notebooks/") else output


def _run_and_join(self: object, cell: object, resources: object, index: int) -> object:
    done, resources = _JOIN().preprocess_cell(*_RUN(self, cell, resources, index), index)
    done["id"] = f"{index}"
    return done, resources
