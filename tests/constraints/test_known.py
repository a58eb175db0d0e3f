"""A rule is *recorded* if it is what answers some recorded row, and only then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.constraints import RULES, Known, Stage, violations
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.question import Question

ORACLE: Final = Path(__file__).parents[1] / "oracle"
RECORDED: Final = ORACLE / "recorded"
SHELVES: Final = (ORACLE / "configs", RECORDED / "configs")
# Verdicts are of the config alone; builds go on to the load.
FILES: Final = {
    ORACLE / "verdicts.jsonl": (Stage.CONFIG,),
    ORACLE / "deployed-verdicts.jsonl": (Stage.CONFIG,),
    ORACLE / "builds.jsonl": (Stage.CONFIG, Stage.LOAD),
    RECORDED / "verdicts.jsonl": (Stage.CONFIG,),
    RECORDED / "builds.jsonl": (Stage.CONFIG, Stage.LOAD),
}

Row = Mapping[str, Any]


def rows(file: Path) -> Iterator[Row]:
    for line in file.read_text("utf-8").splitlines():
        yield json.loads(line)


@pytest.fixture(scope="module")
def models() -> dict[str, object]:
    """The models that no catalog has, by name."""
    files = [file for shelf in SHELVES for file in shelf.glob("*.json")]
    named: dict[str, object] = {file.stem: str(file) for file in files}
    return named | {row["name"]: row["config"] for row in rows(RECORDED / "configs.jsonl")}


def of_families() -> tuple[list[Row], dict[str, object]]:
    """Rows of the file that lists what was asked of each config, and the configs by name."""
    configs = list(rows(ORACLE / "families.jsonl"))
    asked: list[Row] = [
        {"model": config["name"], "accepted": row["stage"] is None, **row}
        for config in configs
        for row in config["asked"]
    ]
    return asked, {config["name"]: config["config"] for config in configs}


def first(row: Row, models: Mapping[str, object], stages: tuple[Stage, ...]) -> str | None:
    """The rule that answers a refused row, None where another question was asked."""
    if row["accepted"]:
        return None
    question = {"model": models.get(row["model"], row["model"]), "args": row["args"]}
    machines = {key: row[key] for key in ("gpu", "gpus_per_node") if key in row}
    try:
        deployment = Question.of(question | machines | {"as_bf16": True}).deployment
    except VllmParallelError:
        return None
    return next((one.name for one in violations(deployment) if one.stage in stages), None)


def test_known(models: dict[str, object]) -> None:
    found = {first(row, models, stages) for file, stages in FILES.items() for row in rows(file)}
    asked, configs = of_families()
    found |= {first(row, configs, (Stage.CONFIG, Stage.LOAD)) for row in asked}
    found -= {None}
    said = {rule.name for rule in RULES if rule.known is Known.RECORDED}
    assert said == found
