"""Fetch Pyodide once, by npm, for the planner: CPython as WebAssembly, served by the site itself.

Run by `make pyodide`; `make site` asks for it with `--if-possible` and goes on without it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "314.0.7"  # CPython 3.14
# Of the package's archive, as npm writes it into lock files.
INTEGRITY: Final = (
    "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq"
    "+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
FILES: Final = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json",
)  # fmt: skip
ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "pyodide"
MARKER: Final = "fetched"
NPM: Final = (
    "npm", "pack", f"pyodide@{VERSION}", "--json", "--ignore-scripts", "--fetch-retries=1",
    "--fetch-timeout=60000", "--pack-destination",
)  # fmt: skip
SECONDS: Final = 300


class NotFetchedError(Exception):
    """Why there is no Pyodide, as a sentence."""


def is_fetched(folder: Path = FOLDER) -> bool:
    """Whether the pinned Pyodide lies there, whole."""
    marker = folder / MARKER
    return marker.is_file() and marker.read_text("utf-8") == INTEGRITY


def files() -> list[Path]:
    """The files to serve, none where it was not fetched."""
    return [FOLDER / name for name in FILES] if is_fetched() else []


def fetch(folder: Path = FOLDER) -> None:
    """Put the pinned Pyodide into a folder.

    Raises:
        NotFetchedError: npm is not there, cannot reach its registry, or brings another archive.
    """
    if shutil.which("npm") is None:
        raise NotFetchedError("npm is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        archive = _packed(Path(scratch))
        check(archive.read_bytes())
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tarfile.open(archive) as packed:
            for name in FILES:
                source = packed.extractfile(f"package/{name}")
                if source is None:
                    raise NotFetchedError(f"the archive has no {name}")
                (folder / name).write_bytes(source.read())
    (folder / MARKER).write_text(INTEGRITY, "utf-8")


def check(archive: bytes) -> None:
    """Pass if an archive is the pinned one.

    Raises:
        NotFetchedError: it is another.
    """
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode("ascii")
    if found != INTEGRITY:
        raise NotFetchedError(f"npm brought {found}, and {INTEGRITY} is pinned")


def _packed(folder: Path) -> Path:
    """The archive as npm has put it into the folder."""
    try:
        done = subprocess.run(
            [*NPM, str(folder)], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFetchedError(f"npm did not answer ({error.__class__.__name__})") from None
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "no reason given")
        raise NotFetchedError(f"npm could not fetch it: {said.strip()}")
    return folder / str(json.loads(done.stdout)[0]["filename"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--if-possible", action="store_true", help="succeed without it, and say so")
    given = parser.parse_args()
    if is_fetched():
        return 0
    try:
        fetch()
    except NotFetchedError as error:
        print(f"PYODIDE WAS NOT FETCHED: {error}. The planner will say that it cannot run configs.")
        return 0 if given.if_possible else 1
    print(f"Pyodide {VERSION} is in {FOLDER.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
