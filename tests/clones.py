"""Clones of this checkout, with what is not committed in it, that tests may change at will."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.shared import ROOT

WHO: Final = ("-c", "user.name=a test", "-c", "user.email=test@example.invalid")


def git(folder: Path, *words: str) -> str:
    """What git says there."""
    command = ["git", *WHO, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def clone(folder: Path) -> Path:
    """A clone whose last commit is what the checkout holds now."""
    git(ROOT, "clone", "--quiet", ".", str(folder))
    changed = git(ROOT, "diff", "HEAD", "--name-only", "--no-renames", "-z").split("\0")
    fresh = git(ROOT, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, (*changed, *fresh)):
        (folder / name).unlink(missing_ok=True)
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
            (folder / name).chmod((ROOT / name).stat().st_mode)
    git(folder, "add", "--all")
    if git(folder, "status", "--porcelain"):
        day = git(folder, "log", "-1", "--format=%cI").strip()
        words = ("-c", "commit.gpgsign=false", "commit", "--quiet", "--message=Add", "--date", day)
        dated = os.environ | {"GIT_COMMITTER_DATE": day}
        subprocess.run(["git", *WHO, *words], cwd=folder, check=True, env=dated)
    return folder


def furnish(folder: Path) -> dict[str, str]:
    """Give a clone the packages that are here installed; the environment of its commands.

    Its `.venv` has links of this one's programs, and what make compares: nothing is installed.
    """
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in (Path(sys.prefix) / "bin").iterdir():
        (programs / program.name).symlink_to(program)
    for part in ("lib", "share"):  # packages, and what Jupyter finds its kernels by
        (folder / ".venv" / part).symlink_to(Path(sys.prefix) / part)
    config = (Path(sys.prefix) / "pyvenv.cfg").read_bytes()
    (folder / ".venv" / "pyvenv.cfg").write_bytes(config)
    pins = b"".join((folder / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    (folder / ".venv" / "installed-from").write_bytes(pins)
    theirs = ("PYTEST", "MAKE")  # of the run that this test is part of
    kept = {key: value for key, value in os.environ.items() if not key.startswith(theirs)}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PYTHONPATH": str(folder / "src"), "PATH": path}
