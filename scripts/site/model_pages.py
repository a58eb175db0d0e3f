"""MkDocs hook: a page for every model of the catalog, and beside it the grid of its answers.

Pages are made from `model_page.md`; processes beside the build fill in their sections, and write
the grids that `grid.py` describes. They go into the built site, not into `docs/`.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from model_store import Store

FOLDER = "models/"
INDEX = f"{FOLDER}index.md"
PLANNER = "planner.md"  # shows the whole catalog too
DRAWER = ' for="__toc"'
TEMPLATE = Path(__file__).with_name("model_page.md")
FIRST = 50  # before the hooks that look at a page's content

_SECTION = re.compile(r"<!-- section: (?P<name>[a-z]+) -->")


class _Build:
    """The build under way, and what `mkdocs serve` keeps for the next."""

    serves: bool = False
    store: Store | None = None
    made_from: str = ""  # the sources that the store was filled from


def on_startup(command: str, dirty: bool) -> None:  # MkDocs asks so
    """Whether more builds may follow in this process."""
    _Build.serves = command == "serve"


def on_pre_build(config: MkDocsConfig) -> None:
    """Let others work on the models while the pages are built."""
    if not (Path(config.docs_dir) / INDEX).is_file():
        _close()
        return
    # The package and its neighbours are loaded anew for every build.
    store = importlib.import_module("model_store")
    sources = store.sources()
    if _Build.store is None or _Build.made_from != sources:
        _close()
        names = store.all_names()
        _Build.store = store.Store.of(names, os.cpu_count() or 1)
        _Build.made_from = sources


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each model; those that wait for what is written come last."""
    if _Build.store is None:
        return files
    shared = [file for name in (PLANNER, INDEX) if (file := files.get_file_from_path(name))]
    for file in shared:
        files.remove(file)
    text = TEMPLATE.read_text("utf-8")
    titles = importlib.import_module("model_store").titles()
    for name, title in titles.items():
        content = text.replace("NAME", title)
        files.append(File.generated(config, f"{FOLDER}{name}.md", content=content))
    for file in shared:
        files.append(file)
    return files


@event_priority(FIRST)
def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the sections."""
    name = page.file.src_uri
    if _Build.store is None or not name.startswith((FOLDER, PLANNER)):
        return html
    shown = dict(_shared() if name in (PLANNER, INDEX) else _sections(page))
    return _SECTION.sub(lambda match: str(shown[match["name"]]), html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Drop the label of a drawer that the theme makes for pages in the menu only."""
    mine = page.file.src_uri.startswith(FOLDER) and page.file.src_uri != INDEX
    return output.replace(DRAWER, "") if mine else output


def on_post_build(config: MkDocsConfig) -> None:
    """Put grids and pictures beside the pages."""
    if _Build.store is None:
        return
    root = _Build.store.folder
    for path in _Build.store.finish():
        if not path.name.endswith(".sections.json"):
            target = Path(config.site_dir) / "models" / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    if not _Build.serves:
        _close()


def on_build_error(error: Exception) -> None:
    """Leave nothing running."""
    _close()


def on_shutdown() -> None:
    """Leave nothing behind."""
    _close()


def _sections(page: Page) -> Iterator[tuple[str, object]]:
    name = Path(page.file.src_uri).stem
    yield from _store().sheet(name).items()
    yield "errors", importlib.import_module("model_errors").errors(name)


def _shared() -> Iterator[tuple[str, object]]:
    """What the index and the planner's page show, of every model."""
    names = importlib.import_module("model_store").all_names()
    rows = [_store().sheet(name)["row"] for name in names]
    yield "models", importlib.import_module("model_index").table(rows)
    yield "catalog", importlib.import_module("planner_table").catalog_on_a_node(rows)


def _store() -> Store:
    if _Build.store is None:
        raise PluginError("models are shown, and nobody has worked them out")
    return _Build.store


def _close() -> None:
    if _Build.store is not None:
        _Build.store.close()
        _Build.store = None
