"""Plants faults in what the site is made of, one at a time; the build or a test has to find each.

    python -m scripts.doc_mutants [--draw 8 [--seed 1]] [words of names]

Run by `make doc-mutants`. A mutant is data in `scripts/doc_mutants/<kind>.toml`; it counts as
caught only where what catches it says so in the words of `says`. A run that is not drawn writes
down who caught what, for the page that shows it: each outcome at once, so that a run that is ended
early has lost none.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scripts.doc_faults import BUILD, Mutant, read_mutants
from scripts.doc_trees import AT_ONCE, Said, Tree
from scripts.drawn import drawn

RESULT: Final = Path(__file__).resolve().parent / "site" / "doc_mutants.json"
# Of those caught by a build that read some pages again, these many are built whole too, always the
# same ones of the same list; of drawn ones none.
MOST_COMPARED: Final = 4
ONE_OF: Final = 4
SEED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    caught: bool
    said: Said
    seconds: float

    def __str__(self) -> str:
        how = f"caught by {self.said.by}" if self.caught else f"SURVIVED: {self.said}"
        return f"{self.mutant.kind:<28} {self.mutant.name:<44} {how} ({self.seconds:.1f} s)"


def outcome(mutant: Mutant, tree: Tree) -> Outcome:
    """Plant it, and ask who has to catch it; a build that reads little is asked first."""
    start = time.monotonic()
    with tree.planted(mutant):
        said = tree.asked(mutant)
        if not mutant.caught(said) and said.shortened:
            said = tree.asked(replace(mutant, whole=True))
    seconds = time.monotonic() - start
    return Outcome(mutant=mutant, caught=mutant.caught(said), said=said, seconds=seconds)


def differences(outcomes: Sequence[Outcome], trees: queue.Queue[Tree], count: int) -> list[str]:
    """So many mutants once more, built whole: the complaints have to be the same."""
    short = [one for one in outcomes if one.caught and one.said.shortened]
    some = random.Random(SEED).sample(short, min(count, len(short)))

    def compare(one: Outcome) -> str:
        tree = trees.get()
        with tree.planted(one.mutant):
            whole = tree.asked(replace(one.mutant, whole=True))
        trees.put(tree)
        wrong = whole.complaints ^ one.said.complaints
        print(
            f"{label(one.mutant)} built whole: {'OTHER' if wrong else 'same'} complaints",
            flush=True,
        )
        lines = [
            f"{'whole' if line in whole.complaints else 'short'}: {line}" for line in sorted(wrong)
        ]
        return "\n  ".join([label(one.mutant), *lines]) if lines else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [text for text in pool.map(compare, some) if text]
    print(f"{len(some)} builds repeated whole, {len(some) - len(found)} with the same complaints")
    return found


def run_all(
    mutants: Sequence[Mutant], keep: Callable[[Outcome], None], compared: int
) -> tuple[list[Outcome], list[str]]:
    """Every mutant, in as many trees as there are cores for, and what is wrong besides."""
    trees: queue.Queue[Tree] = queue.Queue()

    def one(mutant: Mutant) -> Outcome:
        tree = trees.get()
        try:
            found = outcome(mutant, tree)
        finally:
            trees.put(tree)
        print(found, flush=True)
        keep(found)
        return found

    with tempfile.TemporaryDirectory(prefix="doc-mutants-") as folder, ExitStack() as stack:
        sheets = Path(folder, "sheets")
        made = [Tree.of(Path(folder, str(number)), stack, sheets) for number in range(AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            tests = sorted({one.by for one in mutants if one.by != BUILD})
            asked = [
                tests,
                *[[]] * (AT_ONCE - 1),
            ]  # the trees are alike: one run of the tests will do
            faults = [text for text in pool.map(Tree.ready, made, asked) if text]
            if faults:
                return [], faults
            for tree in made:
                trees.put(tree)
            outcomes = list(pool.map(one, mutants))
        return outcomes, differences(outcomes, trees, compared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Where outcomes are written down, and the faults that are listed."""

    every: Sequence[Mutant]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, outcome: Outcome) -> None:
        """Write one down; the file is whole at every moment."""
        with self.lock:
            beside = RESULT.with_suffix(".part")
            beside.write_text(written([outcome], self.every), "utf-8")
            beside.replace(RESULT)


def written(outcomes: Sequence[Outcome], every: Sequence[Mutant]) -> str:
    """Who caught what, for the site: earlier results stay, but for faults that are no more."""
    before: dict[str, str] = {}
    if RESULT.is_file():
        before = json.loads(RESULT.read_text("utf-8"))["caught_by"]
    asked = {label(one.mutant): one.said.by for one in outcomes if one.caught}
    missed = {label(one.mutant) for one in outcomes if not one.caught}
    known = {label(one) for one in every} - missed
    rows = {name: by for name, by in sorted((before | asked).items()) if name in known}
    return json.dumps({"caught_by": rows}, indent=1, ensure_ascii=False) + "\n"


def label(mutant: Mutant) -> str:
    """Its name among those of all kinds."""
    return f"{mutant.kind}/{mutant.name}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults in the site; the checks catch each.")
    parser.add_argument("words", nargs="*", help="run those with one of these words in the name")
    parser.add_argument("--draw", type=int, help="run so many, drawn by a seed")
    parser.add_argument("--seed", type=int, help="the seed to draw by")
    given = parser.parse_args()
    start = time.monotonic()
    every = read_mutants()
    named = [one for one in every if not given.words or one.has_word(given.words)]
    mutants = drawn(named, given.draw, given.seed, "doc-mutants")
    keep = Record(every=every).keep if given.draw is None else lambda _: None
    compared = 0 if given.draw else min(MOST_COMPARED, -(-len(mutants) // ONE_OF))
    outcomes, faults = run_all(mutants, keep, compared)
    survived = [one for one in outcomes if not one.caught]
    caught = len(outcomes) - len(survived)
    kinds = len({one.mutant.kind for one in outcomes})
    seconds = time.monotonic() - start
    print(f"\n{len(outcomes)} faults of {kinds} kinds in {seconds:.0f} s: {caught} caught")
    for text in (*map(str, survived), *faults):
        print("NOT CAUGHT" if not faults else "WRONG", text)
    return 1 if survived or faults or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
