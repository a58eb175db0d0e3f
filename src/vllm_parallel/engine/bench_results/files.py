"""Which files of some paths may hold results, and which lie beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.kinds import (
    NOT_A_RESULT,
    PYTORCH,
    SUMMARY,
    WARM_UP,
)
from vllm_parallel.engine.inputs import shown
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass

SUFFIXES: Final = (".json", ".jsonl")
MOST: Final = 100_000  # files of a call


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file, whether the call names it, and why it is not opened, if it is not."""

    path: Path
    named: bool
    reason: str | None = None


def candidates(paths: Iterable[Path]) -> tuple[Candidate, ...]:
    """Every file of the paths once, those of folders in the order of their names.

    Raises:
        ParseError: a path that is not there, or more files than anyone measures.
    """
    found: dict[Path, Candidate] = {}
    for path in paths:
        for one in _below(path):
            found.setdefault(one.path.absolute(), one)
            if len(found) > MOST:
                problem = f"holds over {MOST} files"
                raise ParseError(place=shown(path), problem=problem, fix="name the folder of a run")
    return tuple(found.values())


def _below(path: Path) -> Iterator[Candidate]:
    try:
        folder = path.is_dir()
    except (OSError, ValueError):
        folder = False
    if not folder:
        yield Candidate(path=path, named=True)
        return
    for top, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(top, name)
            yield Candidate(path=file, named=False, reason=_beside(file, names))


def _beside(path: Path, names: Iterable[str]) -> str | None:
    """Why a file of a folder is not opened, by its name and those beside it.

    Source: vllm/benchmarks/sweep/serve.py, run_comb and run_combs (v0.32.0)
    """
    if path.suffix not in SUFFIXES or not path.is_file():
        return NOT_A_RESULT
    if path.name.endswith(".pytorch.json"):
        return PYTORCH
    if path.name == "warmup.json":
        return WARM_UP
    if path.name == "summary.json" and any(name.startswith("run=") for name in names):
        return SUMMARY
    return None
