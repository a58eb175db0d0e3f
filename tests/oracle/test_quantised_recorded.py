"""What vLLM v0.32.0 said of small quantised models of each method, as CUDA would, asked again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer

LINES: Final = Path(__file__).with_name("quantised.jsonl").read_text("utf-8").splitlines()
KEYS: Final = ("weight_bytes", "buffer_bytes", "kv_page_bytes")
Row = Mapping[str, Any]


def methods() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for line in LINES:
        row = json.loads(line)
        found.setdefault(row["config"]["quantization_config"]["quant_method"], []).append(row)
    return found


METHODS: Final = methods()


def pairs(row: Row) -> Iterator[tuple[str, object, object]]:
    """What, ours and vLLM's."""
    said: Row = answer({"model": row["config"], "args": row["args"], "gpu": "h100-80gb",
                        "available_kv_bytes": 2**32, "ask": ["verdict", "ranks"]})  # fmt: skip
    assert "error" not in said, said
    verdict, ranks = said["verdict"], said["ranks"]
    yield "stage", verdict["stage"], row["stage"]
    if row["stage"] == "config":
        yield "message", verdict["message"], row["message"]
    for theirs in row.get("ranks", ()):
        ours = ranks[theirs["rank"]] if ranks else dict.fromkeys(KEYS)
        pages = ours["kv_page_bytes"]
        ours = ours | {"kv_page_bytes": [pages] if isinstance(pages, int) else pages}
        for key in KEYS:
            yield f"{key} of rank {theirs['rank']}", ours[key], theirs[key]


@pytest.mark.parametrize("method", METHODS)
def test_method(method: str) -> None:
    wrong = [
        f"{row['config']} {row['args']}: {what} is {ours!r}, vLLM's is {theirs!r}"
        for row in METHODS[method]
        for what, ours, theirs in pairs(row)
        if ours != theirs
    ]
    assert not wrong, "\n".join(wrong[:10])


def test_sentences_at_load() -> None:
    """Where a refused layer comes first in vLLM too, the sentence is the same."""
    same = other = 0
    for row in (row for rows in METHODS.values() for row in rows if row["stage"] == "load"):
        asked = {"model": row["config"], "args": row["args"], "ask": ["verdict"]}
        ours = answer(asked)["verdict"]["message"]  # type: ignore[index]  # an object
        alike = row["message"].startswith(ours)
        same, other = same + alike, other + (not alike)
    assert same > 5 * other, (same, other)
