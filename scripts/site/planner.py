"""MkDocs hook: the files that the planner loads in a browser, Python among them if it is there."""

from __future__ import annotations

import importlib

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "planner.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the package's archive and Pyodide, if the site has a planner."""
    if files.get_file_from_path(PAGE) is None:
        return files
    # The package and its neighbours are loaded anew for every build.
    names = ("browser_package", "browser_python", "planner_form")
    browser_package, browser_python, planner_form = map(importlib.import_module, names)
    archive = f"{planner_form.ARCHIVE}{browser_package.archive_name()}"
    files.append(File.generated(config, archive, content=browser_package.archive()))
    for path in browser_python.files():
        name = f"{planner_form.PYTHON}{path.name}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files
