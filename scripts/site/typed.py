"""Quantities that a page types by hand, though the package can compute them.

A number with a unit, and a number of four digits or more, is a figure or stands in code: a flag, a
quotation, a line of a log. What else has to be typed, the input of a load for instance, is named in
the page's front matter, with the reason:

    typed:
      256 tokens: what the load asks each request to answer
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fences import Source
from written import SPAN

_START = r"(?<![\w.,:/#^-])"
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNITS = (
    r"[KMGT]i?B(?:/s)?|[kMGTP]?(?:bit/s|bps)|bytes?|[TGP]FLOPS?|tokens?(?:/s)?|tok/s|layers?"
    r"|blocks?|experts?|parameters?|[nµm]?s|(?:milli|micro|nano)?seconds?|minutes?|hours?|percent"
    r"|(?:(?:KV|query|attention)\s)?heads?|times"
)
_LARGE = r"(?:\d{1,3}(?:,\d{3})+|\d{4,})(?![\w,]*[\w-])(?!\.\d)"
_QUANTITY = re.compile(
    rf"{_START}(?:{_NUMBER}(?:[\s\u00a0\u202f-]?(?:(?:{_UNITS})\b|%)|×)|{_LARGE})"
)
_WAY_OUT = "{= a figure =}, or code, or name it under typed: in front"
_YEAR = re.compile(r"20[123]\d")
# Shown as typed, and read by nobody as a claim of this site; the last are names of GPUs and ports.
_ASIDE = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(SPAN, re.DOTALL),
    re.compile(r"<code\b.*?</code>|<pre\b.*?</pre>", re.DOTALL),
    re.compile(r"<[a-zA-Z/][^>]*>"),
    re.compile(r"\{=.*?=\}"),
    re.compile(r"\]\([^)\n]*\)|^\[[^\]]+\]: .*$|https?://\S+", re.MULTILINE),
    re.compile(r'"[^"\n]*(?:\n[^"\n]+)?"|“[^”]*”'),
    re.compile(r"^[ \t]*>.*$", re.MULTILINE),
    re.compile(r"\b(?:[A-Z]{1,3}\d{2,4}[A-Za-z]*|RTX \d{4}) \d+ ?GB\b"),
    re.compile(r"\bports? \d+(?: and \d+)?"),
)


def problems(markdown: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Line number and complaint of every quantity typed in a page's sentences and tables.

    `names` are those that its front matter names; a name that occurs nowhere is a complaint too.

    >>> list(problems("Each rank holds 16.4 GiB.", ()))
    [(1, "'16.4 GiB' is typed: {= a figure =}, or code, or name it under typed: in front")]
    >>> list(problems("`16.4 GiB` on a H100 80GB, {= tp8.weights =} computed", ()))
    []
    """
    prose = _masked(markdown)
    for name in names:
        spaced = r"\s+".join(re.escape(word) for word in name.split())
        prose, count = re.subn(rf"(?<![\w.,]){spaced}(?!\w)", _blank, prose)
        if not count:
            yield 1, f"typed: names {name!r}, which does not occur"
    for match in _QUANTITY.finditer(prose):
        if _YEAR.fullmatch(match[0]) is None:
            line = prose.count("\n", 0, match.start()) + 1
            yield line, f"{' '.join(match[0].split())!r} is typed: {_WAY_OUT}"


def allowed(front_matter: object) -> dict[str, str]:
    """What `typed:` of a page names, with the reasons.

    Raises:
        ValueError: It is no table of texts, or gives no reason.
    """
    if front_matter is None:
        return {}
    if not isinstance(front_matter, dict):
        raise ValueError("typed: is not a list of `quantity: reason`")
    for name, reason in front_matter.items():
        if not isinstance(name, str) or not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"typed: {name!r} needs a reason, in words")
    return front_matter


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _masked(markdown: str) -> str:
    """The page with spaces in place of what is not its own prose; lines stay where they are."""
    lines = [""] * (markdown.count("\n") + 1)
    for line in Source.of(markdown).prose:
        lines[line.number - 1] = line.text
    text = "\n".join(lines)
    for pattern in _ASIDE:
        text = pattern.sub(_blank, text)
    return text
