"""Asks the real vLLM the questions of recorded rows once more, and says which it answers otherwise.

    python scripts/engine/again.py [--version 0.33.0] [--sample 20] [--only quantised]

Its questions are read off the rows of tests/oracle whose script `origins.toml` there names. A
sample asks so many rows of each file, the same in every run. The exit code is 1 if one differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from install import RELEASE
from interview import Interview, budgets_of, dumped, engine
from recordings import CONTRACT, configs

Row = dict[str, Any]

ORACLE = CONTRACT.parent
ORIGINS = ORACLE / "origins.toml"
# Keys that say what was asked; the others hold what was said.
ASKED = frozenset((
    "model", "config", "name", "args", "as_bf16", "gpu", "gpus_per_node", "available_kv_bytes",
    "id", "kind", "asked", "said",
))  # fmt: skip
NESTED = ("asked", "said")  # lists of further questions, which the row's keys are part of
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the rows of a file come from."""

    name: str
    by: str
    ask: str
    as_bf16: bool
    not_asked: frozenset[str]

    @classmethod
    def of_all(cls) -> dict[str, Origin]:
        """Every file's, by its name."""
        listed = tomllib.loads(ORIGINS.read_text("utf-8"))
        return {
            name: cls(
                name=name,
                by=row["by"],
                ask=row.get("ask", ""),
                as_bf16=row.get("as_bf16", False),
                not_asked=frozenset(row.get("not_asked", ())),
            )
            for name, row in listed.items()
        }

    def question(self, part: Mapping[str, Any], models: Mapping[str, Row]) -> Row:
        """What a row, or a part of it, asks.

        >>> origin = Origin(name="", by="", ask="verdict", as_bf16=True, not_asked=frozenset())
        >>> origin.question({"model": "m", "args": {"x": 1}, "accepted": True}, {"m": {"a": 2}})
        {'ask': 'verdict', 'model': {'a': 2}, 'args': {'x': 1}, 'as_bf16': True}
        """
        config = part["config"] if "config" in part else models[part["model"]]
        row = {"ask": self.ask, "model": config, "args": part["args"], "as_bf16": self.as_bf16}
        row |= {key: part[key] for key in ("as_bf16", "gpu", "gpus_per_node") if key in part}
        if self.ask == "build":
            row["available_kv_bytes"] = part.get("available_kv_bytes")
            row["more_ranks"] = [rank["rank"] for rank in part.get("ranks", ())]
        return row


def parts(row: Row) -> Iterator[Row]:
    """The row, or what it holds of each further question, each with what was said.

    >>> list(parts({"config": {}, "asked": [{"args": {}, "stage": None}]}))
    [{'config': {}, 'args': {}, 'stage': None}]
    """
    inner: list[Row] = next((row[key] for key in NESTED if key in row), [{}])
    outer = {key: value for key, value in row.items() if key not in NESTED}
    yield from (outer | part for part in inner)


def differing(held: object, said: object, skipped: frozenset[str]) -> Iterator[str]:
    """Where an answer is not what is held; an answer may say more.

    >>> list(differing({"a": 1, "b": [2]}, {"a": 1, "b": [3], "c": 4}, frozenset()))
    ['b is [3], not [2]']
    """
    if not (isinstance(held, dict) and isinstance(said, dict)):
        if held != said:
            yield f" is {said!r}, not {held!r}"
        return
    for key in held.keys() - skipped - ASKED:
        theirs = said.get(key)
        if key == "ranks" and isinstance(theirs, list):
            found = {rank["rank"]: rank for rank in theirs}
            for rank in held[key]:
                for text in differing(rank, found.get(rank["rank"]), skipped):
                    yield f"rank {rank['rank']}: {text}"
        else:
            inner = differing(held[key], theirs, skipped)
            yield from (f"{key}{'' if text.startswith(' ') else '.'}{text}" for text in inner)


def drawn(lines: list[str], sample: int | None) -> list[int]:
    """Which rows are asked: all, or those that their hash puts first."""
    order = sorted(range(len(lines)), key=lambda at: hashlib.sha256(lines[at].encode()).digest())
    return sorted(order[:sample])


def answered(interview: Interview, questions: list[Row]) -> Iterator[Row]:
    """The first answer to each question."""
    said = iter(interview.asked(questions))
    for question in questions:
        first, *_ = [next(said) for _ in range(budgets_of(question))]
        yield first


def asked_again(origin: Origin, lines: list[str], chosen: Iterable[int], python: str) -> list[str]:
    """What of the chosen rows vLLM answers otherwise now."""
    models = configs({})
    held = [part for at in chosen for part in parts(json.loads(lines[at]))]
    with tempfile.TemporaryDirectory() as place:
        interview = Interview(python=python, folder=Path(place), script=origin.by)
        said = list(answered(interview, [origin.question(part, models) for part in held]))
    return [
        f"{part.get('model') or part.get('name') or part['config'].get('model_type')} "
        f"{dumped(part['args'])}: {text}"
        for part, answer in zip(held, said, strict=True)
        for text in differing(part, answer, origin.not_asked)
    ]


def main() -> int:
    """Asks, and prints what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default=RELEASE)
    parser.add_argument("--sample", type=int, help="so many rows of each file; all unless given")
    origins = {name: origin for name, origin in Origin.of_all().items() if origin.by}
    names = [name.removesuffix(".jsonl") for name in origins]
    parser.add_argument("--only", action="append", choices=names, help="this file")
    given = parser.parse_args()
    python, wrong = engine(given.version), 0
    for name in given.only or names:
        origin = origins[f"{name}.jsonl"]
        lines = (ORACLE / origin.name).read_text("utf-8").splitlines()
        chosen = drawn(lines, given.sample)
        found = asked_again(origin, lines, chosen, python)
        wrong += len(found)
        print(f"{origin.name}: {len(chosen)} of {len(lines)} rows asked, {len(found)} differences")
        print("".join(f"  {text[:300]}\n" for text in found[:SHOWN]), end="", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
