"""Each file of recorded answers names who asked vLLM, and with which questions."""

from __future__ import annotations

import json
import tomllib
from typing import Any, Final

import pytest

from tests.shared import ROOT

ORACLE: Final = ROOT / "tests" / "oracle"
SCRIPTS: Final = ROOT / "scripts" / "engine"
ORIGINS: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    (ORACLE / "origins.toml").read_text("utf-8")
)


def test_every_file_has_its_recorder() -> None:
    """`make record` writes those of recorded/, which its script names; the others are listed."""
    record = (SCRIPTS / "record.py").read_text("utf-8")
    files = {file.relative_to(ORACLE).as_posix() for file in ORACLE.rglob("*.jsonl")}
    theirs = {name for name in files if name.startswith("recorded/")}
    stems = {name: name.removeprefix("recorded/").removesuffix(".jsonl") for name in theirs}
    assert [name for name, stem in stems.items() if f'"{stem}' not in record] == []
    assert files - theirs == ORIGINS.keys()


@pytest.mark.parametrize("name", ORIGINS)
def test_a_row_has_what_its_question_needs(name: str) -> None:
    origin = ORIGINS[name]
    rows = [json.loads(line) for line in (ORACLE / name).read_text("utf-8").splitlines()]
    held = {key for row in rows for one in (row, *row.get("asked", ())) for key in one}
    assert origin["chosen"]
    assert (origin["by"] == "") == ("ask" not in origin)
    assert not origin["by"] or (SCRIPTS / origin["by"]).is_file()
    assert {"model", "config"} & held
    assert not origin["by"] or "args" in held
    assert all(origin.get("not_asked", {"": "why"}).values())
