"""What vLLM v0.32.0 built of invented configs with mixers, a few layouts each, held to ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES, check
from vllm_parallel.deployment import Deployment
from vllm_parallel.mixer import StateFlags
from vllm_parallel.question import Question
from vllm_parallel.shard import Shard

LINES: Final = Path(__file__).with_name("mixers.jsonl").read_text("utf-8").splitlines()
ROWS: Final[list[dict[str, Any]]] = [json.loads(line) for line in LINES]
ARCHITECTURES: Final = sorted({row["config"]["architectures"][0] for row in ROWS})
OURS: Final = {"stage-without-experts"} | {rule.name for rule in RULES if rule.bare}
BUDGET: Final = 10**9
Row = Mapping[str, Any]


def deployment(config: Row, args: Row) -> Deployment:
    return Question.of({"model": config, "args": args}).deployment


def states(asked: Deployment) -> list[list[Any]]:
    """The shapes and dtypes of the kinds of state, as vLLM's cache has them."""
    flags = StateFlags(conv=asked.model.dtype)
    kinds = [mixer.states(asked.layout.tp, flags) for mixer in asked.model.mixers]
    found = {
        json.dumps([[state.shape for state in kind], [state.dtype for state in kind]])
        for kind in kinds
    }
    return [json.loads(text) for text in sorted(found)]


def pool(config: Row, row: Row) -> Iterator[tuple[str, object, object]]:
    """The caches of ranks, and the blocks of one engine in a budget of a gigabyte a rank."""
    asked = {"model": config, "args": row["args"], "gpu": "h100-80gb"}
    said: Row = answer({**asked, "available_kv_bytes": BUDGET, "ask": ["ranks", "capacity"]})
    for rank in row["ranks"]:
        ours = said["ranks"][rank["rank"]]
        pages = ours["kv_page_bytes"]
        pages = [pages] if isinstance(pages, int) else pages
        yield "caches", ours["kv_layers"], rank["kv_layers"]
        yield "pages", pages, rank["kv_page_bytes"]
    if "num_blocks" in row:
        yield "blocks", said["capacity"]["num_blocks"], row["num_blocks"]


def pairs(config: Row, row: Row) -> Iterator[tuple[str, object, object]]:
    """What, ours and vLLM's."""
    asked = deployment(config, row["args"])
    refusal = check(asked)
    yield "stage", refusal and refusal.stage, row["stage"]
    # Which of several quantised layers speaks first is not held.
    silent = refusal is None or refusal.name in OURS or "quantization_config" in config
    if refusal is not None and not silent:
        yield "message", refusal.message, row["message"]
    for rank in row.get("ranks", ()):
        shard = Shard.of(asked, rank["rank"])
        yield f"weights of rank {rank['rank']}", shard.weight_bytes, rank["weight_bytes"]
        yield f"buffers of rank {rank['rank']}", shard.buffer_bytes, rank["buffer_bytes"]
    if "states" in row:
        yield "states", states(asked), row["states"]
    if "ranks" in row:
        yield from pool(config, row)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_family(architecture: str) -> None:
    wrong = [
        f"{row['config']} {asked['args']}: {what} is {ours!r}, vLLM's is {theirs!r}"
        for row in ROWS
        if row["config"]["architectures"] == [architecture]
        for asked in row["asked"]
        for what, ours, theirs in pairs(row["config"], asked)
        if ours != theirs
    ]
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:20]])


def test_there_are_many_questions_of_each_family() -> None:
    for architecture in ARCHITECTURES:
        rows = [row for row in ROWS if row["config"]["architectures"] == [architecture]]
        assert sum(len(row["asked"]) for row in rows) >= 5, architecture
    assert sum(len(row["asked"]) for row in ROWS) >= 200
