"""MkDocs hook: a page that has moved leaves one behind, which leads to where it is now."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from html import escape
from pathlib import Path
from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

LIST = "scripts/site/moved.toml"

# A reader without scripts is led on as well, but loses the place in the page.
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="{canonical}">
<noscript><meta http-equiv="refresh" content="0; url={place}"></noscript>
<p>This page has moved: <a href="{place}">{new}</a></p>
<script>
const to = new URL(document.querySelector("a").href)
to.hash ||= location.hash
location.replace(to)
</script>
</html>
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each address that has been left."""
    path = Path(config.config_file_path).parent / LIST
    moved = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    try:
        made = pages(moved, {file.dest_uri for file in files}, config.site_url or "")
    except ValueError as error:
        raise PluginError(f"{LIST}: {error}") from error
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def pages(moved: Mapping[str, str], taken: Set[str], site: str) -> dict[str, str]:
    """The pages to leave behind by their paths; where each leads is for the check of links.

    Raises:
        ValueError: an address that is none, or where another page is.

    >>> pages({"old": "new/"}, set(), "")
    Traceback (most recent call last):
    ValueError: 'old' is no address that has been left, such as guide/old/
    >>> pages({"old/": "new/"}, {"old/index.html"}, "")
    Traceback (most recent call last):
    ValueError: 'old/' is no address that has been left, such as guide/old/
    """
    made = {}
    for old, new in moved.items():
        name = f"{old}index.html"
        if not old.endswith("/") or name in taken:
            raise ValueError(f"{old!r} is no address that has been left, such as guide/old/")
        path, sign, anchor = new.partition("#")
        place = f"{relpath(path or '.', old)}/"
        made[name] = _PAGE.format(
            canonical=escape(f"{site}{path}" if site else place),
            place=escape(f"{place}{sign}{anchor}"),
            new=escape(new),
        )
    return made
