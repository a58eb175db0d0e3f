"""Runs that were made up, for tests: the example of `results/README.md`, and a whole one."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path
from typing import Final

from tests.compare.made import metrics, trials
from tests.compare.made import written as written_results

ROOT: Final = Path(__file__).parents[2]


def example() -> str:
    """The `run.toml` that the README shows."""
    text = (ROOT / "results" / "README.md").read_text("utf-8")
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """A folder with the example, each `old` in it replaced by its `new`."""
    text = example()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / "run.toml").write_text(text, "utf-8")
    return folder


def keys() -> set[str]:
    """Every key of the example, dotted."""
    return set(_keys(tomllib.loads(example()), ""))


def _keys(table: dict[str, object], above: str) -> list[str]:
    found = []
    for key, value in table.items():
        inner = value[0] if isinstance(value, list) else value
        if isinstance(inner, dict):
            found += _keys(inner, f"{above}{key}.")
        else:
            found.append(above + key)
    return found


RUN: Final = """
title = "A made-up run"
date = 2026-12-03
measured_by = "a test"
vllm_version = "0.32.0"

[hardware]
name = "two CPU cores"
processor = "cpu"
count = 2

[model]
name = "m"
config = "config.json"

[load]
dataset = "random"
input_tokens = 128
output_tokens = 64
request_rate = "inf"
concurrencies = [1, 4]
prompts = [8, 32]
trials = 3
seed = 0
bench = "vllm bench serve --num-prompts $N"

[[layout]]
name = "tp1"
gpus = 1
serve = "vllm serve m"
[[layout.start]]
trials = [1, 2, 3]

[[layout]]
name = "tp2"
gpus = 2
serve = "vllm serve m -tp 2"
[[layout.start]]
trials = [1]
[[layout.start]]
trials = [2, 3]
"""
LOG: Final = """\
(APIServer pid=7) INFO 12-03 09:00:00 [entrypoints.py:10] vLLM API server version 0.32.0
(EngineCore pid=9) INFO 12-03 09:00:09 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with \
config: model='m', dtype=torch.bfloat16
(EngineCore pid=9) INFO 12-03 09:00:20 [model_runner.py:424] Model loading took 0.5 GiB memory \
and 1.250000 seconds
(EngineCore pid=9) INFO 12-03 09:00:22 [kv_cache_utils.py:2327] CPU KV cache size: 2,048 tokens, \
Maximum concurrency for 1,024 tokens per request: 2.00x
(APIServer pid=7) INFO:     Application startup complete.
"""


def complete(folder: Path) -> Path:
    """A whole run that agrees with itself."""
    folder.mkdir(parents=True)
    (folder / "run.toml").write_text(RUN, "utf-8")
    (folder / "environment.txt").write_text("torch==2.13.0\nvllm==0.32.0+cpu\n", "utf-8")
    (folder / "topo.txt").write_text("CPU(s): 2\n", "utf-8")
    (folder / "config.json").write_text("{}", "utf-8")
    rng = random.Random(0)
    for label, gpus, stems in (("tp1", 1, ("tp1",)), ("tp2", 2, ("tp2", "tp2-s2"))):
        for stem in stems:
            (folder / f"{stem}-serve.log").write_text(LOG, "utf-8")
            (folder / f"{stem}-before.prom").write_text(metrics({0: 0}), "utf-8")
            (folder / f"{stem}-after.prom").write_text(metrics({0: 0}, tokens=90_000), "utf-8")
        for concurrency in (1, 4):
            made = trials(
                label,
                [20.0 * gpus * concurrency * rng.gauss(1, 0.01) for _ in range(3)],
                gpus=gpus,
                prompts=8 * concurrency,
                concurrency=concurrency,
            )
            written_results(folder, made)
    return folder
