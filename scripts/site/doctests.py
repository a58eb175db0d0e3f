"""Griffe extension: shows the doctests of docstrings as code.

Markdown would read `>>>` as three nested quotations.
"""

from __future__ import annotations

import re

from griffe import Extension, Object

_DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    r"""A docstring with each doctest in a fence.

    >>> fenced("Half.\n\n>>> 4 // 2\n2\n\nWords.")
    'Half.\n\n```pycon\n>>> 4 // 2\n2\n```\n\nWords.'
    """
    return _DOCTEST.sub(r"```pycon\n\g<0>\n```", docstring)


class Doctests(Extension):
    """Fences every docstring as it is read."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
