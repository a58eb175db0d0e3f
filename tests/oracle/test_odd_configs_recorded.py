"""Configs with one oddity each, as vLLM v0.32.0 read or refused them, asked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vllm_parallel.answers import answer

LINES: Final = Path(__file__).with_name("odd_configs.jsonl").read_text("utf-8").splitlines()
ROWS: Final[list[dict[str, Any]]] = [json.loads(line) for line in LINES]
BASES: Final = {row["base"]: row["config"] for row in ROWS if "config" in row}
ASKED: Final = [row for row in ROWS if "config" not in row]
ARGS: Final = {"max_num_batched_tokens": 2048, "max_num_seqs": 16}
Row = Mapping[str, Any]
# What we take though vLLM does not, by the key that is odd: no `model_type`, or another family's;
# windows that a class has no word for; more experts than its Triton kernel counts.
TAKEN: Final = {
    "model_type", "layer_types", "num_experts", "num_local_experts", "n_routed_experts",
}  # fmt: skip
MOST_TAKEN: Final = 13
CLASS_DEFAULTS: Final = {"architectures", "model_type"}  # whose class another class would read


def title(row: Row) -> str:
    dropped = "".join(f" without {key}" for key in row.get("drop", ()))
    return f"{row['base']} {json.dumps(row['change'])}{dropped}"


def said(row: Row) -> Row:
    """Our answer to a row, asked as it was recorded."""
    config = {**BASES[row["base"]], **row["change"]}
    for key in row.get("drop", ()):
        del config[key]
    return answer(
        {"model": config, "args": ARGS, "gpu": "h100-80gb", "available_kv_bytes": 8 * 10**9}
    )


def odd_keys(row: Row) -> set[str]:
    return {*row["change"], *row.get("drop", ())}


def test_what_vllm_refuses_is_refused() -> None:
    taken = [
        row for row in ASKED if row["stage"] and (said(row).get("verdict") or {}).get("accepted")
    ]
    assert [title(row) for row in taken if not odd_keys(row) & TAKEN] == []
    assert len(taken) <= MOST_TAKEN, "\n".join(map(title, taken))


def test_what_both_take_is_alike() -> None:
    wrong, alike = [], 0
    for row in ASKED:
        ours = said(row)
        if row["stage"] or "error" in ours or odd_keys(row) & CLASS_DEFAULTS:
            continue
        alike += 1
        rank, pool = ours["ranks"][0], ours["capacity"]
        both = {
            **{key: (rank[key], row[key]) for key in ("weight_bytes", "buffer_bytes")},
            **{key: (pool[key], row[key]) for key in ("num_blocks", "tokens")},
        }
        wrong += [f"{title(row)}: {key} {two}" for key, two in both.items() if two[0] != two[1]]
    assert not wrong, "\n".join(wrong[:10])
    assert alike >= 90


def test_no_refusal_is_in_python_s_words() -> None:
    """An error names what the config says as JSON does, on one line."""
    for row in ASKED:
        error = said(row).get("error", "")
        assert "\n" not in error, title(row)
        assert not any(f"': {word}" in error for word in ("None", "True", "False", "inf", "nan"))
