"""MkDocs hook: publishes the tables of the reference as JSON, each linked from its page."""

from __future__ import annotations

import importlib
from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FORMATS = "about/formats.md"  # the page that describes them; a site without it has none


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a file for each table."""
    if FORMATS in files.src_uris:
        data = importlib.import_module("data_tables")  # the package is loaded anew for every build
        for table in data.TABLES:
            files.append(File.generated(config, table.path, content=table.text()))
        files.append(File.generated(config, f"{data.FOLDER}/index.json", content=data.index()))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str | None:
    """Say under a table where its file is."""
    if FORMATS not in files.src_uris:
        return None
    data = importlib.import_module("data_tables")
    root = relpath(".", page.url) + "/"
    found = [data.line(one, root) for one in data.TABLES if one.page == page.file.src_uri]
    return html + "".join(found) if found else None
