"""The table of faults planted in the site: their kinds, and who caught them in the last runs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

from vllm_parallel.render.markdown import table
from vllm_parallel.render.numbers import whole

LISTS: Final = Path(__file__).resolve().parents[1] / "doc_mutants"
RESULT: Final = Path(__file__).with_name("doc_mutants.json")
BUILD: Final = "build"
HEAD: Final = ("planted fault", "how many", "caught by the build", "by a named test", "not run yet")


def doc_mutants() -> str:
    """A row for each kind of fault, and their sum."""
    caught: dict[str, str] = json.loads(RESULT.read_text("utf-8"))["caught_by"]
    rows: list[tuple[str, int, int, int, int]] = []
    for path in sorted(LISTS.glob("*.toml")):
        listed = tomllib.loads(path.read_text("utf-8"))
        title = listed.pop("title")
        by = [caught.get(f"{path.stem}/{name}") for name in listed]
        rows.append((title, len(by), by.count(BUILD), _tests(by), by.count(None)))
    sums = [sum(column) for column in zip(*(counts for _, *counts in rows), strict=True)]
    body = [(title, *map(whole, counts)) for title, *counts in rows]
    body.append((f"{len(rows)} kinds", *map(whole, sums)))
    return table(HEAD, body, right=(1, 2, 3, 4))


def _tests(by: list[str | None]) -> int:
    return sum(one is not None and one != BUILD for one in by)
