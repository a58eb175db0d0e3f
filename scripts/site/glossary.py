"""The words of this site, each once, from the table beside this file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from vllm_parallel.render.cards import markup
from vllm_parallel.render.html import permalink

TABLE: Final = Path(__file__).with_name("glossary.toml")
HOME: Final = "../../"  # from reference/glossary/
_BRACES: Final = re.compile(r"\{([^}|]+)(?:\|([^}]+))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word, what it means here, other names for it, and the page that has more."""

    term: str
    says: str
    page: str
    others: tuple[str, ...] = ()

    @property
    def ident(self) -> str:
        """Its anchor.

        >>> Word(term="KV cache", says="", page="").ident
        'kv-cache'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.term.lower()).strip("-")


@cache
def words() -> tuple[Word, ...]:
    """Every word, by the alphabet."""
    rows = tomllib.loads(TABLE.read_text("utf-8"))["word"]
    found = [
        Word(
            term=row["term"],
            says=row["says"],
            page=row["page"],
            others=tuple(row.get("others", ())),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda word: word.term.lower()))


def entries() -> str:
    """An entry for each word."""
    return "\n".join(map(_entry, words()))


def _entry(word: Word) -> str:
    others = f" <small>also {escape(', '.join(word.others))}</small>" if word.others else ""
    more = f' <a href="{HOME}{word.page}" aria-label="More on {escape(word.term)}">More</a>'
    return (
        f'<div class="entry"><h2 id="{word.ident}"><dfn>{escape(word.term)}</dfn>{others}'
        f"{permalink(word.ident)}</h2>"
        f"<p>{inline(word.says)}{more}</p></div>"
    )


def inline(text: str) -> str:
    """Words in braces link to their entries, words in backticks are code."""
    return _BRACES.sub(_link, markup(text))


def plain(text: str) -> str:
    """The same without its links.

    >>> plain("A {rank} of two {ranks|rank}.")
    'A rank of two ranks.'
    """
    return _BRACES.sub(lambda found: found[1], text)


def _link(found: re.Match[str]) -> str:
    shown, term = found[1], found[2] or found[1]
    target = {word.term.lower(): word.ident for word in words()}.get(term.lower())
    if target is None:
        raise ValueError(f"the glossary links to {term!r}, which it does not have")
    return f'<a href="#{target}">{shown}</a>'
