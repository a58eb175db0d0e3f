"""Weights and buffers of parts that few models have, against vLLM's, layout by layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.adapters import adapter_bytes
from vllm_parallel.answers import answer
from vllm_parallel.constraints import check
from vllm_parallel.errors import CatalogError
from vllm_parallel.question import Question
from vllm_parallel.shard import Shard

HERE: Final = Path(__file__).parent
Row = Mapping[str, Any]
KEYS: Final = ("weight_bytes", "buffer_bytes", "post_load_bytes", "adapter_bytes")
UNREAD: Final = {  # where vLLM dies too, or a part that is refused by name
    "v32noq", "glmnoq", "glm-null", "v32-no-index", "lite-bare", "lite-indexed", "glm45v-nohd",
}  # fmt: skip


def rows() -> Iterator[Row]:
    for file in sorted(HERE.glob("*.jsonl")):
        yield from map(json.loads, file.read_text("utf-8").splitlines())


ROWS: Final = {row["name"]: row for row in rows()}


def differences(config: Row, asked: Row) -> Iterator[str]:
    deployment = Question.of(
        {"model": config, "args": asked["args"], "gpu": "h100-80gb"}
    ).deployment
    refusal = check(deployment)
    stage = None if refusal is None else refusal.stage.value
    if stage != asked["stage"]:
        yield f"stage {stage}, vLLM's {asked['stage']}: {asked['message']}"
    spoken = stage == "config" or (refusal is not None and refusal.name.startswith("lora-"))
    bare = not asked["message"]
    if spoken and not bare and refusal is not None and refusal.message != asked["message"]:
        yield f"{refusal.message!r}, vLLM says {asked['message']!r}"
    for theirs in asked.get("ranks", ()):
        shard = Shard.of(deployment, theirs["rank"])
        for key in KEYS:
            ours = adapter_bytes(shard) if key == "adapter_bytes" else getattr(shard, key)
            if theirs.get(key) is not None and ours != theirs[key]:
                yield f"{key} of rank {theirs['rank']} is {ours}, vLLM's is {theirs[key]}"


def pool(config: Row, asked: Row) -> Iterator[str]:
    """What is not as vLLM's caches are, for rows that plan them."""
    said: Row = answer(
        {"model": config, "args": asked["args"], "gpu": "h100-80gb",
         "available_kv_bytes": asked["available_kv_bytes"], "ask": ["ranks", "capacity"]}
    )  # fmt: skip
    for theirs in asked["ranks"]:
        ours = said["ranks"][theirs["rank"]]
        pages = ours["kv_page_bytes"]
        pages = [pages] if isinstance(pages, int) else pages
        if (ours["kv_layers"], pages) != (theirs["kv_layers"], theirs["kv_page_bytes"]):
            yield f"caches of rank {theirs['rank']}: {ours['kv_layers']} of {pages}"
    blocks, tokens = (said["capacity"][key] for key in ("num_blocks", "tokens"))
    if (blocks, tokens) != (asked["capacity"]["num_blocks"], asked["capacity"]["tokens"]):
        yield f"{blocks} blocks and {tokens} tokens, vLLM's {asked['capacity']}"


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name.startswith("mtp-")))
def test_caches_of_drafts(name: str) -> None:
    config = ROWS[name]["config"]
    wrong = [
        f"{asked['args']}: {difference}"
        for asked in ROWS[name]["asked"]
        if asked.get("capacity")
        for difference in pool(config, asked)
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize("name", sorted(set(ROWS) - UNREAD))
def test_part(name: str) -> None:
    row = ROWS[name]
    wrong = [
        f"{asked['args']}: {difference}"
        for asked in row["asked"]
        for difference in differences(row["config"], asked)
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize("name", sorted(UNREAD))
def test_unread(name: str) -> None:
    with pytest.raises(CatalogError):
        Question.of({"model": ROWS[name]["config"]})


def test_each_part_was_asked_enough() -> None:
    assert sum(len(row["asked"]) for row in ROWS.values()) >= 200
