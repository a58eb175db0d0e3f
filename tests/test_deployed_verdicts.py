"""Verdicts recorded under the stand-in for vLLM's CUDA platform, asked again through `answer`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vllm_parallel.answers import answer
from vllm_parallel.constraints import Stage, violations
from vllm_parallel.question import Question

ORACLE: Final = Path(__file__).parent / "oracle"
Row = Mapping[str, Any]

COUNT: Final = 246
# Rows whose arguments are refused by name, since sizes would change in ways that are not modelled.
REFUSED: Final[dict[str, int]] = {}
# The recorder made the config alone; the command, which `answer` starts with, refuses these first.
REFUSED_BY_THE_COMMAND: Final = 9


def rows() -> list[Row]:
    lines = (ORACLE / "deployed-verdicts.jsonl").read_text("utf-8").splitlines()
    found: list[Row] = [json.loads(line) for line in lines]
    assert len(found) == COUNT
    return found


def asked(row: Row) -> Row:
    """The question of a row: no budget; nodes are counted only where the row says how large."""
    config = ORACLE / "configs" / f"{row['model']}.json"
    question = {
        "id": row["model"],
        "model": str(config) if config.is_file() else row["model"],
        "args": row["args"],
        "as_bf16": row["as_bf16"],
        "gpu": row["gpu"],
        "ask": ["verdict"],
    }
    nodes = {key: row[key] for key in ("gpus_per_node",) if key in row}
    return question | nodes


def refused_argument(row: Row, error: str) -> str:
    """The argument that an error names; there has to be one."""
    spelled = error.replace("--", "").replace("-", "_")
    named = [name for name in row["args"] if spelled.startswith(f"{name} ")]
    assert len(named) == 1, f"{error!r} names no argument of {row['args']}"
    return str(named[0])


def without_the_command(row: Row) -> str | None:
    """What the config alone says: the rules of the command left out."""
    found = violations(Question.of(asked(row)).deployment)
    return next((one.message for one in found if one.stage is Stage.CONFIG), None)


def test_every_row() -> None:
    """Accepted by the config or not, and then in exactly these words."""
    wrong, refused, by_the_command = [], Counter[str](), 0
    for row in rows():
        said = answer(asked(row))
        if "error" in said:
            refused[refused_argument(row, str(said["error"]))] += 1
            continue
        verdict: Any = said["verdict"]
        if verdict["stage"] == "flags":
            by_the_command += 1
            message = without_the_command(row)
        else:
            message = verdict["message"] if verdict["stage"] == "config" else None
        if message != row["message"] or (message is None) is not row["accepted"]:
            wrong.append(f"{row['model']} {row['args']}: {message!r}, vLLM's {row['message']!r}")
    assert not wrong, "\n".join([f"{len(wrong)} of {COUNT} rows differ:", *wrong])
    assert refused == REFUSED
    assert by_the_command == REFUSED_BY_THE_COMMAND


def test_kinds_of_rows() -> None:
    """Every kind of question that the stand-in made possible is there, both ways."""
    kinds: dict[str, set[bool]] = {}
    for row in rows():
        kinds.setdefault(row["kind"], set()).add(row["accepted"])
    assert set(kinds) == {
        "all2all", "bounds", "cp_options", "dbo", "eplb", "gpus_per_node", "launch", "length",
        "nixl", "other", "q_per_kv", "routed_experts",
    }  # fmt: skip
    assert {kind for kind, seen in kinds.items() if seen != {True, False}} <= {"bounds", "dbo"}
