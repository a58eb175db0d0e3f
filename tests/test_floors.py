"""Imports of the package go downward only, and its kernel knows no files, formats or printing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).parents[1] / "src" / "vllm_parallel"
PACKAGE: Final = "vllm_parallel"

FLOOR_NAMES: Final = (
    "frozen",
    "units errors provenance",
    "dtype",
    "methods mixer positions extras scheme tower",
    "term",
    "block",
    "model layout cluster settings",
    "weight",
    "layers",
    "graph ranks deployment",
    "cuts",
    "kv",
    "constraints shard",
    "adapters collectives overhead",
    "ledger",
    "price",
    "load",
    "verdict",
    "starting outcome",
    "search",
    "files symptoms json_text version",
    "catalog engine",
    "runs",
    "compare",
    "render",
    "steps",
    "question",
    "answers",
    "review layouts reports",  # commands in place of questions, answered alike
    "planned",
    "call",
    "cli",  # speaks the JSON of answers, so it stands above them
    "__init__ __main__",  # the doors to the street
)
FLOORS: Final = {name: floor for floor, names in enumerate(FLOOR_NAMES) for name in names.split()}
KERNEL: Final = FLOORS["search"]
FLOOR: Final = re.compile(r" \(floor \d+\)")
ON_ONE_FLOOR: Final = {("units", "errors")}  # the ground: errors first
FILES_AND_FORMATS: Final = {
    "csv", "fileinput", "glob", "importlib", "io", "json", "logging", "os", "pathlib", "pickle",
    "pprint", "shutil", "socket", "subprocess", "sys", "tempfile", "tomllib", "urllib",
}  # fmt: skip
# It reads the version, and compiles the __init__ of a class as the standard decorator does.
MAKES_CLASSES: Final = {"frozen": {"sys", "exec"}}
# What a kept library does better: formats, and Student's distribution.
LIBRARIES: Final = {
    "engine.metrics.samples": {"prometheus_client"},
    "compare.interval": {"scipy"},
}
CALLS: Final = {"print", "open", "input", "exec", "eval", "__import__", "breakpoint"}

Sources = Mapping[str, str]  # dotted name below the package, and text


def read(folder: Path) -> dict[str, str]:
    """Every module by its dotted name; `render` is the package's `__init__`."""
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if len(parts) > 1 and parts[-1] == "__init__":
            parts = parts[:-1]
        sources[".".join(parts)] = path.read_text("utf-8")
    return sources


