"""Changes to the attributes of a built page's tags, its text left as it is."""

from __future__ import annotations

import re
from collections.abc import Callable

_TAG = re.compile(r"""<[a-zA-Z](?:[^<>"']|"[^"]*"|'[^']*')*>""")
_LINK = re.compile(r'(?<=\s)(href|src|xlink:href)="([^"]*)"')
_NAME = re.compile(r'(?<=\s)(id|for|name|aria-labelledby|aria-describedby|aria-controls)="([^"]*)"')

Change = Callable[[str], str]


def with_links(html: str, change: Change) -> str:
    """A page with every address changed.

    >>> with_links('<a href="b/">href="b/"</a>', str.upper)
    '<a href="B/">href="b/"</a>'
    """
    return _attributes(html, _LINK, change)


def with_names(html: str, change: Change) -> str:
    """A page with every id changed, and with all that points at one.

    >>> with_names('<p id="a" data-id="a" aria-labelledby="b c">', "x-{}".format)
    '<p id="x-a" data-id="a" aria-labelledby="x-b x-c">'
    """
    return _attributes(html, _NAME, lambda names: " ".join(map(change, names.split())))


def _attributes(html: str, pattern: re.Pattern[str], change: Change) -> str:
    def one(found: re.Match[str]) -> str:
        return f'{found[1]}="{change(found[2])}"'

    return _TAG.sub(lambda tag: pattern.sub(one, tag[0]), html)
