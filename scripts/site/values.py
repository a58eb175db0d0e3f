"""MkDocs hook: `{= name.attribute :format =}` in a page shows a figure and where it came from.

Names only, no expressions: what a sentence quotes is computed and tested in the figures module
(`extra.figures` of mkdocs.yml). A plain value is computed; a `Figure` says that it is assumed or
measured, and its source. An unknown name fails the build.
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from figure import Figure

FIGURES = "scripts/site/figures.py"
SHARED = ("html_checks", "html_tree")  # keep what they read of pages for all that ask

_INLINE = r"\{=(.*?)=\}"
_REQUEST = re.compile(r"\s*(?P<name>[a-zA-Z]\w*(?:\.[a-zA-Z]\w*)*)(?:\s+:(?P<spec>\S+))?\s*")
# Above emphasis and links, below code spans: a figure in backticks stays as typed.
_PRIORITY = 185


@dataclass(slots=True)
class _Figures:
    """The figures module, imported when a page first asks, and the page that asks."""

    path: Path = Path(FIGURES)
    page: str = ""
    module: ModuleType | None = None

    def restart(self, path: Path) -> None:
        """Forget the module and its neighbours, for the next build.

        Examples on pages may import them too, so they have one name and are one object.
        """
        self.path, self.page, self.module = path, "", None
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        for neighbour in path.parent.glob("*.py"):
            if neighbour.stem not in SHARED:
                sys.modules.pop(neighbour.stem, None)

    def element(self, request: str) -> Element:
        """What a page shows for that which stands between the braces."""
        match = _REQUEST.fullmatch(request)
        if match is None:
            raise PluginError(f"{self.page}: {{={request}=}} is not: name.attribute :format")
        figure = self._figure(match["name"])
        attributes = {
            "class": str(figure.kind),
            "data-name": match["name"],
            "title": f"{figure.kind}: {figure.source}",
            "value": str(figure.value),
        }
        element = Element("data", attributes)
        try:
            element.text = AtomicString(format(figure.value, match["spec"] or ""))
        except ValueError as error:
            raise PluginError(f"{self.page}: {{={request}=}}: {error}") from error
        return element

    def _figure(self, name: str) -> Figure:
        value = self._value(name)
        # Each build loads the class anew; the one loaded now is that of the figures.
        kinds = importlib.import_module("figure")
        if isinstance(value, kinds.Figure):
            given: Figure = value
            return given
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            kind = type(value).__name__
            raise PluginError(f"{self.page}: figure {name!r} is a {kind}, not a number or text")
        figure: Figure = kinds.Figure(value=value, kind=kinds.Kind.COMPUTED, source=name)
        return figure

    def _value(self, name: str) -> object:
        if not self.path.is_file():
            raise PluginError(f"{self.page}: there is no figures module at {self.path.name}")
        if self.module is None:
            self.module = importlib.import_module(self.path.stem)
        value: object = self.module
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                raise PluginError(f"{self.page}: unknown figure {name!r}: {error}") from error
        return value


class _Value(InlineProcessor):
    def __init__(self, figures: _Figures, md: Markdown) -> None:
        super().__init__(_INLINE, md)
        self._figures = figures

    def handleMatch(  # type: ignore[override]  # the stub allows the older three-value return only
        self, m: re.Match[str], data: str
    ) -> tuple[Element, int, int]:
        return self._figures.element(m[1]), m.start(0), m.end(0)


class _Values(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(_Value(_FIGURES, md), "computed", _PRIORITY)


_FIGURES = _Figures()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Teach Markdown the braces."""
    root = Path(config.config_file_path).parent
    _FIGURES.restart(root / str(config.extra.get("figures", FIGURES)))
    config.markdown_extensions.append(_Values())  # type: ignore[arg-type]  # typed for names only
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Remember the page, to name it where a figure is unknown."""
    _FIGURES.page = page.file.src_uri
