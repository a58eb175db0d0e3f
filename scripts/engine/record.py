"""Asks the real vLLM some thousand questions and writes down what it says.

    python scripts/engine/record.py [--version 0.31.0] [--sample 1500] [--only builds]

Answers of the release that the site is about go to tests/oracle/recorded/, its options and
metrics to src/vllm_parallel/engine/; another release's, and any sample, to build/record/<version>/.
Installs the engine if need be. The questions are the same in every run, so are the files. Needs
half an hour; nothing of the package is imported, so nothing of it can colour the answers.

A sample asks so many verdicts, and a seventh as many builds and groups, the same in every run.
Questions that got no answer, or one that only this machine would give, go to left_out.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_questions import build_questions
from deployed_questions import deployed_questions
from deployed_rows import deployed_rows
from install import RELEASE
from interview import Interview, dumped, engine, without_repeats
from layouts import DP, PCP, PP, TP, Args, small_layouts
from made_models import made_models
from odd_models import odd_models
from recordings import CONTRACT, CONTRACT_FLAGS, CONTRACT_METRICS, OTHERS, ROOT, SHELVES
from shapes import Config
from verdict_questions import verdict_questions

Row = dict[str, Any]

HERE = Path(__file__).parent
MODEL_TYPES = ROOT / "src" / "vllm_parallel" / "catalog" / "families" / "model_types.json"
MADE_OF_EACH_FAMILY = 10
MOST_RANKS = 16
WIDE_RANKS = 64  # up to here groups are counted, and hashed
# Cuts evenly by every width up to 16, so that each layout has groups.
SMOOTH_HEADS = 720_720
WIDE_HEADS = 2_882_880  # and by 32 and 64
BUILDS_IN_SAMPLE = 7  # one for so many verdicts, as it takes so much longer


FILES = (
    "flags", "metrics", "bench_fields", "model_types", "verdicts", "builds", "groups",
    "wide_groups", "deployed_builds",
)  # fmt: skip
OF_ONE_RELEASE = {
    "metrics",
    "bench_fields",
    "model_types",
}  # their scripts know where this release has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run: which release is asked, how much, and where its answers go."""

    release: str
    sample: int | None
    target: Path
    files: frozenset[str] = frozenset(FILES)

    @classmethod
    def of(cls, words: list[str], environ: Mapping[str, str]) -> Record:
        """The run that a command line asks for."""
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--version", default=environ.get("VLLM_PARALLEL_RELEASE") or RELEASE)
        parser.add_argument("--sample", type=int, help="how many verdicts; all unless given")
        parser.add_argument("--out", type=Path, help="another folder for the answers")
        parser.add_argument(
            "--only", action="append", choices=FILES, help="this file; all unless given"
        )
        given = parser.parse_args(words)
        is_contract = given.version == RELEASE and given.sample is None
        target = given.out or (CONTRACT if is_contract else OTHERS / given.version)
        files = frozenset(given.only or (FILES if is_contract else set(FILES) - OF_ONE_RELEASE))
        target = target.absolute()
        return cls(release=given.version, sample=given.sample, target=target, files=files)

    @property
    def is_contract(self) -> bool:
        """Whether the answers are those that the tests hold the package against."""
        return self.target == CONTRACT

    def drawn(self, name: str, questions: list[Row]) -> list[Row]:
        """The questions, or of a sample those that its hash puts first, in their order."""
        if self.sample is None:
            return questions
        size = self.sample if name == "verdicts" else self.sample // BUILDS_IN_SAMPLE
        first = sorted(questions, key=lambda row: hashlib.sha256(dumped(row).encode()).digest())
        return sorted(first[:size], key=dumped)

    def written(self, name: str, rows: Iterable[Row]) -> None:
        """Writes a file of rows, sorted."""
        lines = sorted(dumped(row) for row in rows)
        (self.target / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{name}: {len(lines)} rows", file=sys.stderr, flush=True)


def published() -> dict[str, Config]:
    """The configs that lie in files, by name; multimodal ones want packages the engine lacks."""
    files = sorted(file for shelf in SHELVES for file in shelf.glob("*.json"))
    configs = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    return {name: config for name, config in configs.items() if "text_config" not in config}


def smooth_models(models: Mapping[str, Config]) -> dict[str, Config]:
    """Latent attention with experts, which any layout splits, and dense heads that share one KV."""
    heads = {"num_attention_heads": SMOOTH_HEADS, "hidden_size": SMOOTH_HEADS}
    wide = dict.fromkeys((*heads, "num_key_value_heads"), WIDE_HEADS)
    return {
        "wide-moe": models["deepseek-v2-mini"] | wide,
        "smooth-moe": models["deepseek-v2-mini"] | heads | {"num_key_value_heads": SMOOTH_HEADS},
        "smooth-dense": models["llama-mini"] | heads | {"num_key_value_heads": 1},
    }


def row_question(ask: str, name: str, args: Args) -> Row:
    """A question about a model of this name."""
    return {"ask": ask, "model": f"{name}.json", "args": args, "as_bf16": True}


def build_question(name: str, args: Args, budget: int) -> Row:
    """A question about the first and last rank of each stage, and the room they leave."""
    width = args.get(TP, 1) * args.get(PCP, 1)
    stages, replicas = args.get(PP, 1), args.get(DP, 1)
    last = (replicas - 1) * stages * width
    ends = [last + stage * width - 1 for stage in range(1, stages + 1)]
    question = row_question("build", name, args) | {"available_kv_bytes": budget}
    return question | ({"more_ranks": ends} if min(stages, width, replicas) > 0 else {})


def questions_of(models: Mapping[str, Config]) -> dict[str, list[Row]]:
    """The questions of each file."""
    verdicts = (row_question("verdict", *asked) for asked in verdict_questions(models))
    builds = (build_question(*asked) for asked in build_questions(models))
    groups = (
        row_question("groups", name, args)
        for name, grouped in (("smooth-moe", False), ("smooth-dense", True))
        for args in small_layouts(MOST_RANKS, grouped=grouped)
    )
    wide = (
        row_question("groups", "wide-moe", args)
        for args in small_layouts(WIDE_RANKS, grouped=False)
        if ranks(args) > MOST_RANKS and WIDE_HEADS % args.get(TP, 1) == 0
    )
    files: dict[str, Iterable[Row]] = {
        "verdicts": verdicts,
        "builds": builds,
        "groups": groups,
        "wide_groups": wide,
    }
    return {name: without_repeats(questions) for name, questions in files.items()}


def ranks(args: Args) -> int:
    """How many ranks a layout has."""
    return math.prod(args.get(width, 1) for width in (TP, PP, DP, PCP))


def condensed(answer: Row) -> Row:
    """How many groups each axis has, those of the first and last rank, and a hash of all."""
    groups: dict[str, list[list[int]]] = {a: sorted(g) for a, g in answer["groups"].items()}
    last = ranks(answer["args"]) - 1
    return {
        "model": answer["model"],
        "args": answer["args"],
        "counts": {axis: len(lists) for axis, lists in groups.items()},
        "first": {axis: next(g for g in lists if 0 in g) for axis, lists in groups.items()},
        "last": {axis: next(g for g in lists if last in g) for axis, lists in groups.items()},
        "sha256": hashlib.sha256(dumped(groups).encode()).hexdigest(),
    }


def record_list(python: str, record: Record, script: str) -> None:
    """Writes a list that a script finds in vLLM: options, metrics, fields, types of models."""
    # The contract's tables lie in the package, whose wheel has to carry them.
    tables = {"flags": CONTRACT_FLAGS, "metrics": CONTRACT_METRICS, "model_types": MODEL_TYPES}
    theirs = tables if record.is_contract else {}
    target = theirs.get(script, record.target / f"{script}.json")
    command = [python, str(HERE / f"{script}.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    target.write_text(done.stdout, "utf-8")
    print(f"{target.name}: vLLM {record.release}", file=sys.stderr, flush=True)


def record_answers(python: str, record: Record) -> None:
    """Writes what the CPU build says, and the configs that were made for it."""
    on_file = published()
    made = made_models(MADE_OF_EACH_FAMILY) | odd_models()
    smooth = smooth_models(on_file)
    rows = ({"name": name, "config": config} for name, config in (made | smooth).items())
    record.written("configs.jsonl", rows)
    with tempfile.TemporaryDirectory() as place:
        interview = Interview(python=python, folder=Path(place))
        for name, config in (on_file | made | smooth).items():
            interview.folder.joinpath(f"{name}.json").write_text(json.dumps(config), "utf-8")
        for name, questions in questions_of(on_file | made).items():
            if name in record.files:
                found = interview.answers(record.drawn(name, questions))
                found = map(condensed, found) if name == "wide_groups" else found
                record.written(f"{name}.jsonl", found)
    if not record.is_contract:
        record.written("left_out.jsonl", interview.left_out)


def record_deployed(python: str, record: Record) -> None:
    """Writes what CUDA's platform says, and the configs that were made for it."""
    asked = record.drawn("deployed_builds", deployed_questions())
    configs = ({"name": row["model"], "config": row["config"]} for row in asked)
    record.written("deployed_configs.jsonl", configs)
    with tempfile.TemporaryDirectory() as place:
        interview = Interview(python=python, folder=Path(place), script="cuda_ask.py")
        record.written("deployed_builds.jsonl", deployed_rows(interview, asked))


def main() -> None:
    """Records every file."""
    record = Record.of(sys.argv[1:], os.environ)
    record.target.mkdir(parents=True, exist_ok=True)
    python = engine(record.release)
    for script in ("flags", "metrics", "bench_fields", "model_types"):
        if script in record.files:
            record_list(python, record, script)
    if record.files & {"verdicts", "builds", "groups", "wide_groups"}:
        record_answers(python, record)
    if "deployed_builds" in record.files:
        record_deployed(python, record)


if __name__ == "__main__":
    main()
