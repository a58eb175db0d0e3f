"""Every answer recorded from vLLM v0.32.0, asked again through the package's own door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vllm_parallel.answers import answer
from vllm_parallel.constraints import RULES
from vllm_parallel.question import Question
from vllm_parallel.verdict import Verdict

HERE: Final = Path(__file__).parent
BARE: Final = frozenset(rule.name for rule in RULES if rule.bare)  # without words of vLLM's own
Row = Mapping[str, Any]


def recorded(name: str, *, count: int) -> list[Row]:
    lines = HERE.joinpath(name).read_text("utf-8").splitlines()
    rows: list[Row] = [json.loads(line) for line in lines]
    assert len(rows) == count, f"{name} has {len(rows)} rows"
    return rows


def question(row: Row) -> dict[str, Any]:
    """What a row answers, its model read as the recorder read it."""
    config = HERE / "configs" / f"{row['model']}.json"
    question = {
        "id": row["model"],
        "model": str(config) if config.is_file() else row["model"],
        "args": row["args"],
        "as_bf16": True,
    }
    return question | {key: row[key] for key in ("available_kv_bytes", "gpu") if key in row}


def rule_of(row: Row) -> str | None:
    """The rule that refuses a row."""
    asked = Question.of(question(row))
    refusal = Verdict.of(asked.deployment, asked.available_kv_bytes).refusal
    return None if refusal is None else refusal.name


def asked(row: Row, *ask: str, rank: int | None = None) -> Row:
    """The answer to a recorded row."""
    said = answer(question(row) | {"ask": list(ask), "rank": rank})
    assert "error" not in said, f"{title(row)}: {said['error']}"
    assert said["id"] == row["model"]
    return said


def title(row: Row) -> str:
    flags = " ".join(f"{name}={value}" for name, value in sorted(row["args"].items()))
    return f"{row['model']} {flags}"


def compared(row: Row, pairs: Mapping[str, tuple[object, object]]) -> list[str]:
    """A line for each pair of ours and vLLM's that is not equal."""
    return [
        f"{title(row)}: {what} is {ours!r}, vLLM's is {theirs!r}"
        for what, (ours, theirs) in pairs.items()
        if ours != theirs
    ]


def refuse(wrong: list[str], rows: list[Row]) -> None:
    assert not wrong, "\n".join([f"{len(wrong)} differences in {len(rows)} rows:", *wrong[:20]])


def as_sets(groups: Mapping[str, Any], axes: list[str]) -> dict[str, frozenset[tuple[int, ...]]]:
    """Groups without their order, ranks inside a group in theirs; no group may come twice."""
    for axis in axes:
        assert len(groups[axis]) == len({tuple(group) for group in groups[axis]}), axis
    return {axis: frozenset(tuple(group) for group in groups[axis]) for axis in axes}


def compared_groups(row: Row, said: Row) -> list[str]:
    """A dense row has no `ep`; its `dp` is the recorder's, where the answer is null."""
    ours, theirs = said["groups"], row["groups"]
    moe = "ep" in theirs
    assert set(ours) == {"tp", "pp", "dp", "pcp", "dcp", "ep"}
    assert moe or set(theirs) <= {"tp", "pp", "dp", "pcp", "dcp"}
    axes = ["tp", "pp", "pcp", "dcp", *(["dp", "ep"] if moe else [])]
    pairs: dict[str, tuple[object, object]] = {
        f"{axis} groups": (as_sets(ours, axes)[axis], as_sets(theirs, axes)[axis]) for axis in axes
    }
    if not moe:
        pairs["groups of a dense model"] = ((ours["dp"], ours["ep"]), (None, None))
    return compared(row, pairs)


def compared_ranks(row: Row, said: Row, keys: list[str]) -> list[str]:
    """The listed ranks; `kv_page_bytes` is a list in the recording, one number here."""
    args = row["args"]
    widths = ("tensor", "pipeline", "data", "prefill_context")
    total = 1
    for width in widths:
        total *= args.get(f"{width}_parallel_size", 1)
    pairs: dict[str, tuple[object, object]] = {
        "ranks": ([rank["rank"] for rank in said["ranks"]], list(range(total)))
    }
    for theirs in row["ranks"]:
        ours = said["ranks"][theirs["rank"]]
        for key in keys:
            found = [ours[key]] if key == "kv_page_bytes" else ours[key]
            pairs[f"{key} of rank {theirs['rank']}"] = (found, theirs[key])
    return compared(row, pairs)


def test_verdicts() -> None:
    """What `create_engine_config` says; rules of the workers come after it.

    Whatever no rule refuses can be built: its first rank is counted too.
    """
    rows = recorded("verdicts.jsonl", count=946)
    wrong = []
    for row in rows:
        said = asked(row, "verdict", "ranks", rank=0)
        verdict = said["verdict"]
        refused = verdict["message"] if verdict["stage"] == "config" else None
        wrong += compared(
            row,
            {
                "message": (refused, row["message"]),
                "refused by the config": (verdict["stage"] == "config", not row["accepted"]),
                "later stage": (verdict["stage"] in (None, "config", "load"), True),
                "accepted": (verdict["accepted"], verdict["stage"] is None),
                "built": (said["ranks"] is not None, verdict["accepted"]),
            },
        )
    refuse(wrong, rows)


def test_builds() -> None:
    """Stage, message, groups, bytes and capacity of deployments whose layers were built."""
    rows = recorded("builds.jsonl", count=137)
    wrong = []
    for row in rows:
        said = asked(row, "verdict", "groups", "ranks", "capacity")
        verdict, capacity = said["verdict"], said["capacity"]
        pairs: dict[str, tuple[object, object]] = {
            "accepted": (verdict["accepted"], row["accepted"]),
            "stage": (verdict["stage"], row["stage"]),
        }
        if row["stage"] != "load" or rule_of(row) not in BARE:
            pairs["message"] = (verdict["message"], row["message"])
        if row["accepted"]:
            theirs = row["capacity"]
            pairs |= {key: (capacity[key], theirs[key]) for key in ("num_blocks", "tokens")}
            pairs["concurrency"] = (
                float(capacity["max_concurrency"]).hex(),
                float(theirs["concurrency"]).hex(),
            )
            pairs["engines"] = (capacity["engines"], row["args"].get("data_parallel_size", 1))
            wrong += compared_groups(row, said)
            wrong += compared_ranks(row, said, ["weight_bytes", "kv_layers", "kv_page_bytes"])
        else:
            pairs["ranks and capacity"] = ((said["ranks"], capacity), (None, None))
        wrong += compared(row, pairs)
    refuse(wrong, rows)


def test_groups() -> None:
    """Groups of layouts that are refused on a worker, but whose ranks are defined."""
    rows = recorded("groups.jsonl", count=17)
    wrong = []
    for row in rows:
        said = asked(row, "verdict", "groups", "ranks")
        refusal = (said["verdict"]["stage"], said["ranks"])
        wrong += compared_groups(row, said) + compared(row, {"refusal": (refusal, ("load", None))})
    refuse(wrong, rows)


def test_buffers() -> None:
    """What stays beside the parameters, and what loading adds."""
    rows = recorded("deployed-buffers.jsonl", count=7)
    keys = ["weight_bytes", "buffer_bytes", "post_load_bytes"]
    wrong = [line for row in rows for line in compared_ranks(row, asked(row, "ranks"), keys)]
    refuse(wrong, rows)
