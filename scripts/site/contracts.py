"""What is kept of each vLLM release that the package was held against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.render.markdown import table
from vllm_parallel.render.numbers import whole

ROOT: Final = Path(__file__).resolve().parents[2]
NOW: Final = ROOT / "tests" / "oracle" / "recorded"
ENGINE: Final = ROOT / "src" / "vllm_parallel" / "engine"
BEFORE: Final = ROOT / "contracts"
ANSWERS: Final = ("verdicts", "builds", "groups", "wide_groups", "deployed_builds")
HEAD: Final = (
    "vLLM",
    "verdicts",
    "builds",
    "groups",
    "wide groups",
    "CUDA builds",
    "options",
    "metrics",
    "in",
)


def kept() -> str:
    """A row a release, the contract first."""
    rows = [_row(NOW, ENGINE / "flags.json", ENGINE / "metrics" / "registered.json")]
    older = sorted(BEFORE.iterdir(), reverse=True) if BEFORE.is_dir() else []
    rows += [_row(folder, folder / "flags.json", folder / "metrics.json") for folder in older]
    return table(HEAD, rows, right=range(1, 8))


def _row(folder: Path, flags: Path, metrics: Path) -> tuple[str, ...]:
    options = json.loads(flags.read_text("utf-8"))
    counts = [*map(len, _answers(folder)), sum(map(len, options["commands"].values()))]
    counts.append(len(json.loads(metrics.read_text("utf-8"))["metrics"]))
    where = folder.relative_to(ROOT).as_posix()
    return (options["release"], *map(whole, counts), f"`{where}/`")


def _answers(folder: Path) -> Iterator[list[str]]:
    for name in ANSWERS:
        yield (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
