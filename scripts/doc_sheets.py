"""What the site shows of the catalog's models, worked out once for many builds of like sources."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.copies import environment

VARIABLE: Final = "MODEL_SHEETS"  # by which `scripts/site/model_store.py` finds them
MADE_OF: Final = "made-of"
SITE: Final = Path("scripts", "site")
SCRIPT: Final = "model_sheets"
IMPORT: Final = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
# Deals the models as a build does.
FILL: Final = """
import sys
import model_store as store
writers = [store.writer(sys.argv[1], share) for share in store.shares(store.all_names(), 2)]
sys.exit(any([writer.wait() for writer in writers]))
"""


def fill(project: Path, folder: Path) -> None:
    """Work them out for a project as it is."""
    folder.mkdir()
    surroundings = environment(project)
    surroundings["PYTHONPATH"] += f"{os.pathsep}{project / SITE}"
    subprocess.run([sys.executable, "-c", FILL, folder], cwd=project, env=surroundings, check=True)
    (folder / MADE_OF).write_text(made_of(project), "utf-8")


def use(project: Path) -> None:
    """Let a build in this process take those that are there, if they are of its sources."""
    folder = os.environ.get(VARIABLE)
    if folder and Path(folder, MADE_OF).read_text("utf-8") != made_of(project):
        del os.environ[VARIABLE]


def made_of(project: Path) -> str:
    """A digest of all that they come from: the package, and the site's modules that write them."""
    digest = hashlib.sha256()
    for path in sorted({*_package(project), *_modules(project / SITE)}):
        digest.update(f"{path.relative_to(project)}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _package(project: Path) -> Iterator[Path]:
    for path in (project / "src").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            yield path


def _modules(site: Path) -> set[Path]:
    """The script, and what it imports of its neighbours."""
    found: set[Path] = set()
    waiting = [SCRIPT, "model_store"]
    while waiting:
        path = site / f"{waiting.pop()}.py"
        if path.is_file() and path not in found:
            found.add(path)
            waiting += IMPORT.findall(path.read_text("utf-8"))
    return found
