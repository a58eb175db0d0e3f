"""Asks the real vLLM some thousand questions and writes down what it says.

    python scripts/engine/record.py [--version 0.31.0] [--sample 1500]

Answers of the release that the site is about go to tests/oracle/recorded/, its options to
src/vllm_parallel/engine/flags.json; another release's, and any sample, to build/record/<version>/.
Installs the engine if need be. The questions are the same in every run, so are the files. Needs
about fifteen minutes; nothing of the package is imported, so nothing of it can colour the answers.

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
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_questions import build_questions
from install import RELEASE
from layouts import DP, PCP, PP, TP, Args, small_layouts
from made_models import made_models
from odd_models import odd_models
from shapes import Config
from verdict_questions import verdict_questions

Row = dict[str, Any]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = ROOT / "tests" / "oracle" / "recorded"
FLAGS = ROOT / "src" / "vllm_parallel" / "engine" / "flags.json"
OTHERS = ROOT / "build" / "record"
SHELVES = (
    ROOT / "src" / "vllm_parallel" / "catalog" / "models",
    ROOT / "tests" / "oracle" / "configs",
    TARGET / "configs",
)
MADE_OF_EACH_FAMILY = 10
MOST_RANKS = 16
BATCH = 500  # questions a process: one that dies loses no more
# What a package missing beside the engine says; with it vLLM would say something else.
ENVIRONMENT = ("Failed to import Ray", "No module named", "Elastic EP with async EPLB requires")
# A child that was killed or had too little time says nothing about vLLM.
TROUBLE = ("the process died", "no answer in")
# The CPU build drops enable_dbo, after which rules of the older runner do not come first.
AFTER_DBO = ("AuxOutput", "--enable-return-routed-experts", "The moonep")
WIDE_RANKS = 64  # up to here groups are counted, and hashed
# Cuts evenly by every width up to 16, so that each layout has groups.
SMOOTH_HEADS = 720_720
WIDE_HEADS = 2_882_880  # and by 32 and 64
BUILDS_IN_SAMPLE = 7  # one for so many verdicts, as it takes so much longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run: which release is asked, how much, and where its answers go."""

    release: str
    sample: int | None
    target: Path
    left_out: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, words: list[str], environ: Mapping[str, str]) -> Record:
        """The run that a command line asks for."""
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--version", default=environ.get("VLLM_PARALLEL_RELEASE") or RELEASE)
        parser.add_argument("--sample", type=int, help="how many verdicts; all unless given")
        parser.add_argument("--out", type=Path, help="another folder for the answers")
        given = parser.parse_args(words)
        is_contract = given.version == RELEASE and given.sample is None
        target = given.out or (TARGET if is_contract else OTHERS / given.version)
        return cls(release=given.version, sample=given.sample, target=target.absolute())

    @property
    def is_contract(self) -> bool:
        """Whether the answers are those that the tests hold the package against."""
        return self.target == TARGET

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


def without_repeats(questions: Iterable[Row]) -> list[Row]:
    """The questions in the order of their text, each once."""
    return [json.loads(text) for text in sorted({dumped(question) for question in questions})]


def dumped(row: Row) -> str:
    """A row as its line."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def engine(release: str) -> str:
    """The python of the engine's venv, installed if it is not."""
    command = [sys.executable, str(HERE / "install.py"), "--version", release]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def asked(python: str, folder: Path, questions: list[Row]) -> list[Row]:
    """The answers of one process, in the order of the questions.

    Raises:
        SystemExit: the process ended before it had answered all, or a child of it was killed.
    """
    lines = folder / "questions.jsonl"
    lines.write_text("".join(f"{dumped(question)}\n" for question in questions), "utf-8")
    with lines.open("rb") as source, (folder / "errors").open("wb") as errors:
        command = [python, str(HERE / "ask.py")]
        done = subprocess.run(
            command, stdin=source, stdout=subprocess.PIPE, stderr=errors, cwd=folder, check=False
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    trouble = [row for row in answers if (row.get("message") or "").startswith(TROUBLE)]
    if trouble:
        raise SystemExit(f"start again on a quieter machine: {dumped(trouble[0])}")
    if len(answers) != len(questions):
        tail = (folder / "errors").read_text("utf-8", "replace")[-2000:]
        raise SystemExit(f"{len(answers)} answers to {len(questions)} questions:\n{tail}")
    return answers


def is_comparable(answer: Row) -> bool:
    """Whether another machine, and CUDA, would answer the same."""
    if "error" in answer:
        return False
    blind = ENVIRONMENT + (AFTER_DBO if answer["args"].get("enable_dbo") else ())
    return not (answer.get("message") or "").startswith(blind)


def answers(python: str, folder: Path, questions: list[Row], left_out: list[Row]) -> Iterator[Row]:
    """The comparable answers, with progress on stderr; the others are put into `left_out`."""
    start = time.monotonic()
    for first in range(0, len(questions), BATCH):
        batch = questions[first : first + BATCH]
        for question, answer in zip(batch, asked(python, folder, batch), strict=True):
            if is_comparable(answer):
                yield {key: answer[key] for key in answer if key not in ("id", "ask", "as_bf16")}
            else:
                left_out.append(question | {"said": answer.get("error") or answer["message"]})
        count, seconds = min(first + BATCH, len(questions)), time.monotonic() - start
        progress = f"{count} of {len(questions)} in {seconds:.0f} s, {len(left_out)} not comparable"
        print(progress, file=sys.stderr, flush=True)


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


def record_flags(python: str, record: Record) -> None:
    """Writes the options of vLLM's commands."""
    # The contract's table lies in the package, whose wheel has to carry it.
    target = FLAGS if record.is_contract else record.target / "flags.json"
    command = [python, str(HERE / "flags.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    target.write_text(done.stdout, "utf-8")
    print(f"{target.name}: vLLM {record.release}", file=sys.stderr, flush=True)


def main() -> None:
    """Records every file."""
    record = Record.of(sys.argv[1:], os.environ)
    record.target.mkdir(parents=True, exist_ok=True)
    python = engine(record.release)
    record_flags(python, record)
    on_file = published()
    made = made_models(MADE_OF_EACH_FAMILY) | odd_models()
    smooth = smooth_models(on_file)
    rows = ({"name": name, "config": config} for name, config in (made | smooth).items())
    record.written("configs.jsonl", rows)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, config in (on_file | made | smooth).items():
            (folder / f"{name}.json").write_text(json.dumps(config), "utf-8")
        for name, questions in questions_of(on_file | made).items():
            drawn = record.drawn(name, questions)
            found = answers(python, folder, drawn, record.left_out)
            found = map(condensed, found) if name == "wide_groups" else found
            record.written(f"{name}.jsonl", found)
    if not record.is_contract:
        record.written("left_out.jsonl", record.left_out)


if __name__ == "__main__":
    main()
