"""Answers that `scripts/engine/record.py` took from vLLM v0.32.0, asked through our own door."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES, Stage, violations
from vllm_parallel.question import Question
from vllm_parallel.verdict import Verdict

HERE: Final = Path(__file__).parent
SHELVES: Final = (HERE / "configs", HERE.parent / "configs")
SHOWN: Final = 20
BARE: Final = frozenset(rule.name for rule in RULES if rule.bare)
Row = Mapping[str, Any]
Pairs = Mapping[str, tuple[object, object]]  # what: ours and vLLM's


def rows(name: str) -> Iterator[Row]:
    for line in (HERE / name).read_text("utf-8").splitlines():
        yield json.loads(line)


@cache
def models() -> Mapping[str, Row]:
    """The configs that no catalog has, by name."""
    files = [file for shelf in SHELVES for file in sorted(shelf.glob("*.json"))]
    on_file = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    return on_file | {row["name"]: row["config"] for row in rows("configs.jsonl")}


def question(row: Row, *ask: str) -> Row:
    name = row["model"]
    asked = {"model": models().get(name, name), "args": row["args"], "as_bf16": True}
    if "available_kv_bytes" in row:
        asked["available_kv_bytes"] = row["available_kv_bytes"]
    return asked | {"ask": list(ask)}


def compared_all(name: str, compare: Callable[[Row], Pairs], *, at_least: int) -> None:
    """Compares every row of a file; all that differ are counted and the first of them shown."""
    recorded, wrong = list(rows(name)), []
    for row in recorded:
        title = f"{row['model']} {json.dumps(row['args'])}"
        wrong += [
            f"{title}: {what} is {ours!r}, vLLM's is {theirs!r}"
            for what, (ours, theirs) in compare(row).items()
            if ours != theirs
        ]
    assert len(recorded) >= at_least
    head = f"{len(wrong)} differences in {len(recorded)} rows:"
    assert not wrong, "\n".join([head, *wrong[:SHOWN]])


def config_refusal(row: Row) -> str | None:
    """The first sentence at `config`; rules of the command before it are not in these rows."""
    said: Row = answer(question(row, "verdict"))
    verdict = said["verdict"]
    if verdict["stage"] == Stage.FLAGS:
        broken = violations(Question.of(question(row)).deployment)
        return next((each.message for each in broken if each.stage is Stage.CONFIG), None)
    return verdict["message"] if verdict["stage"] == Stage.CONFIG else None


def compared_verdict(row: Row) -> Pairs:
    message = config_refusal(row)
    return {"message": (message, row["message"]), "accepted": (message is None, row["accepted"])}


def as_sets(groups: Mapping[str, Any]) -> Mapping[str, object]:
    """Groups without their order, ranks inside a group in theirs; a dense model has no dp or ep."""
    axes = ("tp", "pp", "pcp", "dcp", *(("dp", "ep") if groups.get("ep") else ()))
    return {axis: {tuple(ranks) for ranks in groups[axis]} for axis in axes}


def has_sentence(row: Row) -> bool:
    """Whether vLLM refuses in a sentence of its own; a bare assert has none."""
    asked = Question.of(question(row))
    refusal = Verdict.of(asked.deployment, asked.available_kv_bytes).refusal
    return refusal is None or refusal.name not in BARE


def compared_build(row: Row) -> Pairs:
    said: Row = answer(question(row, "verdict", "groups", "ranks", "capacity"))
    if "error" in said:
        return {"error": (said["error"], None)}
    verdict = said["verdict"]
    pairs: dict[str, tuple[object, object]] = {"stage": (verdict["stage"], row["stage"])}
    if row["stage"] != Stage.LOAD or has_sentence(row):
        pairs["message"] = (verdict["message"], row["message"])
    if not (row["accepted"] and verdict["accepted"]):
        return pairs
    pairs["groups"] = (as_sets(said["groups"]), as_sets(row["groups"]))
    capacity = {key: value for key, value in said["capacity"].items() if key != "engines"}
    capacity["concurrency"] = capacity.pop("max_concurrency")
    if "max_model_len" not in row["capacity"]:  # recorded where it was fitted to the memory
        del capacity["max_model_len"]
    pairs["capacity"] = (capacity, row["capacity"])
    for theirs in row["ranks"]:
        pages = said["ranks"][theirs["rank"]]["kv_page_bytes"]
        ours = said["ranks"][theirs["rank"]] | {
            "kv_page_bytes": pages if isinstance(pages, list) else [pages]
        }
        pairs[f"rank {theirs['rank']}"] = ({key: ours[key] for key in theirs}, theirs)
    return pairs


def compared_groups(row: Row) -> Pairs:
    said: Row = answer(question(row, "groups"))
    groups = said["groups"]
    pairs: dict[str, tuple[object, object]] = {
        "groups": (as_sets(groups), as_sets(row["groups"])),
    }
    if not row["groups"].get("ep"):
        pairs["dp and ep of a dense model"] = ((groups["dp"], groups["ep"]), (None, None))
    return pairs


def compared_wide_groups(row: Row) -> Pairs:
    said: Row = answer(question(row, "groups"))
    groups = {axis: sorted(map(list, lists)) for axis, lists in said["groups"].items()}
    last = max(groups["pp"][-1])
    text = json.dumps(groups, sort_keys=True, separators=(",", ":"))
    return {
        "counts": ({axis: len(lists) for axis, lists in groups.items()}, row["counts"]),
        "first": (group_of(groups, 0), row["first"]),
        "last": (group_of(groups, last), row["last"]),
        "sha256": (sha256(text.encode()).hexdigest(), row["sha256"]),
    }


def group_of(groups: Mapping[str, list[list[int]]], rank: int) -> Row:
    return {axis: next(g for g in lists if rank in g) for axis, lists in groups.items()}


def test_verdicts() -> None:
    """What `create_engine_config` says, in its words."""
    compared_all("verdicts.jsonl", compared_verdict, at_least=5000)


def test_builds() -> None:
    """Stage, bytes of the first and last rank of each stage, blocks and tokens."""
    compared_all("builds.jsonl", compared_build, at_least=600)


def test_groups() -> None:
    """Every layout of up to 16 ranks, of a model with experts and of one without."""
    compared_all("groups.jsonl", compared_groups, at_least=700)


def test_wide_groups() -> None:
    """Every layout of 17 to 64 ranks whose tp divides the heads: counts, two ranks, a hash."""
    compared_all("wide_groups.jsonl", compared_wide_groups, at_least=3800)
