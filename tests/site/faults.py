"""What a fault is, and how a build must refuse it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.site.builder import Builder, Built

PAGE = "guide/estimate.md"
OTHER_HOST = "https://cdn.example.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFault:
    """Markdown added at the end of a page, and the words of the complaint."""

    name: str
    markdown: str
    says: str
    code: int = 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFault:
    """A change elsewhere in the site, and the words of the complaint."""

    name: str
    edit: Callable[[Path], None]
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def fence(header: str, *lines: str) -> str:
    return "\n".join((f"```{header}", *lines, "```"))


def run(*lines: str) -> str:
    return fence('python exec="on"', *lines)


def append(path: str, text: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(text)

    return edit


def replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / path).read_text(encoding="utf-8")
        assert old in text
        (folder / path).write_text(text.replace(old, new), encoding="utf-8")

    return edit


def refused(built: Built, code: int, *words: str) -> None:
    """The build ended so, said these words, and left no marker of a whole site."""
    assert built.code == code, built.output
    for word in words:
        assert word in built.output, f"{word}\nis not in\n{built.output}"
    assert not (built.site / "build-complete").exists()


def check_page_fault(fault: PageFault, mini: Path, builder: Builder) -> None:
    """Put the fault into the small site; the build must name the page and the thing."""
    append(f"docs/{PAGE}", f"\n{fault.markdown}\n")(mini)
    refused(builder.build(mini, mini.with_name("site")), fault.code, PAGE, fault.says)
