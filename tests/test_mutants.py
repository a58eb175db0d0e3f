"""The list of planted faults fits the source as it is; `make mutants` runs them."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Final

from scripts.mutants import (
    OF_CACHES,
    OF_PARTS,
    OF_RULES,
    OF_SEARCH,
    PACKAGE,
    ROOT,
    STAGES,
    USUAL,
    Mutant,
    read_mutants,
)
from tests.test_floors import FLOORS, KERNEL

MUTANTS: Final = read_mutants()
NO_SUMS: Final = ("__init__.py", "errors.py", "provenance.py")  # words, and files that gather names
CONFIG_READERS: Final = ("families/*.py", "keys.py", "models.py", "rope.py")


def source_of(mutant: Mutant) -> str:
    return (ROOT / PACKAGE / mutant.file).read_text("utf-8")


def test_every_text_occurs_once() -> None:
    stale = [
        f"{mutant.file}: the text of {mutant.name} occurs {count} times; follow it or replace it"
        for mutant in MUTANTS
        if (count := source_of(mutant).count(mutant.old)) != 1
    ]
    assert not stale, "\n".join(stale)


def test_every_edit_changes_what_runs() -> None:
    """A mutant is still Python, and more than a comment or a docstring differs."""
    for mutant in MUTANTS:
        source = source_of(mutant)
        edited = mutant.planted(source)
        assert edited is not None, mutant
        assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(source)), mutant


def test_names_are_told_apart() -> None:
    names = Counter((mutant.file, mutant.name) for mutant in MUTANTS)
    edits = Counter((mutant.file, mutant.old, mutant.new) for mutant in MUTANTS)
    assert [name for name, count in names.items() if count > 1] == []
    assert [edit for edit, count in edits.items() if count > 1] == []


def kernel_files() -> set[str]:
    """Floors 0 to 7, and what reads a config into their nouns."""
    package = ROOT / PACKAGE
    lower = [name for name, floor in FLOORS.items() if floor <= KERNEL]
    files = [path for name in lower for path in package.glob(f"{name}.py")]
    files += [path for name in lower for path in package.glob(f"{name}/**/*.py")]
    files += [path for pattern in CONFIG_READERS for path in (package / "catalog").glob(pattern)]
    return {path.relative_to(package).as_posix() for path in files if path.name not in NO_SUMS}


def test_every_kernel_file_has_a_mutant() -> None:
    kernel = kernel_files()
    assert {"kv/groups.py", "constraints/load.py", "catalog/families/latent.py"} <= kernel
    assert kernel - {mutant.file for mutant in MUTANTS} == set()
    assert len(MUTANTS) >= 60


def test_every_named_test_is_there() -> None:
    named = [name for stage in STAGES.values() for name in stage if name.startswith("tests/")]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > 10
    rules = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/constraints/test_*.py")}
    assert rules - set(named) == set()
    for stages in (USUAL, OF_RULES, OF_CACHES, OF_PARTS, OF_SEARCH):
        assert sorted(stages) == sorted(STAGES)
