"""What of the package a browser needs: modules that the planner's answers reach, and their data."""

from __future__ import annotations

import ast
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = "vllm_parallel"
SOURCE: Final = Path(__file__).parents[2] / "src" / PACKAGE
ENTRY: Final = f"{PACKAGE}.planned.answering"
# Their modules are imported by name, as a model asks for them.
BY_NAME: Final = ("catalog/families", "catalog/towers")
DATA: Final = ("catalog", "engine")  # their JSON files are read beside their modules
UNREAD: Final = ("registered.json",)  # of readers of metrics
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the archive is the same at every build


def modules(source: Path = SOURCE, entry: str = ENTRY) -> dict[str, Path]:
    """Every module that an entry imports in the end, lazily too, by its dotted name."""
    found: dict[str, Path] = {}
    waiting = [entry, *_by_name(source)]
    while waiting:
        name = waiting.pop()
        path = _path(source, name)
        if path is None or name in found:
            continue
        found[name] = path
        waiting.append(name.rpartition(".")[0])
        waiting += imported(path.read_text("utf-8"))
    return dict(sorted(found.items()))


def imported(text: str) -> Iterator[str]:
    r"""Dotted names that a module imports, wherever it does so; a name may be one of a module.

    >>> sorted(imported("def f():\n    from vllm_parallel.kv import cache"))
    ['vllm_parallel.kv', 'vllm_parallel.kv.cache']
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def archive() -> bytes:
    """The modules and the catalog's facts, zipped."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for path in sorted({*modules().values(), *_data()}):
            name = path.relative_to(SOURCE.parent).as_posix()
            entry = zipfile.ZipInfo(name, EPOCH)
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def archive_name() -> str:
    """The file's name, which changes with what it holds: a browser keeps no old one.

    >>> archive_name().endswith(".zip")
    True
    """
    return f"{PACKAGE}-{hashlib.sha256(archive()).hexdigest()[:12]}.zip"


def _path(source: Path, name: str) -> Path | None:
    """The file of a module of the package, None if the name is of something else."""
    head, *rest = name.split(".")
    if head != PACKAGE:
        return None
    folder = source.joinpath(*rest)
    for path in (folder / "__init__.py", folder.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def _by_name(source: Path) -> Iterator[str]:
    for folder in BY_NAME:
        for path in sorted((source / folder).glob("*.py")):
            yield ".".join(path.relative_to(source.parent).with_suffix("").parts)


def _data() -> Iterator[Path]:
    for folder in DATA:
        top = SOURCE / folder
        yield from (path for path in top.rglob("*.json") if path.name not in UNREAD)
