"""What `import vllm_parallel` offers is what it lists, what the pages show, and is explained."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final

import pytest

import vllm_parallel

ROOT: Final = Path(__file__).parents[1]
REFERENCE: Final = ROOT / "docs" / "reference"
ROWS: Final = {"RULES"}  # a table of its own in place of a docstring
MEMBERS: Final = (property, classmethod, staticmethod, FunctionType)
OBJECTS: Final = [name for name in vllm_parallel.__all__ if name not in ROWS]


def docstrings(found: object) -> Iterator[str]:
    """Of an object, and of the public methods and properties of a class."""
    yield inspect.getdoc(found) or ""
    if inspect.isclass(found):
        for name, member in vars(found).items():
            if not name.startswith("_") and isinstance(member, MEMBERS):
                yield inspect.getdoc(getattr(found, name)) or ""


def test_the_list_is_what_can_be_imported() -> None:
    names = {
        name
        for name, value in vars(vllm_parallel).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert names - {"annotations"} == set(vllm_parallel.__all__)
    assert len(set(vllm_parallel.__all__)) == len(vllm_parallel.__all__)
    starred: dict[str, object] = {}
    exec("from vllm_parallel import *", starred)
    assert set(vllm_parallel.__all__) <= set(starred)


@pytest.mark.parametrize("name", ["catalog", "constraints", "engine"])
def test_lists_of_the_rooms(name: str) -> None:
    room = importlib.import_module(f"vllm_parallel.{name}")
    assert [name for name in room.__all__ if not hasattr(room, name)] == []
    assert len(set(room.__all__)) == len(room.__all__)


def test_the_reference_shows_the_whole_list() -> None:
    """The page leaves out the table of rules alone, which has a page of its own."""
    page = (REFERENCE / "api.md").read_text("utf-8")
    assert "::: vllm_parallel\n" in page
    filters = re.search(r"filters: \[(.*)\]", page)
    assert filters is not None
    assert set(filters[1].split(", ")) == {'"!^_"', *(f'"!^{name}$"' for name in ROWS)}
    assert "\n      members:" not in page
    assert "rules" in (REFERENCE / "constraints.md").read_text("utf-8")


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_is_explained(name: str) -> None:
    """A first line that is a sentence, then a source or an example."""
    texts = list(docstrings(getattr(vllm_parallel, name)))
    first = texts[0].split("\n")[0]
    assert first.endswith("."), f"{name}: {first!r}"
    assert 10 < len(first) <= 100
    assert all(texts), f"{name} has a member without a docstring"
    assert any("Source: " in text or ">>> " in text for text in texts)


def test_sources_name_a_file_and_a_version() -> None:
    """`Source:` is followed by a file of vLLM and, where it is one, the version."""
    for name in OBJECTS:
        for text in docstrings(getattr(vllm_parallel, name)):
            for source in re.findall(r"Source: (.+)", text):
                assert source.startswith(("vllm/", "transformers")), source
                if source.startswith("vllm/"):
                    assert source.endswith("(v0.32.0)"), source
