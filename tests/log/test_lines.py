"""The table of log lines: whole, and each line as vLLM's own source has it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.engine.log import read as read_log
from vllm_parallel.engine.log.events import EVENTS
from vllm_parallel.engine.log.lines import ERRORS, LINES, KnownLine, by_first_word
from vllm_parallel.symptoms import SYMPTOM
from vllm_parallel.term import RELEASE

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
ENGINE: Final = CACHE / "vllm-parallel" / f"engine-{RELEASE}" / "venv" / "lib"
OURS: Final = [line for line in LINES if line.source.startswith("vllm/")]
FIELD: Final = re.compile(r"\{[^{}]*\}")


def test_names_are_anchors() -> None:
    names = [line.name for line in LINES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)
    assert set(EVENTS) <= set(names)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_row(line: KnownLine) -> None:
    """Each row has its words, a symptom that exists, and is found by its first word."""
    for text in (line.by, line.often, line.check, line.source):
        assert text.strip() == text
        assert text.isprintable()
    assert line.symptom is None or line.symptom in SYMPTOM
    if line not in ERRORS:
        assert any(line in by_first_word()[word] for word in line.first_words)


@lru_cache(maxsize=64)
def read(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Every string of a source file, pieces joined and fields as `{}`, and the names it defines."""
    tree = ast.parse(path.read_text("utf-8"))
    named = (
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return frozenset(FIELD.sub("{}", text) for text in _strings(tree)), frozenset(named)


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )


def source_of(line: KnownLine) -> Path | None:
    name = line.source.partition(",")[0]
    return next(iter(ENGINE.glob(f"python*/site-packages/{name}")), None)


@pytest.mark.skipif(not ENGINE.is_dir(), reason="the engine is not installed here")
@pytest.mark.parametrize("line", OURS, ids=lambda line: line.name)
def test_vllm_says_so(line: KnownLine) -> None:
    """vLLM's source holds the format, and the class and function that are named."""
    path = source_of(line)
    assert path is not None, line.source
    texts, named = read(path)
    wanted = FIELD.sub("{}", line.says)
    parts = [wanted]
    if line.name == "stats":  # a list of segments, some of them left out
        parts = wanted.partition(": ")[2].split(", ")
    for part in parts:
        assert any(part in text for text in texts), part
    assert set(line.source.partition(", ")[2].split(".")) <= named


EXAMPLES: Final = {
    "model-loading": "Model loading took 16.43 GiB memory and 41.200000 seconds",
    "available-kv": "Available KV cache memory: -0.5 GiB",
    "kv-cache-size": "XPU KV cache size: 1,024 tokens, Maximum concurrency for 512 tokens per "
    "request: 2.00x",
    "rank-assigned": "rank 0 in world size 2 is assigned as DP rank 0, PP rank 0, PCP rank 0, TP "
    "rank 0, ETP rank 0, EP rank N/A, EPLB rank N/A",
    "layer-split": "Hidden layers were unevenly partitioned: [23,24,24,23]. This can be",
    "stats": "Engine 001: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 "
    "tokens/s, Running: 8 reqs, Waiting: 4 reqs, KV fetch: 1 waiting to start, 2 in progress, 0 "
    "completed waiting, GPU KV cache usage: 98.5%",
    "stats-aggregated": "2 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, Avg generation "
    "throughput: 2.0 tokens/s, Running: 8 reqs, Waiting: 4 reqs, GPU KV cache usage: 98.5%",
    "older-stats": "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 30.1 tokens/s, "
    "Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 0.4%, CPU KV cache "
    "usage: 0.0%.",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    line = next(line for line in LINES if line.name == name)
    assert line.match(EXAMPLES[name])
    heard = f"(APIServer pid=1) INFO 11-30 20:26:20 [a.py:1] {EXAMPLES[name]}"
    found = read_log([heard.encode()])
    assert not [note for note in found.notes if "not read" in note]
    assert len(found.stats) == ("stats" in name)
