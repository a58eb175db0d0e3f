"""`make site` replaces the site only by a whole one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PINS: Final = ("pyproject.toml", "constraints.txt")
# Instead of mkdocs; `$4` is the folder it is told to build in.
BUILDS: Final = {
    "fails": 'mkdir -p "$4" && echo half > "$4/index.html" && exit 1',
    "is killed": 'mkdir -p "$4" && echo half > "$4/index.html" && kill -9 $$',
    "ends early": 'mkdir -p "$4" && echo half > "$4/index.html"',
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Makefile, an environment that has been installed, and a site of before."""
    for name in ("Makefile", *PINS):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    pins = "".join((ROOT / name).read_text("utf-8") for name in PINS)
    (tmp_path / ".venv" / "installed-from").write_text(pins, "utf-8")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("before\n", "utf-8")
    return tmp_path


def made(checkout: Path, build: str) -> int:
    """Exit code of `make site` with such a build."""
    for name, script in {"mkdocs": f"touch asked\n{build}", "python": "exit 0"}.items():
        program = checkout / ".venv" / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        program.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        ["make", "site"], cwd=checkout, env=clean, capture_output=True, text=True, check=False
    )
    assert (checkout / "asked").is_file(), run.stderr
    return run.returncode


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_a_build_that_does_not_end_well_leaves_the_site_as_it_was(
    build: str, checkout: Path
) -> None:
    assert made(checkout, build) != 0
    assert [path.name for path in (checkout / "site").iterdir()] == ["index.html"]
    assert (checkout / "site" / "index.html").read_text("utf-8") == "before\n"


def test_a_whole_one_takes_its_place(checkout: Path) -> None:
    build = 'mkdir -p "$4" && echo after > "$4/index.html" && touch "$4/build-complete"'
    assert made(checkout, build) == 0
    assert sorted(path.name for path in (checkout / "site").iterdir()) == [
        "build-complete",
        "index.html",
    ]
    assert (checkout / "site" / "index.html").read_text("utf-8") == "after\n"
    assert not list((checkout / "build").iterdir())
