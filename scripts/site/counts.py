"""Counts for the verification pages, read from the recorded answers and the rule table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel import RULES
from vllm_parallel.constraints import Known, Stage
from vllm_parallel.render.markdown import table
from vllm_parallel.render.numbers import whole
from vllm_parallel.verdict import MEMORY_RULES

ORACLE: Final = Path(__file__).resolve().parents[2] / "tests" / "oracle"
KINDS: Final = {
    "verdicts": "verdicts, with the exact message",
    "builds": "builds: bytes of ranks, pages, blocks, tokens",
    "groups": "groups, rank by rank",
    "wide_groups": "groups of 17 to 64 ranks: counts, two ranks, a hash of all",
    "deployed-buffers": "buffers and copies after loading",
    "collectives": "collective calls of one rank in one step",
}


def rows(name: str) -> Iterator[dict[str, object]]:
    """The recorded answers of one kind, wherever they lie below the oracle folder."""
    for path in sorted(ORACLE.rglob(f"{name}.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def recorded(name: str) -> int:
    """How many answers of a kind are recorded."""
    return sum(1 for _ in rows(name))


def table_of_counts() -> str:
    """Kinds of answers, how many, and of how many models."""
    body = []
    for name, what in KINDS.items():
        found = list(rows(name))
        models = len({str(row.get("model")) for row in found})
        body.append((what, whole(len(found)), whole(models)))
    return table(("compared", "answers", "models"), body, right=(1, 2))


def table_of_rules() -> str:
    """Rules by stage and by how they are known."""
    known = Counter((rule.stage, rule.known) for rule in RULES)
    known.update((rule.stage, rule.known) for rule in MEMORY_RULES)
    body = [
        (stage.value, *(whole(known[stage, way]) for way in Known), whole(_of(known, stage)))
        for stage in Stage
    ]
    return table(("stage", *(way.value for way in Known), "rules"), body, right=(1, 2, 3, 4))


def _of(known: Counter[tuple[Stage, Known]], stage: Stage) -> int:
    return sum(count for (at, _), count in known.items() if at is stage)
