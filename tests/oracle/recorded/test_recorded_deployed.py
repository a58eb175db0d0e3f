"""What vLLM's CUDA platform said of deployments, asked through our own door."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES, Stage
from vllm_parallel.question import Question
from vllm_parallel.verdict import Verdict

HERE: Final = Path(__file__).parent
SHOWN: Final = 20
BARE: Final = frozenset(rule.name for rule in RULES if rule.bare)
# Sentences that end in a list of what is missing beside the engine, or on the GPU.
LISTS: Final = (
    "No valid attention backend found",
    "Failed to find a kernel",
    "Unsupported FusedMoe scheme",
    "For INT8 Fused MoE layers",
)
CAPACITY: Final = {
    "num_blocks": "num_blocks",
    "tokens": "tokens",
    "concurrency": "max_concurrency",
    "max_model_len": "max_model_len",
}
Row = Mapping[str, Any]
Pairs = dict[str, tuple[object, object]]  # what: ours and vLLM's


def rows(name: str) -> Iterator[Row]:
    for line in (HERE / name).read_text("utf-8").splitlines():
        yield json.loads(line)


@cache
def configs() -> Mapping[str, Row]:
    return {row["name"]: row["config"] for row in rows("deployed_configs.jsonl")}


def question(row: Row) -> dict[str, Any]:
    asked = {key: row[key] for key in ("args", "available_kv_bytes", "gpu")}
    return asked | {"model": configs()[row["model"]]}


def reason(error: str) -> str:
    """What is refused by name, without the way out and what is modelled instead."""
    return error.removeprefix("the given config ").split("; ")[0]


def has_sentence(row: Row) -> bool:
    """Whether a refusal at `load` is in words of vLLM's own that are the same everywhere."""
    asked = Question.of(question(row))
    refusal = Verdict.of(asked.deployment, asked.available_kv_bytes).refusal
    return refusal is None or not (refusal.name in BARE or row["message"].startswith(LISTS))


def compared(row: Row, said: Row) -> Pairs:
    """The verdict, and of what both accept the groups, ranks and capacity that the row has."""
    verdict = said["verdict"]
    pairs: Pairs = {"stage": (verdict["stage"], row["stage"])}
    if verdict["stage"] == row["stage"] and (row["stage"] != Stage.LOAD or has_sentence(row)):
        pairs["message"] = (verdict["message"], row["message"])
    if verdict["accepted"] and row["accepted"]:
        capacity = {key: said["capacity"][ours] for key, ours in CAPACITY.items()}
        pairs["capacity"] = (capacity, row["capacity"])
        for theirs in row.get("ranks", ()):
            pairs |= compared_rank(said["ranks"][theirs["rank"]], theirs)
        if "groups" in row:
            pairs |= compared_groups(said["groups"], row["groups"])
    return pairs


def compared_rank(ours: Row, theirs: Row) -> Pairs:
    """Bytes and caches of a rank; null where a kernel repacks the weights."""
    pages = ours["kv_page_bytes"]
    ours = {**ours, "kv_page_bytes": pages if isinstance(pages, list) else [pages]}
    known = {key: value for key, value in theirs.items() if value is not None}
    return {f"{key} of rank {theirs['rank']}": (ours[key], known[key]) for key in known}


def compared_groups(ours: Row, theirs: Row) -> Pairs:
    """Groups without their order; a dense model has no dp and ep, and its dp is the recorder's."""
    axes = ("tp", "pp", "pcp", "dcp", *(("dp", "ep") if "ep" in theirs else ()))
    return {
        f"{axis} groups": (set(map(tuple, ours[axis])), set(map(tuple, theirs[axis])))
        for axis in axes
    }


def test_deployed_builds() -> None:
    """Every row agrees, or its fault is in the table of those that are still allowed."""
    recorded, wrong = list(rows("deployed_builds.jsonl")), []
    refused: Counter[str] = Counter()
    differing = set()
    for row in recorded:
        said: Row = answer(question(row))
        if "error" in said:
            refused[reason(said["error"])] += 1
            continue
        for what, (ours, theirs) in compared(row, said).items():
            if ours != theirs:
                differing.add(row["model"])
                title = f"{row['model']} {json.dumps(row['args'])}"
                wrong.append(f"{title}: {what} is {ours!r}, vLLM's is {theirs!r}")
    assert len(recorded) >= 800
    allowed = json.loads((HERE / "not_yet.json").read_text("utf-8"))
    grown = {why: count for why, count in refused.items() if count > allowed["refused"].get(why, 0)}
    assert not grown, f"refused by name, but not allowed: {grown}"
    head = f"{len(wrong)} differences in {len(recorded)} rows:"
    assert differing <= set(allowed["differ"]), "\n".join([head, *wrong[:SHOWN]])
    found = {"refused": dict(sorted(refused.items())), "differ": sorted(differing)}
    assert found == allowed, f"less is allowed now; not_yet.json is:\n{json.dumps(found, indent=2)}"
