"""MkDocs hook: the files that the planner loads in a browser, Python among them if it is there."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import browser_package
import browser_python
import planner_form

PAGE = "planner.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the package's archive and Pyodide, if the site has a planner."""
    if files.get_file_from_path(PAGE) is None:
        return files
    archive = f"{planner_form.ARCHIVE}{browser_package.archive_name()}"
    files.append(File.generated(config, archive, content=browser_package.archive()))
    for path in browser_python.files():
        name = f"{planner_form.PYTHON}{path.name}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files
