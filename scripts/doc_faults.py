"""The faults that `make doc-mutants` plants, read from `scripts/doc_mutants/<kind>.toml`.

    title = "A flag that vLLM does not have"

    [misspelt-in-a-page]
    file = "docs/guide/launch.md"
    old = "--max-model-len"     # occurs there once
    new = "--max-model-lenght"
    says = ["guide/launch.md:12", "--max-model-lenght is no option"]

`by` names who catches it: the build, unless a test is named, as pytest names it. More keys:
`built = true` where that test looks at the built site, `whole = true` where the build has to start
anew, and `sealed = true` where checksums are written again, so that something else has to notice.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scripts.doc_trees import Said

LISTS: Final = Path(__file__).resolve().with_name("doc_mutants")
BUILD: Final = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit of one file, who has to catch it, and words that the complaint has to hold."""

    kind: str
    name: str
    file: str
    old: str
    new: str
    says: Sequence[str]
    by: str = BUILD
    built: bool = False
    whole: bool = False
    sealed: bool = False

    def planted(self, text: str) -> str:
        """The text with the edit.

        Raises:
            ValueError: What is to be replaced does not occur exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(
                f"{self.file}: the text of {self.kind}/{self.name} occurs {count} times; "
                "follow it or replace it"
            )
        return text.replace(self.old, self.new)

    def caught(self, said: Said) -> bool:
        """Whether it is refused, and for what is wrong with it."""
        return said.refused and all(words in said.text for words in self.says)

    def has_word(self, words: Sequence[str]) -> bool:
        """Whether one of these occurs in its kind, its name or its file."""
        return any(word in f"{self.kind}/{self.name} {self.file}" for word in words)


def titles() -> dict[str, str]:
    """What each kind is, in the order of the lists."""
    return {
        path.stem: tomllib.loads(path.read_text("utf-8"))["title"]
        for path in sorted(LISTS.glob("*.toml"))
    }


def read_mutants() -> list[Mutant]:
    """Every mutant, in the order of the lists."""
    return [
        Mutant(kind=path.stem, name=name, **edit)
        for path in sorted(LISTS.glob("*.toml"))
        for name, edit in tomllib.loads(path.read_text("utf-8")).items()
        if name != "title"
    ]
