"""Builds the site of one folder again and again, from the start or from where something changed.

    python -m scripts.doc_builds whole|read SITE

runs in a copy of the project. One request a line on standard input, as JSON: `[log, [pages],
first]`; the exit code of the build comes back. Each build is a fork, so nothing of it stays.
What it shows of models is taken from `scripts.doc_sheets`, where that is of the same sources.

`whole` builds as `make site` does. `read` has read every page once, reads those of the request
again, and goes on from there: all that follows, the checks too, is MkDocs' own and the hooks'.
The first build's pages are looked at once more, as what is found in a page's HTML is kept there.
`first` says that what comes before the first page, the checks of snippets and runs, is done again.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment, TemplateAssertionError
from markdown_exec._internal.formatters import python
from mkdocs import utils
from mkdocs.__main__ import cli
from mkdocs.commands import build
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import PluginCollection
from mkdocs.structure.files import Files

from scripts import doc_sheets

# Slow to import, and nothing of the project, which every build loads anew.
IMPORTS: Final = (
    *("material.plugins.search.plugin", "markdown_exec", "mkdocs.contrib.search", "mkdocstrings"),
    *("mkdocstrings_handlers.python", "mkdocs_jupyter.plugin", "pygments.lexers.python"),
    *("pymdownx.superfences", "scipy.stats", "prometheus_client.parser"),
)


ANSWER: Final = "==> "
CHECKS: Final = ("html_tree", "html_checks", "judging")  # on the path once MkDocs has read settings


def requests(done: Callable[[int], object] = int) -> Iterator[tuple[list[str], bool]]:
    """What is asked for, in forks only: the parent waits for each and says how it ended.

    Before it says so, `done` is called with that.
    """
    print(f"{ANSWER}ready", flush=True)
    for line in sys.stdin:
        log, pages, first = json.loads(line)
        child = os.fork()
        if child == 0:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, sys.stdout.fileno())
            os.dup2(output, sys.stderr.fileno())
            doc_sheets.use(Path.cwd())
            yield pages, first
            return
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        done(code)
        print(f"{ANSWER}{code}", flush=True)
    os._exit(0)


def mkdocs(site: str) -> None:
    """Become `mkdocs build`, as its console script would run it; it ends the process."""
    cli(["build", "--strict", "--site-dir", site], prog_name="mkdocs")


def read_again(config: MkDocsConfig, files: Files, pages: list[str]) -> None:
    """Read these pages as they are now."""
    for name in pages:
        file = files.get_file_from_path(name)
        assert file is not None
        assert file.page is not None
        session = name.removesuffix(".md")  # as the checks demand
        for kept in (python._sessions_globals, python._sessions_counter):  # noqa: SLF001  # nor here
            kept.pop(session, None)
        build._populate_page(file.page, config, files, dirty=False)  # noqa: SLF001  # there is no other door


@dataclass(slots=True)
class Looked:
    """What the checks find in pages as they are, kept for the builds in which most are the same."""

    env: Environment
    site: Path
    done: bool = False

    def at(self, code: int) -> None:
        """Look at the pages of the first build that has passed."""
        if code or self.done:
            return
        self.done = True
        html_tree, html_checks, judging = map(importlib.import_module, CHECKS)
        judge = judging.Judge(Path.cwd())
        for path in sorted(self.site.rglob("*.html")):
            html = path.read_text("utf-8")
            html_checks.page_problems(html_tree.parse(html))
            deque(judge.html(html, path.name), maxlen=0)
        for name in self.env.list_templates(extensions=["html"]):
            with suppress(TemplateAssertionError):  # of a plugin that is not on
                self.env.get_template(name)
        gc.collect()
        gc.freeze()  # so that forks share it


def wait_before_env() -> None:
    """Let every build stop where all pages are read, and go on in a fork for each request."""
    go_on = PluginCollection.on_env

    def on_env(
        self: PluginCollection, env: Environment, *, config: MkDocsConfig, files: Files
    ) -> Environment:
        for pages, first in requests(Looked(env, Path(config.site_dir)).at):
            utils.clean_directory(config.site_dir)
            if first:
                config.plugins.on_pre_build(config=config)
            read_again(config, files, pages)
        done: Environment = go_on(self, env, config=config, files=files)
        return done

    setattr(PluginCollection, "on_env", on_env)  # noqa: B010  # mypy refuses the assignment


def main(mode: str, site: str) -> None:
    for name in IMPORTS:
        importlib.import_module(name)
    if mode == "read":
        wait_before_env()
        mkdocs(site)
    for _ in requests():
        mkdocs(site)


if __name__ == "__main__":
    main(*sys.argv[1:])
