"""Caches of invented and published hybrids, as vLLM's CUDA platform plans them.

What the answer does not show is held too: block sizes, bytes of a block, groups, back ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES
from vllm_parallel.kv import KvCache, KvKind
from vllm_parallel.kv.layers import backends_of
from vllm_parallel.kv.plan import slots_of
from vllm_parallel.kv.words import cache_word, served_word
from vllm_parallel.question import Question

HERE: Final = Path(__file__).parent
LINES: Final = (HERE / "caches.jsonl").read_text("utf-8").splitlines()
DEPLOYED: Final = HERE / "recorded"
BARE: Final = frozenset(rule.name for rule in RULES if rule.bare)
KINDS: Final = {
    KvKind.FULL: "FullAttentionSpec",
    KvKind.LATENT: "MLAAttentionSpec",
    KvKind.INDEX: "MLAAttentionSpec",
    KvKind.WINDOW: "SlidingWindowSpec",
    KvKind.CHUNK: "ChunkedLocalAttentionSpec",
    KvKind.STATE: "MambaSpec",
}
CAPACITY: Final = ("num_blocks", "tokens", "max_concurrency", "max_model_len")
Row = Mapping[str, Any]
Facts = dict[str, object]


def title(row: Row) -> str:
    name: str = row["id"]
    return name


def planned(cache: KvCache) -> Facts:
    """What a cache comes to, in the words of a recorded row."""
    bounds = cache.plan.bounds
    groups = []
    for group in cache.groups:
        alike = len({spec for spec, _ in group.parts}) == 1
        kind = KINDS[group.spec.kind] if alike else "UniformTypeKVCacheSpecs"
        stages = [
            sum(start <= layer < stop for layer in group.layers) for start, stop in pairwise(bounds)
        ]
        page = group.spec.page_bytes if alike else group.pages_bytes(bounds[0], bounds[1])
        groups.append([kind, group.spec.block_size, page, stages])
    return {
        "block_size": cache.block_size,
        "block_bytes": [cache.block_bytes(stage) for stage in cache.stages],
        "groups": sorted(groups),
    }


def recorded(row: Row) -> Facts:
    """The same of a row."""
    groups = [
        [group["kind"], group["block_size"], group["page_bytes"], group["layers"]]
        for group in row["kv_groups"]
    ]
    return {
        "block_size": row["block_size"],
        "block_bytes": row["block_bytes"],
        "groups": sorted(groups),
    }


def settings_of(question: Row) -> Facts:
    """Back ends beside those of states, the cache dtype, and batches in flight."""
    deployment = Question.of(question).deployment
    slots, numbers = slots_of(deployment)
    kinds = tuple(slots[number] for number in dict.fromkeys(numbers))
    backends = backends_of(kinds, deployment)
    word = cache_word(deployment)
    for backend in backends:
        word = served_word(word, backend)
    batches = deployment.in_flight_tokens // deployment.max_num_batched_tokens
    return {
        "backends": sorted(backend.name for backend in backends),
        "kv_cache_dtype": word,
        "in_flight": batches,
    }


def settings_in(row: Row) -> Facts:
    """The same of a row; chunked layers have back ends named after what they are made of."""
    names = {name.rpartition("_ChunkedLocal")[0] or name for name in row["backends"]}
    states = ("MAMBA1_ATTN", "MAMBA2_ATTN", "GDN_ATTN", "SHORT_CONV_ATTN", "LINEAR_ATTN")
    return {
        "backends": sorted(names - set(states)),
        "kv_cache_dtype": row["kv_cache_dtype"],
        "in_flight": row["in_flight"],
    }


@pytest.mark.parametrize("row", [json.loads(line) for line in LINES], ids=title)
def test_caches(row: Row) -> None:
    """The verdict and capacity of each budget, and how the cache is laid out."""
    asked = {"model": row["config"], "args": row["args"], "gpu": "h100-80gb"}
    asked["as_bf16"] = row["as_bf16"]
    for said in row["said"]:
        ours: Row = answer(asked | {"available_kv_bytes": said["available_kv_bytes"]})
        assert "error" not in ours, ours
        verdict = ours["verdict"]
        assert (verdict["stage"], verdict["accepted"]) == (said["stage"], said["stage"] is None)
        if said["stage"] in ("config", "memory"):
            assert verdict["message"] == said["message"]
        if "capacity" in said:
            wanted = {**said["capacity"]}
            wanted["max_concurrency"] = wanted.pop("concurrency")
            assert {key: ours["capacity"][key] for key in CAPACITY} == wanted
        for rank, layers, pages in row.get("pages", ()):
            held = ours["ranks"][rank] if ours["ranks"] else None
            if held is not None:
                found = held["kv_page_bytes"]
                found = found if isinstance(found, list) else [found]
                assert (held["kv_layers"], found) == (layers, pages)
    if "kv_groups" in row:
        cache = KvCache.of(Question.of(asked).deployment)
        assert planned(cache) == recorded(row)
    if "backends" in row:
        assert settings_of(asked) == settings_in(row)


def deployed() -> Iterator[tuple[Row, Row]]:
    """Recorded deployments whose caches are laid out, with the question that each answers."""
    lines = (DEPLOYED / "deployed_configs.jsonl").read_text("utf-8").splitlines()
    configs = {row["name"]: row["config"] for row in map(json.loads, lines)}
    for line in (DEPLOYED / "deployed_builds.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["accepted"] and "kv_groups" in row:
            question = {"model": configs[row["model"]], "args": row["args"], "gpu": row["gpu"]}
            yield row, question


def test_caches_of_deployments() -> None:
    wrong, count = [], 0
    for row, question in deployed():
        try:
            cache = KvCache.of(Question.of(question).deployment)
        except ValueError:
            continue  # what is not modelled is counted with the answers
        count += 1
        ours = planned(cache) | settings_of(question)
        theirs = recorded(row) | settings_in(row)
        for what, value in ours.items():
            if value != theirs[what]:
                args = json.dumps(row["args"])
                wrong.append(f"{row['model']} {args}: {what} is {value}, vLLM's {theirs[what]}")
    assert not wrong, "\n".join([f"{len(wrong)} differences in {count} rows:", *wrong[:20]])
    assert count > 100
