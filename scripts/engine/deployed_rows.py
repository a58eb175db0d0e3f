"""The rows of `deployed_builds.jsonl`: deployments with a roomy budget, some with tight ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dice import Dice
from interview import Interview

Row = dict[str, Any]

ROOMY = 8 * 10**9
TIGHT_KINDS = frozenset({"hybrid", "memory"})
# FlashInfer is missing beside the engine, and would be taken for these before Triton.
FLASHINFER_DTYPES = frozenset({"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"})
REASONS = ". Reasons: {"  # against each back end; they speak of what is missing beside the engine
# What a deployment's first row says for all of its budgets.
ONCE = (
    "backends",
    "block_bytes",
    "block_size",
    "groups",
    "in_flight",
    "kernels",
    "kv_cache_dtype",
    "kv_groups",
    "kv_specs",
    "ranks",
    "shared_kv_layers",
)


def deployed_rows(interview: Interview, asked: list[Row]) -> Iterator[Row]:
    """Every row that CUDA would give too."""
    for row in asked:
        place = interview.folder / f"{row['model']}.json"
        place.write_text(json.dumps(row["config"]), "utf-8")
    by_model = {row["model"]: row for row in asked}
    again = []
    for answer in interview.answers([question(row, [ROOMY]) for row in asked]):
        row = by_model[answer["model"]]
        if needs_flashinfer(answer):
            interview.left_out.append(question(row, [ROOMY]) | {"said": "needs FlashInfer"})
            continue
        yield {"kind": row["kind"]} | shortened(answer)
        if answer["accepted"] and row["kind"] in TIGHT_KINDS:
            again.append(question(row, tight_budgets(answer)))
    for answer in interview.answers(again):
        said = {key: value for key, value in answer.items() if key not in ONCE}
        yield {"kind": by_model[answer["model"]]["kind"]} | said


def question(row: Row, budgets: Sequence[int]) -> Row:
    """A deployment, asked with these budgets."""
    asked = {"model": f"{row['model']}.json", "args": row["args"]}
    return asked | {"available_kv_bytes": list(budgets)}


def tight_budgets(answer: Mapping[str, Any]) -> list[int]:
    """Budgets around what one request needs, or a few blocks where the length is fitted."""
    dice, block = Dice(f"tight {answer['model']}"), max(answer["block_bytes"])
    if answer["args"]["max_model_len"] == -1:
        some = dice.pick((2, 3, 7, 40)) * block
        return [some, some - 1]
    capacity = answer["capacity"]
    most = -int(-capacity["num_blocks"] // capacity["concurrency"]) * block
    return [most, most - 1, dice.pick((most - block, most + block, block, 1))]


def needs_flashinfer(answer: Mapping[str, Any]) -> bool:
    """Whether Triton was taken where FlashInfer would be."""
    back_ends = answer.get("backends") or ()
    return "TRITON_ATTN" in back_ends and answer["kv_cache_dtype"] in FLASHINFER_DTYPES


def shortened(answer: Row) -> Row:
    """The answer without the reasons against each back end."""
    message = answer["message"]
    return answer | {"message": message and message.split(REASONS)[0]}
