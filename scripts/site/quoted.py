"""Sentences of vLLM that a page quotes: each stands in the reference, or in a log of a run.

A reader searches his terminal for them, so a quotation that is nearly right leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fences import Source
from html_tree import Element
from sections import content, folded

REFERENCE = (
    "guide/troubleshoot.md",
    "reference/constraints.md",
    "reference/log-lines.md",
    "reference/metrics.md",
)

_SPAN = re.compile(r"(?P<ticks>`+)(?!`)(?P<text>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][A-Za-z]+:?(?: [\w.'-]+)+.*")
_LEFT_OUT = re.compile(r"…|<[^>]+>")


def sentences(markdown: str) -> tuple[str, ...]:
    r"""What a page sets as code and reads like a sentence.

    >>> sentences("Look for `Model loading\n took` and `--port 8000`, `Layout` and `GET /`.")
    ('Model loading took',)
    """
    prose = "\n".join(line.text for line in Source.of(markdown).prose)
    spans = (" ".join(match["text"].split()) for match in _SPAN.finditer(prose))
    return tuple(span for span in spans if _SENTENCE.fullmatch(span))


def problems(
    said: Mapping[str, Sequence[str]], pages: Mapping[str, Element], results: Path
) -> Iterator[str]:
    """Sentences of pages, by their paths in `docs/`, that vLLM does not say, as far as is known."""
    roots = {name: content(pages[name]) for name in REFERENCE if name in pages}
    if not roots:
        return
    texts = {name: folded(root.text()) for name, root in roots.items() if root is not None}
    for page, sentences_ in said.items():
        # A page of the reference is no witness for its own sentences.
        known = "\n".join(text for name, text in texts.items() if name != page)
        for sentence in sentences_:
            parts = [folded(part) for part in _LEFT_OUT.split(sentence)]
            if any(part not in known for part in parts) and not _logged(sentence, results):
                yield f"{page}: {sentence!r} stands in no reference and in no log of a run"


def _logged(sentence: str, results: Path) -> bool:
    """Whether a server of a run printed it."""
    return any(
        sentence in log.read_text(encoding="utf-8", errors="replace")
        for log in sorted(results.glob("*/*-serve.log"))
    )
