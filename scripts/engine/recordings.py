"""The recorded answers of one release: the contract, an earlier one, or from `build/record/`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Answers = dict[str, Row]  # by question

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "tests" / "oracle" / "recorded"
CONTRACT_FLAGS = ROOT / "src" / "vllm_parallel" / "engine" / "flags.json"
CONTRACT_METRICS = CONTRACT_FLAGS.with_name("metrics") / "registered.json"
KEPT = ROOT / "contracts"  # those of earlier releases, by release
OTHERS = ROOT / "build" / "record"
SHELVES = (
    ROOT / "src" / "vllm_parallel" / "catalog" / "models",
    ROOT / "tests" / "oracle" / "configs",
    CONTRACT / "configs",
)
FILES = ("verdicts", "builds", "groups")
QUESTION = ("model", "args", "available_kv_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What one release answered, and the options of its commands."""

    release: str
    flags: Mapping[str, list[Row]]
    answers: Mapping[str, Answers]
    left_out: Mapping[str, Mapping[str, str]]  # what was said instead of a comparable answer
    models: Mapping[str, Row]  # the configs that the recording made, by name
    families: Mapping[str, str]  # of every model, by name

    @classmethod
    def of(cls, folder: Path, flags: Path) -> Recording:
        """The recording in a folder.

        Raises:
            ValueError: Two answers to one question.
        """
        recorded = json.loads(flags.read_text("utf-8"))
        left_out: dict[str, dict[str, str]] = {name: {} for name in FILES}
        for row in rows(folder / "left_out.jsonl"):
            name = row["model"].removesuffix(".json")
            left_out[f"{row['ask'].removesuffix('s')}s"][key_of(row | {"model": name})] = row[
                "said"
            ]
        models = {row["name"]: row["config"] for row in rows(folder / "configs.jsonl")}
        return cls(
            release=recorded["release"],
            flags=recorded["commands"],
            answers={name: by_question(folder / f"{name}.jsonl") for name in FILES},
            left_out=left_out,
            models=models,
            families=families(models),
        )

    @classmethod
    def find(cls, release: str, others: Path = OTHERS) -> Recording:
        """The contract if it is of this release, one kept from then, or what `make record` wrote.

        Raises:
            SystemExit: The release was not recorded.
        """
        kept = (KEPT / release, others / release)
        for place, flags in ((CONTRACT, CONTRACT_FLAGS), *((at, at / "flags.json") for at in kept)):
            whole = flags.is_file() and all((place / f"{name}.jsonl").is_file() for name in FILES)
            if whole and json.loads(flags.read_text("utf-8"))["release"] == release:
                return cls.of(place, flags)
        raise SystemExit(f"vLLM {release} is not recorded; run: make record VERSION={release}")


def key_of(row: Mapping[str, Any]) -> str:
    """The question that a row answers.

    >>> key_of({"model": "llama", "args": {}, "accepted": True})
    '{"args": {}, "model": "llama"}'
    """
    return json.dumps({part: row[part] for part in QUESTION if part in row}, sort_keys=True)


def rows(path: Path) -> Iterator[Row]:
    """The rows of a file, none if it is not there."""
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def by_question(path: Path) -> Answers:
    """The rows of a file by their question."""
    found: Answers = {}
    for row in rows(path):
        key = key_of(row)
        if key in found:
            raise ValueError(f"{path.name} answers twice: {key}")
        found[key] = row
    return found


def configs(made: Mapping[str, Row]) -> dict[str, Row]:
    """Every config that a recording can be about, by name."""
    files = sorted(file for shelf in SHELVES for file in shelf.glob("*.json"))
    found: dict[str, Row] = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    found.update(made)
    return found


def families(made: Mapping[str, Row]) -> dict[str, str]:
    """Their `model_type`, by name."""
    return {name: str(row.get("model_type", name)) for name, row in configs(made).items()}
