"""Where the links and assets of built pages lead."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from html_tree import Element

# Attributes that make a browser ask for something, by itself or with what a reader wrote.
ASSETS = {
    "audio": ("src",),
    "button": ("formaction",),
    "embed": ("src",),
    "form": ("action",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src", "formaction"),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
_LINKS = {"a": ("href",), "area": ("href",)}
_NOT_FETCHED = frozenset({"alternate", "author", "canonical", "edit", "license", "next", "prev"})
_OUTWARD = frozenset({"http", "https", "mailto"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An address in a page, and the tag it stands in."""

    tag: str
    target: str


def references(root: Element) -> Iterator[Reference]:
    """Every address that a page links to or fetches."""
    for element in root.walk():
        if element.tag == "link" and _NOT_FETCHED & set(element.attributes.get("rel", "").split()):
            continue
        for attribute in (*ASSETS.get(element.tag, ()), *_LINKS.get(element.tag, ())):
            if attribute in element.attributes:
                for target in _addresses(attribute, element.attributes[attribute]):
                    yield Reference(tag=element.tag, target=target)


def is_external(target: str) -> bool:
    """Whether an address leaves this site.

    >>> is_external("//cdn.test/a.js"), is_external("../a.js"), is_external("data:,x")
    (True, False, False)
    """
    parts = urlsplit(target)
    return parts.scheme in {"http", "https"} or bool(parts.netloc)


def _addresses(attribute: str, value: str) -> Iterator[str]:
    if attribute == "srcset":
        yield from (choice.split()[0] for choice in value.split(",") if choice.strip())
    else:
        yield value.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The files of a built site, and the ids of its pages.

    `base` is the path it is published under; only the error page may link from there, as it is
    shown for any address.
    """

    base: str
    files: frozenset[str]
    identifiers: Mapping[str, frozenset[str]]

    def dead(self, page: str, reference: Reference) -> str | None:
        """What is wrong with an address on `page`, or None.

        >>> site = Site(base="/", files=frozenset({"a/index.html"}),
        ...             identifiers={"a/index.html": frozenset({"top"})})
        >>> site.dead("index.html", Reference(tag="a", target="a/#top"))
        >>> site.dead("404.html", Reference(tag="a", target="#top"))
        >>> site.dead("index.html", Reference(tag="a", target="a/#end"))
        "dead anchor in <a>: 'a/#end'"
        """
        parts = urlsplit(reference.target)
        if " " in reference.target and parts.scheme != "data":
            return f"address with a blank in <{reference.tag}>: {reference.target!r}"
        if parts.scheme in _OUTWARD or parts.netloc or parts.scheme == "data":
            return None
        label = f"in <{reference.tag}>: {reference.target!r}"
        if parts.scheme or (parts.path.startswith("/") and page != "404.html"):
            return f"link that works only in one place {label}"
        target = self._file(page, unquote(parts.path))
        if target is None:
            return f"dead link {label}"
        names = self.identifiers.get(target)
        if parts.fragment and names is not None and unquote(parts.fragment) not in names:
            return f"dead anchor {label}"
        return None

    def _file(self, page: str, path: str) -> str | None:
        """The site's file that a path on a page means, or None."""
        if not path:
            return page
        folder = posixpath.dirname(page)
        place = path.removeprefix(self.base) if path.startswith("/") else f"{folder}/{path}"
        target = posixpath.normpath(place.lstrip("/")) if place.strip("/") else "."
        index = posixpath.normpath(f"{target}/index.html")
        candidates = (index,) if path.endswith("/") else (target, index)
        return next((candidate for candidate in candidates if candidate in self.files), None)
