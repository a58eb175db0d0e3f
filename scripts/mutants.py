"""Plants small faults in the kernel, one at a time; the fast tests have to find each.

    python -m scripts.mutants [--draw 8 [--seed 1]] [words of names]

Run by `make mutants`. A mutant is data in `scripts/mutants/*.toml`: under the name of a file of the
package and its own, a text that occurs there exactly once, and what takes its place. Source and
tests are copied first, so both may be edited meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.drawn import drawn

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = Path("src", "vllm_parallel")
LISTS: Final = Path(__file__).resolve().with_suffix("")
ANSWERS: Final = (  # of vLLM
    "tests/oracle/test_recorded.py",
    "tests/oracle/recorded",
    "tests/oracle/parts",
    "tests/oracle/test_families_recorded.py",
    "tests/oracle/test_mixers_recorded.py",
    "tests/oracle/test_quantised_recorded.py",
    "tests/test_deployed_verdicts.py",
)
STAGES: Final[dict[str, tuple[str, ...]]] = {
    "builds": ("-k", "not verdict", *ANSWERS),
    "verdicts": ("-k", "verdict", *ANSWERS),
    "rules": (
        *("tests/constraints/test_rules.py", "tests/constraints/test_order.py"),
        *("tests/constraints/test_corners.py", "tests/constraints/test_known.py"),
        *("tests/constraints/test_memory_rules.py", "tests/constraints/test_doors.py"),
    ),
    "sums": (
        *("tests/test_layout.py", "tests/test_ledger.py"),
        *("tests/test_verdict.py", "tests/test_catalog.py", "tests/test_answers.py"),
        *(
            "tests/test_families.py",
            "tests/test_many_families.py",
            "tests/test_catalog_refusals.py",
            "tests/test_quantisation.py",
            "tests/test_quantised_configs.py",
            "tests/test_sparse.py",
            "tests/test_towers.py",
            "tests/test_adapters.py",
            "tests/test_drafts.py",
        ),
        *(
            *("tests/test_deployment.py", "tests/test_frozen.py"),
            "tests/test_mixers.py",
            "tests/test_catalog_sources.py",
        ),
        *("tests/graph", "tests/test_ranks.py", "tests/test_placement.py"),
        *("tests/test_collectives.py", "tests/test_price.py", "tests/test_load.py"),
    ),
    "parts": ("tests/test_overhead.py",),
    "caches": ("tests/caches", "tests/test_kv.py"),
    "search": ("tests/test_search.py", "tests/test_planned.py"),
}
# The stage that is likeliest to catch a mutant is asked first: most end there.
USUAL: Final = ("builds", "sums", "verdicts", "rules", "caches", "parts", "search")
OF_RULES: Final = ("verdicts", "rules", "builds", "sums", "caches", "parts", "search")
OF_CACHES: Final = ("caches", "builds", "sums", "rules", "verdicts", "parts", "search")
OF_PARTS: Final = ("parts", "sums", "builds", "verdicts", "rules", "caches", "search")
OF_SEARCH: Final = ("search", "sums", "builds", "verdicts", "rules", "caches", "parts")
PYTEST: Final = (
    *("-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
    *("-o", "addopts=--strict-markers --strict-config --import-mode=importlib"),
)
FOUND: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
PASSED, FAILED, NOT_COLLECTED = range(3)  # pytest's exit codes
LONGEST_NAME: Final = 100
LONGEST_SECONDS: Final = 120.0
AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit of one file of the package."""

    name: str
    file: str
    old: str
    new: str

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of tests, in the order in which they are asked."""
        if self.file.startswith(("overhead/", "term.")):
            return OF_PARTS
        if self.file.startswith("kv/"):
            return OF_CACHES
        if self.file.startswith(("search.", "starting.")):
            return OF_SEARCH
        return OF_RULES if self.file.startswith("constraints/") else USUAL

    def planted(self, source: str) -> str | None:
        """The source with the edit, None if the text does not occur exactly once."""
        return source.replace(self.old, self.new) if source.count(self.old) == 1 else None


def read_mutants() -> list[Mutant]:
    """Every mutant, in the order of the lists."""
    return [
        Mutant(name=name, file=file, **edit)
        for path in sorted(LISTS.glob("*.toml"))
        for file, edits in tomllib.loads(path.read_text("utf-8")).items()
        for name, edit in edits.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a mutant; `test` is the first one that failed."""

    mutant: Mutant
    seconds: float = 0.0
    test: str | None = None
    fault: str | None = None

    def __str__(self) -> str:
        said = f"caught by {(self.test or '')[:LONGEST_NAME]}" if self.fault is None else self.fault
        return f"{self.mutant.file:<28} {self.mutant.name:<36} {said} ({self.seconds:.1f} s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A copy of the source and the tests, and the folder where edited copies are made."""

    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Bench:
        """The copy, as the tree is now."""
        bare = shutil.ignore_patterns("__pycache__")
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=bare)
        shutil.copy2(ROOT / "pyproject.toml", folder)
        return cls(folder=folder)

    def run_tests(self, stage: str, source: Path) -> subprocess.CompletedProcess[str]:
        """The tests of one stage on this source."""
        return subprocess.run(
            [sys.executable, *PYTEST, *STAGES[stage]],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )

    def passes(self) -> bool:
        """Whether the tests pass without any edit; what they compile is kept for the copies."""
        for stage in STAGES:
            run = self.run_tests(stage, self.folder / "src")
            if run.returncode != PASSED:
                print(run.stdout, run.stderr, "The tests fail without any mutant.", sep="\n")
                return False
        return True

    def outcome(self, mutant: Mutant) -> Outcome:
        """Edit a copy of the source, and ask the tests."""
        path = self.folder / PACKAGE / mutant.file
        source = mutant.planted(path.read_text("utf-8")) if path.is_file() else None
        if source is None:
            return Outcome(mutant=mutant, fault="STALE: its text does not occur exactly once")
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            shutil.copytree(self.folder / PACKAGE.parent, folder, dirs_exist_ok=True)
            edited = Path(folder) / PACKAGE.name / mutant.file
            edited.write_text(source, "utf-8")
            for compiled in edited.parent.glob(f"__pycache__/{edited.stem}.*.pyc"):
                compiled.unlink()
            test, fault = self._judge(mutant, Path(folder))
        seconds = time.monotonic() - start
        return Outcome(mutant=mutant, seconds=seconds, test=test, fault=fault)

    def _judge(self, mutant: Mutant, source: Path) -> tuple[str | None, str | None]:
        """The test that failed, or what is wrong."""
        for stage in mutant.stages:
            try:
                run = self.run_tests(stage, source)
            except subprocess.TimeoutExpired:
                return None, f"TIMED OUT in the {stage}"
            if run.returncode == PASSED:
                continue
            found = FOUND.search(run.stdout)
            if run.returncode in (FAILED, NOT_COLLECTED) and found is not None:
                return found[1], None
            said = " ".join((run.stdout + run.stderr).split())
            return None, f"UNCLEAR in the {stage}: {said[-300:]}"
        return None, "SURVIVED"


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    """The mutants to run: all, those with certain words in their names, or some drawn ones."""
    words: list[str] = arguments.words
    mutants = [
        mutant
        for mutant in read_mutants()
        if not words or any(word in f"{mutant.file}:{mutant.name}" for word in words)
    ]
    return drawn(mutants, arguments.draw, arguments.seed, "mutants")


def run_all(mutants: Sequence[Mutant]) -> int:
    """Every mutant, two at a time; 1 if one is not caught."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench.of(Path(folder))
        if not bench.passes():
            return 1
        outcomes = []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for outcome in pool.map(bench.outcome, mutants):
                print(outcome, flush=True)
                outcomes.append(outcome)
    faults = [outcome for outcome in outcomes if outcome.fault is not None]
    answers = sum((outcome.test or "").startswith(ANSWERS) for outcome in outcomes)
    print(
        f"\n{len(outcomes)} mutants in {time.monotonic() - start:.0f} s: "
        f"{len(outcomes) - len(faults)} caught, {answers} of them by recorded answers"
    )
    for outcome in faults:
        print("NOT CAUGHT", outcome)
    return 1 if faults or not outcomes else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults in the kernel; tests catch each.")
    parser.add_argument("words", nargs="*", help="run those with one of these words in the name")
    parser.add_argument("--draw", type=int, help="run so many, drawn by a seed")
    parser.add_argument("--seed", type=int, help="the seed to draw by")
    return run_all(chosen(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
