"""MkDocs hook: every page of the navigation, in its order, on one page to print or to keep.

The page is the one whose Markdown holds the marker. It is put together of the pages as built, so it
shows what they show. Ids get the name of their page, links between pages lead to its part.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from tags import with_links, with_names

MARKER = '<div class="whole"></div>'
INDEX = "index.html"

_ARTICLE = re.compile(r'<article class="md-content__inner[^>]*>(.*)</article>', re.DOTALL)
# What a page has for its own screen: scripts, styles, forms, signs of links, copies of code.
_SCREEN = re.compile(
    r"<!--.*?-->|<(style|script|form)\b.*?</\1>"
    r'|<a class="(?:headerlink|anchor-link|md-content__button)[^>]*>.*?</a>'
    r'|<div class="clipboard-copy-txt"[^>]*>.*?</div>|<clipboard-copy\b.*?</clipboard-copy>',
    re.DOTALL,
)
_UNFOUND = '<meta name="robots" content="noindex">'  # each part has an address of its own
_HEADING = re.compile(r"(</?h)([1-5])\b")


@dataclass(slots=True)
class _Whole:
    """The build under way: the pages in order, and the page that takes them, None without one."""

    pages: list[Page] = field(default_factory=list)
    target: Page | None = None


_WHOLE = _Whole()


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Remember the order."""
    _WHOLE.pages, _WHOLE.target = list(nav.pages), None


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Remember which page takes them all."""
    if MARKER in html:
        _WHOLE.target = page


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Name it to no search engine."""
    if template_name != "sitemap.xml" or _WHOLE.target is None or not config.site_url:
        return output
    place = re.escape(config.site_url + _WHOLE.target.url)
    return re.sub(rf"\s*<url>\s*<loc>{place}</loc>.*?</url>", "", output, flags=re.DOTALL)


def on_post_build(config: MkDocsConfig) -> None:
    """Fill the page, now that all others are built."""
    target, pages = _WHOLE.target, [page for page in _WHOLE.pages if page is not _WHOLE.target]
    if target is None:
        return
    parts = {page.file.dest_uri: ident(page.file.dest_uri) for page in pages}
    sections = [_contents(pages, parts)]
    for page in pages:
        article = _ARTICLE.search(Path(page.file.abs_dest_path).read_text("utf-8"))
        if article:
            place = Place(page=page.file.dest_uri, target=target.file.dest_uri, parts=parts)
            sections.append(f'<section id="{place.part}">{part(article[1], place)}</section>')
    path = Path(target.file.abs_dest_path)
    html = path.read_text("utf-8").replace("</head>", f"{_UNFOUND}</head>", 1)
    path.write_text(html.replace(MARKER, "\n".join(sections)), "utf-8")


def ident(page: str) -> str:
    """The name of a page's part, by its path in the site.

    >>> ident("guide/launch/index.html"), ident("index.html")
    ('page-guide-launch', 'page-home')
    """
    return f"page-{page.removesuffix(INDEX).strip('/').replace('/', '-') or 'home'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A page, the one that takes it, and the names of all parts by their pages."""

    page: str
    target: str
    parts: Mapping[str, str]

    @property
    def part(self) -> str:
        """The name of this page's part."""
        return self.parts[self.page]

    def link(self, address: str) -> str:
        """An address on the page as it is on the whole.

        >>> place = Place(page="a/index.html", target="print/index.html",
        ...               parts={"a/index.html": "a", "b/c/index.html": "b-c"})
        >>> [place.link(one) for one in ("#x", "../b/c/#y", "../b/c/", "../data/d.json")]
        ['#a--x', '#b-c--y', '#b-c', '../data/d.json']
        """
        url = urlsplit(address)
        if url.scheme or url.netloc:
            return address
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), url.path))
        page = self.page if not url.path else path
        if page not in self.parts:
            page = posixpath.normpath(posixpath.join(page, INDEX))
        if page in self.parts:
            return f"#{self.parts[page]}{f'--{url.fragment}' if url.fragment else ''}"
        slash = "/" if url.path.endswith("/") else ""
        end = f"#{url.fragment}" if url.fragment else ""
        return posixpath.relpath(path, posixpath.dirname(self.target)) + slash + end


def part(html: str, place: Place) -> str:
    """A page's article as a part of the whole, its headings one level down."""
    html = _SCREEN.sub("", html)
    html = _HEADING.sub(lambda tag: f"{tag[1]}{int(tag[2]) + 1}", html)
    html = with_names(html, lambda name: f"{place.part}--{name}")
    return with_links(html, place.link)


def _contents(pages: list[Page], parts: Mapping[str, str]) -> str:
    def line(page: Page) -> str:
        return f'<li><a href="#{parts[page.file.dest_uri]}">{escape(str(page.title))}</a></li>'

    def group(title: str, members: Iterator[Page]) -> str:
        lines = "".join(map(line, members))
        return f"<li><strong>{escape(title)}</strong><ol>{lines}</ol></li>" if title else lines

    groups = groupby(pages, lambda page: page.parent.title if page.parent else "")
    listed = "".join(group(title, members) for title, members in groups)
    return f'<nav class="whole-contents" aria-label="Contents"><ol>{listed}</ol></nav>'
