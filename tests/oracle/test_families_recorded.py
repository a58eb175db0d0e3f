"""What vLLM v0.32.0 said of invented configs of each family, a few layouts each, asked again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES, check
from vllm_parallel.question import Question

LINES: Final = Path(__file__).with_name("families.jsonl").read_text("utf-8").splitlines()
KEYS: Final = ("weight_bytes", "buffer_bytes", "kv_layers", "kv_page_bytes")
CAPACITY: Final = {"num_blocks": "num_blocks", "tokens": "tokens", "max_concurrency": "concurrency"}
BARE: Final = {rule.name for rule in RULES if rule.bare}
Row = Mapping[str, Any]


def families() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for line in LINES:
        row = json.loads(line)
        found.setdefault(row["name"].rpartition("-")[0], []).append(row)
    return found


FAMILIES: Final = families()


def has_sentence(row: Row, asked: Row) -> bool:
    """Whether a refusal at `load` is in words of vLLM's own that are the same everywhere."""
    question = {"model": row["config"], "args": asked["args"], "gpu": "h100-80gb"}
    refusal = check(Question.of(question).deployment)
    return refusal is not None and refusal.name not in BARE


def pairs(row: Row, asked: Row) -> Iterator[tuple[str, object, object]]:
    """What, ours and vLLM's."""
    said: Row = answer({"model": row["config"], "args": asked["args"], "gpu": "h100-80gb",
                   "available_kv_bytes": asked["available_kv_bytes"],
                   "ask": ["verdict", "ranks", "capacity"]})  # fmt: skip
    if "error" in said:  # a config that vLLM cannot read or build either
        yield "read", None, asked.get("ranks")
        return
    verdict, ranks = said["verdict"], said["ranks"]
    yield "stage", verdict["stage"], asked["stage"]
    if asked["stage"] in ("config", "memory") or (asked["stage"] and has_sentence(row, asked)):
        yield "message", verdict["message"], asked["message"]
    for theirs in asked.get("ranks", ()):
        ours = ranks[theirs["rank"]] if ranks else dict.fromkeys(KEYS)
        pages = ours["kv_page_bytes"]
        ours = ours | {"kv_page_bytes": [pages] if isinstance(pages, int) else pages}
        for key in KEYS:
            yield f"{key} of rank {theirs['rank']}", ours[key], theirs[key]
    if asked.get("capacity") and said["capacity"]:
        for ours_key, key in (
            ("num_blocks",) * 2,
            ("tokens",) * 2,
            ("max_concurrency", "concurrency"),
        ):
            yield key, said["capacity"][ours_key], asked["capacity"][key]


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    wrong = [
        f"{row['name']} {asked['args']}: {what} is {ours!r}, vLLM's is {theirs!r}"
        for row in FAMILIES[family]
        for asked in row["asked"]
        for what, ours, theirs in pairs(row, asked)
        if ours != theirs
    ]
    assert not wrong, "\n".join(wrong[:10])


def test_each_family_was_asked_enough() -> None:
    asked = {name: sum(len(row["asked"]) for row in rows) for name, rows in FAMILIES.items()}
    assert {name: count for name, count in asked.items() if count < 20} == {}
