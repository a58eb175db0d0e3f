"""Runs that were made up, for tests: `results/README.md`'s example with a few keys changed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def example() -> str:
    """The `run.toml` that the README shows."""
    text = (ROOT / "results" / "README.md").read_text("utf-8")
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """A folder with the example, each `old` in it replaced by its `new`."""
    text = example()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / "run.toml").write_text(text, "utf-8")
    return folder


def keys() -> set[str]:
    """Every key of the example, dotted."""
    return set(_keys(tomllib.loads(example()), ""))


def _keys(table: dict[str, object], above: str) -> list[str]:
    found = []
    for key, value in table.items():
        inner = value[0] if isinstance(value, list) else value
        if isinstance(inner, dict):
            found += _keys(inner, f"{above}{key}.")
        else:
            found.append(above + key)
    return found
