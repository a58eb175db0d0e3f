"""MkDocs hook: a feed of the versions in `CHANGELOG.md`, named in the head of two pages.

Not of every one: the theme takes the link for one to another language and asks for its sitemap.
"""

from __future__ import annotations

from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import changelog

FEED = "feed.xml"
SOURCE = "about/changes.md"  # the page that shows the same; a site without it has no feed


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the feed."""
    if SOURCE in files.src_uris:
        try:
            versions = changelog.versions(changelog.FILE.read_text("utf-8"))
        except ValueError as error:
            raise PluginError(str(error)) from error
        address = config.site_url or ""
        text = changelog.feed(versions, title=config.site_name, address=address)
        files.append(File.generated(config, FEED, content=text))
    config.extra["has_feed"] = SOURCE in files.src_uris
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Say in the head of the first page and of the changes where the feed is."""
    if not config.extra["has_feed"] or not (page.is_homepage or page.file.src_uri == SOURCE):
        return output
    place = relpath(FEED, page.url or ".")
    link = f'<link rel="alternate" type="application/atom+xml" title="Changes" href="{place}">'
    return output.replace("</head>", f"{link}</head>", 1)
