"""Copies of the small site, and the process that builds them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MINI = Path(__file__).parent / "mini"
MINI_NAV = "nav: [index.md, guide/estimate.md, api.md]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """How a build ended, what it said, and where the site is."""

    code: int
    output: str
    site: Path

    def page(self, name: str) -> str:
        """HTML of one built page."""
        return (self.site / name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Builder:
    """The build server at work."""

    process: subprocess.Popen[str]

    def build(self, folder: Path, site: Path, *arguments: str) -> Built:
        """Run `mkdocs build` in a folder."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        log = site.with_suffix(".log")
        call = ["build", "--site-dir", str(site), *arguments]
        print(json.dumps([str(folder), str(log), call]), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        return Built(code=code, output=log.read_text(encoding="utf-8"), site=site)


@contextmanager
def build_server() -> Iterator[Builder]:
    """A running build server."""
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    script = Path(__file__).with_name("build_server.py")
    with (
        tempfile.TemporaryDirectory() as templates,
        subprocess.Popen(
            [sys.executable, script, templates],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **quiet},
        ) as process,
    ):
        yield Builder(process)


def copy_mini(folder: Path) -> None:
    """Lay out the small site: the project's own settings, hooks and style, and three pages."""
    shutil.copytree(MINI, folder)
    for path in (ROOT / "scripts" / "site").glob("*.py"):
        if path.name != "figures.py":
            shutil.copy(path, folder / "scripts" / "site")
    shutil.copytree(ROOT / "scripts/site/theme", folder / "scripts/site/theme")
    shutil.copytree(ROOT / "docs/assets", folder / "docs/assets", dirs_exist_ok=True)
    settings, nav, _ = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")
    assert nav, "mkdocs.yml: nav must be its last key"
    (folder / "mkdocs.yml").write_text(f"{settings}\n{MINI_NAV}", encoding="utf-8")
