"""Copies of the project as it is now, and sites built in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
NOT_COPIED: Final = frozenset({".git", ".venv", "build", "dist", "site"})
FETCHED: Final = Path("build", "pyodide")  # what the site shows goes by whether it is there
QUIET: Final = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


def copy_project(folder: Path) -> None:
    """All files but what is built, installed or compiled; Python for browsers, if it is there."""
    folder.mkdir(parents=True)
    bare = shutil.ignore_patterns("__pycache__", "*_cache")
    for path in ROOT.iterdir():
        if path.name in NOT_COPIED or path.name.endswith("_cache"):
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, ignore=bare)
        else:
            shutil.copy2(path, folder)
    if (ROOT / FETCHED).is_dir():
        shutil.copytree(ROOT / FETCHED, folder / FETCHED)


def environment(folder: Path) -> dict[str, str]:
    """That of a program in a copy, which imports the copy's package."""
    return os.environ | QUIET | {"PYTHONPATH": str(folder / "src")}


def build_site(folder: Path, site: Path, other: Mapping[str, str] | None = None) -> bool:
    """Whether the site of a copy can be built, strictly; what is said is shown."""
    mkdocs = Path(sys.executable).with_name("mkdocs")
    command = [str(mkdocs), "build", "--strict", "--site-dir", str(site)]
    surroundings = environment(folder) | dict(other or {})
    return subprocess.run(command, cwd=folder, env=surroundings, check=False).returncode == 0
