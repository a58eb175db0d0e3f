"""One line that vLLM prints: its format, who prints it and how often, and what it tells."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.term import RELEASE

FIELD: Final = re.compile(r"\{[^{}]*\}|%(?:s|d|r|\.\d+f)")
TELLING: Final = 44  # characters by which a line without figures is known
NUMBER: Final = r"[\d,]*\d(?:\.\d+)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLine:
    """A row of the table of log lines; `name` is its anchor on the reference page.

    `says` is the format in vLLM's source, its own fields in it (`{…}` where it is an f-string).
    `pattern` is what a message begins with, None where the line tells only that it was printed.
    `words` are the first words of such messages. A message that holds the `marker` and does not
    match was cut or wrapped, or is of a release that is not known: it is never passed over.
    """

    name: str
    says: str
    by: str
    often: str
    check: str
    source: str
    level: str = "INFO"
    pattern: str | None = None
    words: tuple[str, ...] = ()
    marker: str | None = None
    symptom: str | None = None
    release: str = RELEASE

    @property
    def first_words(self) -> tuple[str, ...]:
        """What messages of it begin with, up to the first space.

        >>> from vllm_parallel.engine.log.lines import LINE
        >>> LINE["model-loading"].first_words
        ('Model',)
        """
        return self.words or (self.says.split(" ", 1)[0],)

    @property
    def beginning(self) -> str:
        """The text before the first field: a message that begins so is such a line."""
        return FIELD.split(self.says, maxsplit=1)[0]

    def match(self, text: str) -> re.Match[str] | None:
        """The figures of a message, None if it is no such line."""
        return compiled(self.pattern or re.escape(self.beginning[:TELLING])).match(text)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, with NUMBER for each `<name#>`.

    >>> compiled("took <gib#> GiB").match("took 16.4 GiB")["gib"]
    '16.4'
    """
    return re.compile(re.sub(r"<(\w+)#>", lambda name: f"(?P<{name[1]}>{NUMBER})", pattern))
