"""The field evidence, where it is here: every log and every line is read as its notes say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

import pytest

from tests.shared import FIELD, needs_field
from vllm_parallel.engine.log import ServeLog, read, read_file

pytestmark = needs_field

# KV tokens, weights of each worker, and what refuses the start.
LOGS: Final = {
    "llama-3.1-8b-tp1": (476_016, [14.99], None),
    "llama-3.1-8b-pp4": (2_257_264, [4.26, 3.28, 3.28, 4.26], None),
    "kimi-dev-72b-tp4": (481_296, [34.01] * 4, None),
    "deepseek-v2-lite-tp1-mla": (1_505_552, [29.43], None),
    "gpt-oss-20b-tp1-out-of-memory": (1_277_184, [13.64], "CUDA out of memory"),
    "llama-3.1-8b-dp2-failed": (None, [14.99], "DP adjusted local rank 1 is out of bounds"),
}


@pytest.mark.parametrize("name", LOGS)
def test_log(name: str) -> None:
    tokens, weights, refusal = LOGS[name]
    log = read_file(FIELD / "logs" / f"{name}.log")
    assert (log.vllm_version, log.kv_tokens_total, log.starts) == ("0.19.0", tokens, 1)
    assert sorted(w.weight_gib or 0 for w in log.workers) == sorted(weights)
    assert (log.refusal is not None) == (refusal is not None)
    assert log.refusal is None or log.refusal.sentence.startswith(refusal or "")
    assert log.ready == (refusal is None)
    assert any("0.19.0, not 0.32.0" in note for note in log.notes)
    assert not any("not read" in note for note in log.notes)


def test_stages_have_their_own_room() -> None:
    log = read_file(FIELD / "logs" / "llama-3.1-8b-pp4.log")
    room = {worker.name: worker.available_kv_gib for worker in log.workers}
    assert room["Worker_PP0"] == 69.8
    assert min(room, key=lambda name: room[name] or 0) == "Worker_PP3"


def cases() -> list[dict[str, object]]:
    path = FIELD / "cases.jsonl"
    return (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


PRINTED: Final = re.compile(r"INFO|KV cache size: [\d,]+ tokens|memory: -?[\d.]+ GiB$")


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_case(case: dict[str, object]) -> None:
    """Lines that were copied from logs give the figures that stand beside them."""
    lines = [line for line in case["raw_lines"] if PRINTED.search(line)]  # type: ignore[attr-defined]
    figures = case["figures"]
    assert isinstance(figures, dict)
    if not lines or "attention_block_size" in figures:
        pytest.skip("no lines of a log")
    log = read([f"{line}\n".encode() for line in lines])
    found = {
        "kv_tokens": log.engines[0].kv_tokens if log.engines else None,
        "max_concurrency": log.engines[0].max_concurrency if log.engines else None,
        "max_concurrency_len": log.engines[0].max_model_len if log.engines else None,
        "available_kv_gib": next(
            (w.available_kv_gib for w in log.workers if w.available_kv_gib), None
        ),
        "model_loading_gib": next((w.weight_gib for w in log.workers if w.weight_gib), None),
        "model_loading_gb": next((w.weight_gib for w in log.workers if w.weight_gib), None),
    }
    text = "\n".join(lines)
    for name, figure in found.items():
        if name in figures and str(figures[name]) in text.replace(",", ""):
            assert figure == figures[name], name


def excerpt(name: str) -> ServeLog:
    text = next((FIELD / "reports").glob(f"{name}-*.md")).read_text("utf-8")
    body = text.partition("```text\n")[2].partition("```")[0]
    return read([body.encode()])


def symptom(log: ServeLog) -> str | None:
    return log.refusal.symptom if log.refusal else None


REPORTS: Final[dict[str, Callable[[ServeLog], bool]]] = {
    "02": lambda log: (
        (log.engines[0].kv_tokens, log.engines[0].max_concurrency) == (290_864, 33.04)
    ),
    "07": lambda log: (
        (log.vllm_version, log.asked.args["pipeline_parallel_size"]) == ("0.15.0rc1", 8)
    ),
    "06": lambda log: symptom(log) == "request-does-not-fit",
    "12": lambda log: symptom(log) == "too-many-ranks",
    "18": lambda log: (
        [(s.engine, s.running, s.waiting) for s in log.stats] == [(0, 51, 117), (1, 31, 108)]
    ),
    "23": lambda log: symptom(log) == "heads-do-not-divide",
    "24": lambda log: symptom(log) == "heads-do-not-divide",
    "26": lambda log: not log.engines and not any("not read" in note for note in log.notes),
}


@pytest.mark.parametrize("name", REPORTS)
def test_report(name: str) -> None:
    assert REPORTS[name](excerpt(name))


def test_report_of_disagreeing_pool() -> None:
    assert any("1,082,654" in note or "1,082,655" in note for note in excerpt("02").notes)
