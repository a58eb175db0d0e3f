"""MkDocs hook: makes the build fail where MkDocs, Material and markdown-exec only carry on.

The faults are listed in `tests/site/`, one test each.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

import budgets
import covered
import quoted
import typed
from html_checks import (
    external_assets,
    identifiers,
    page_problems,
    script_problems,
    style_problems,
)
from html_form import Form
from html_tree import Element, parse
from links import Site, references
from source_checks import problems, without_reasons

MARKER = "build-complete"
PACKAGE = "vllm_parallel"


class _Warnings(logging.Handler):
    """Keeps what was logged as a warning, with the page it came from."""

    def __init__(self, build: _Build) -> None:
        super().__init__(logging.WARNING)
        self._build = build

    def emit(self, record: logging.LogRecord) -> None:
        lines = [line.strip() for line in record.getMessage().splitlines() if line.strip()]
        text = " … ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else ""
        self._build.warnings.append(f"{self._build.page or 'site'}: {text}")


@dataclass(slots=True)
class _Build:
    """The build under way. `page` is the one being read, empty before and after."""

    running: bool = False
    page: str = ""
    warnings: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    said: dict[str, tuple[str, ...]] = field(default_factory=dict)  # quotations, by page


_BUILD = _Build()
_HANDLER = _Warnings(_BUILD)
_LOGGERS = tuple(logging.getLogger(name) for name in ("mkdocs", "properdocs"))


@atexit.register
def _refuse_early_exit() -> None:
    """An example that calls `sys.exit(0)` would end the build with success and half a site."""
    if _BUILD.running:
        place = _BUILD.page or "outside every page"
        print(f"ERROR: {place}: the build ended early, by sys.exit or a signal", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(3)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Start afresh: nothing counted yet, warnings are errors, the package unloaded."""
    _BUILD.running, _BUILD.page = True, ""
    _BUILD.warnings.clear()
    _BUILD.sources.clear()
    _BUILD.said.clear()
    if logging.INFO not in {logger.level for logger in _LOGGERS}:
        raise PluginError("-q and -v switch strict checks off: build without them")
    _refuse(list(_notebook_settings(config)))
    for logger in _LOGGERS:
        logger.addHandler(_HANDLER)
    warnings.filterwarnings("error", module=rf"_code_block|{PACKAGE}")
    # `mkdocs serve` would otherwise show the numbers of the package as it was at its start.
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Check a page's Markdown before it is rendered."""
    _BUILD.page = page.file.src_uri
    _BUILD.sources[page.file.dest_uri] = page.file.src_uri
    _BUILD.said[page.file.src_uri] = quoted.sentences(markdown)
    front_matter = page.file.content_string.count("\n") - markdown.count("\n")
    found = list(problems(markdown, page.file.src_uri.removesuffix(".md")))
    try:
        found += typed.problems(markdown, typed.allowed(page.meta.get("typed")))
    except ValueError as error:
        found.append((0, str(error)))
    _refuse([f"{page.file.src_uri}:{line + front_matter}: {text}" for line, text in sorted(found)])
    return without_reasons(markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Check how tags match, and tell MkDocs of the anchors in generated HTML: pages link there."""
    form = Form.of(html)
    found = [f"{page.file.src_uri}: {text}" for text in form.problems]
    if "<h1" not in html:  # the theme would make one up
        found.append(f"{page.file.src_uri}: a page has one title, and here are 0")
    _refuse(found)
    page.present_anchor_ids = {*(page.present_anchor_ids or ()), *form.identifiers}


def on_env(env: object, config: MkDocsConfig, files: Files) -> None:
    """All pages are read; what is logged from here on belongs to none."""
    _BUILD.page = ""


def on_post_build(config: MkDocsConfig) -> None:
    """Check the site as built; only a whole one gets the marker."""
    _stop()
    folder = Path(config.site_dir)
    pages = _pages(folder)
    found = list(_site_problems(folder, pages, urlsplit(config.site_url or "/").path))
    root = Path(config.config_file_path).parent
    named = {_BUILD.sources.get(name, name): page for name, page in pages.items()}
    found += _uncovered(root, named)
    found += quoted.problems(_BUILD.said, named, root / "results")
    found += _own_scripts(Path(config.docs_dir))
    _refuse([*dict.fromkeys(found), *(_BUILD.warnings if config.strict else ())])
    if not _BUILD.warnings:
        (folder / MARKER).write_text(f"{len(_BUILD.sources)} pages\n", encoding="utf-8")


def on_build_error(error: Exception) -> None:
    """The build failed by itself, so its end is not an early one."""
    _stop()


def _notebook_settings(config: MkDocsConfig) -> Iterator[str]:
    """The plugin's own settings publish tracebacks, and figures of a package that has changed."""
    plugin = config.plugins.get("mkdocs-jupyter")
    for name, value in (("execute", True), ("allow_errors", False), ("cache", False)):
        if plugin is not None and plugin.config[name] is not value:
            yield f"mkdocs-jupyter: {name} has to be {str(value).lower()}"


def _stop() -> None:
    _BUILD.running = False
    for logger in _LOGGERS:
        logger.removeHandler(_HANDLER)


def _pages(folder: Path) -> dict[str, Element]:
    """Trees of the built pages by their path in the site."""
    return {
        path.relative_to(folder).as_posix(): parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
    }


def _uncovered(root: Path, named: dict[str, Element]) -> Iterator[str]:
    """What the sources say and the site does not, though it is said to."""
    path = root / covered.FILE
    if not path.is_file():
        return
    try:
        found = list(covered.problems(covered.items(path.read_text(encoding="utf-8")), named))
    except ValueError as error:
        found = str(error).splitlines()
    yield from (f"{covered.FILE.name}: {text}" for text in found)


def _site_problems(folder: Path, pages: dict[str, Element], base: str) -> Iterator[str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): path for path in paths}
    named = {name: frozenset(identifiers(root)) for name, root in pages.items()}
    site = Site(base=base, files=frozenset(files), identifiers=named)
    for name, root in pages.items():
        label = _BUILD.sources.get(name, name)
        yield from (f"{label}: {text}" for text in _page_problems(site, name, root))
        size = files[name].stat().st_size
        yield from (f"{label}: {text}" for text in budgets.problems(label, root, size))
    for name, path in files.items():
        yield from (f"{name}: {text}" for text in _asset_problems(path))


def _asset_problems(path: Path) -> Iterator[str]:
    if path.suffix == ".css":
        yield from style_problems(path.read_text(encoding="utf-8"))
    elif path.suffix == ".svg":
        yield from external_assets(parse(path.read_text(encoding="utf-8")))


def _own_scripts(docs: Path) -> Iterator[str]:
    """Scripts of the site's own ask no other host; those of the theme would, were they asked to."""
    for path in sorted(docs.rglob("*.js")):
        for text in script_problems(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(docs).as_posix()}: {text}"


def _page_problems(site: Site, name: str, root: Element) -> Iterator[str]:
    yield from page_problems(root)
    for reference in references(root):
        dead = site.dead(name, reference)
        if dead is not None:
            yield dead


def _refuse(found: list[str]) -> None:
    if found:
        raise PluginError("\n".join(found))