def imported(text: str) -> Iterator[str]:
    """Dotted names that a module imports, wherever it does so; relative ones start with dots."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            if node.level:
                yield "." * node.level + (node.module or "")
            elif node.module == PACKAGE:
                yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def within(sources: Sources, module: str) -> Iterator[str]:
    """Modules of the package that a module imports, by their names below it."""
    for name in imported(sources[module]):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            below = name[len(PACKAGE) + 1 :]
            yield below if below in sources else "__init__"


def outside(sources: Sources, module: str) -> Iterator[str]:
    for name in imported(sources[module]):
        top = name.partition(".")[0]
        if top != PACKAGE:
            yield top


def upward(sources: Sources) -> Iterator[str]:
    """Imports that do not go down a floor."""
    for module in sources:
        top = module.partition(".")[0]
        if top not in FLOORS:
            yield f"{module} has no floor"
            continue
        for name in within(sources, module):
            target = name.partition(".")[0]
            if target == top or (top, target) in ON_ONE_FLOOR or target not in FLOORS:
                continue
            if FLOORS[target] >= FLOORS[top]:
                yield f"{module} (floor {FLOORS[top]}) imports {name} (floor {FLOORS[target]})"


def circular(sources: Sources) -> Iterator[str]:
    """Modules that reach themselves."""
    graph = {module: set(within(sources, module)) for module in sources}
    for module in sources:
        reached: set[str] = set()
        waiting = list(graph[module])
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += graph.get(name, ())
        if module in reached:
            yield f"{module} imports itself in the end"


def foreign(sources: Sources) -> Iterator[str]:
    """Imports that are neither the package's own, by their whole name, nor Python's."""
    for module in sources:
        for top in outside(sources, module):
            if top not in sys.stdlib_module_names | LIBRARIES.get(module, set()):
                yield f"{module} imports {top or 'by dots'}"


def talkative(sources: Sources) -> Iterator[str]:
    """Kernel modules that read, write or know a format."""
    for module, text in sources.items():
        if FLOORS.get(module.partition(".")[0], 0) > KERNEL:
            continue
        for top in outside(sources, module):
            if top in FILES_AND_FORMATS - MAKES_CLASSES.get(module, set()):
                yield f"{module} imports {top}"
        for node in ast.walk(ast.parse(text)):
            named = CALLS - MAKES_CLASSES.get(module, set())
            if isinstance(node, ast.Name) and node.id in named:
                yield f"{module} names {node.id}"


CHECKS: Final = (upward, circular, foreign, talkative)
ALL: Final = read(SOURCE)


def refuse(said: Iterator[str]) -> None:
    lines = list(said)
    assert not lines, "\n".join(lines)


def test_sources_are_found() -> None:
    """The modules that the house names; the checks below look at something."""
    assert {"units", "errors", "kv", "constraints", "catalog.models", "__init__"} <= set(ALL)
    assert sum(len(list(within(ALL, module))) for module in ALL) > 100


def test_imports_go_down() -> None:
    refuse(upward(ALL))


def test_no_cycles() -> None:
    refuse(circular(ALL))


def test_nothing_third_party() -> None:
    refuse(foreign(ALL))


def test_kernel_is_silent() -> None:
    refuse(talkative(ALL))


@pytest.mark.parametrize(
    "module, text, says",
    [
        ("units", "from vllm_parallel.errors import ParseError", None),
        ("errors", "from vllm_parallel.units import GIB", "errors imports units"),
        ("kv", "from vllm_parallel.ledger import Pool", "kv imports ledger"),
        ("kv", "import vllm_parallel.ledger as l", "kv imports ledger"),
        ("kv", "from vllm_parallel import ledger", "kv imports ledger"),
        ("kv", "from vllm_parallel import Pool", "kv imports __init__"),
        ("kv", "import vllm_parallel", "kv imports __init__"),
        ("graph", "def f():\n    from vllm_parallel.ranks import Rank", "graph imports"),
        ("shard", "from vllm_parallel.constraints.load import X", "imports constraints.load"),
        ("shard", "from vllm_parallel.constraints import check", "imports constraints"),
        ("ledger", "from vllm_parallel.constraints import check", None),
        ("kv", "from vllm_parallel.constraints import check", "kv imports constraints"),
        ("catalog.models", "from vllm_parallel.catalog.keys import Keys", None),
        ("novel", "", "novel has no floor"),
        ("catalog.keys", "from vllm_parallel.catalog import load", "catalog imports itself"),
        ("catalog.keys", "from vllm_parallel.catalog.models import x", "catalog.keys imports its"),
        ("answers", "import numpy", "answers imports numpy"),
        ("answers", "from numpy.linalg import norm", "answers imports numpy"),
        ("answers", "import prometheus_client", "answers imports prometheus_client"),
        ("engine.metrics.samples", "import prometheus_client.parser", None),
        ("compare.interval", "from scipy.special import stdtrit", None),
        ("compare.cell", "import scipy", "compare.cell imports scipy"),
        ("kv", "from . import ledger", "kv imports by dots"),
        ("answers", "import json", None),
        ("kv", "import json", "kv imports json"),
        ("verdict", "from os.path import join", "verdict imports os"),
        ("constraints.load", "import pathlib", "constraints.load imports pathlib"),
        ("kv", "import sys", "kv imports sys"),
        ("kv", "print(1)", "kv names print"),
        ("kv", "with open('x') as f: pass", "kv names open"),
        ("kv", "show = print", "kv names print"),
        ("catalog.models", "text = open('x')", None),
    ],
)
def test_each_check_can_fail(module: str, text: str, says: str | None) -> None:
    """A small package with one module replaced, and what is said of it."""
    names = "units errors ranks graph ledger kv shard constraints constraints.load catalog.keys"
    sources = dict.fromkeys([*names.split(), "answers", "verdict", "__init__"], "")
    sources["catalog.models"] = "from vllm_parallel.catalog.keys import Keys"
    sources["catalog"] = "from vllm_parallel.catalog.models import load"
    sources[module] = text
    said = [FLOOR.sub("", line) for check in CHECKS for line in check(sources)]
    assert any(says in line for line in said) if says else said == [], said
