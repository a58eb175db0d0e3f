"""Copies of the project in which `make doc-mutants` plants a fault and asks who notices."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scripts import doc_sheets
from scripts.copies import copy_project, environment
from scripts.doc_builds import ANSWER
from scripts.doc_faults import BUILD, Mutant
from vllm_parallel.runs import SEAL, sealed

AT_ONCE: Final = 2
KEPT_BARE: Final = {"PYTHONDONTWRITEBYTECODE": "1"}
PYTEST: Final = (
    *("-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"),
    *("-o", "addopts=--strict-markers --strict-config --import-mode=importlib"),
)
PASSED, FAILED = 0, 1  # pytest's exit codes
LONGEST_SECONDS: Final = 300.0
LONGEST_SAID: Final = 3000
COMPLAINT: Final = re.compile(r"^(?:WARNING|ERROR|CRITICAL) ", re.MULTILINE)
# Examples that have no session are counted as they run, and pages that are read again run later.
COUNTED: Final = re.compile(r"(?<=<code block: n)\d+|(?<=\bexec-)\d+(?=--)")
INFORMS: Final = re.compile(r"INFO |DEBUG |\[IPKernelApp\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a build or a test ended, and what it said."""

    by: str
    refused: bool
    text: str
    shortened: bool = False  # a build that read some pages again

    @property
    def complaints(self) -> frozenset[str]:
        """What it warns of and complains about, to the end of the log, by lines."""
        first = COMPLAINT.search(self.text)
        lines = [] if first is None else self.text[first.start() :].splitlines()
        said = (line.strip() for line in lines if not INFORMS.match(line))
        return frozenset(COUNTED.sub("N", line) for line in said if line)

    def __str__(self) -> str:
        return f"{self.by} {'failed' if self.refused else 'passed'}: {self.text[-1500:]}"


@dataclass(slots=True)
class Builds:
    """A process of `scripts.doc_builds`, started when it is first asked."""

    folder: Path
    mode: str
    stack: ExitStack
    sheets: Path
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait until it can build; a site that cannot be read ends it."""
        command = [sys.executable, "-m", "scripts.doc_builds", self.mode, f"{self.folder}-site"]
        log = self.stack.enter_context(Path(f"{self.folder}-{self.mode}").open("w"))  # noqa: SIM115
        self.process = self.stack.enter_context(
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment(self.folder) | KEPT_BARE | {doc_sheets.VARIABLE: str(self.sheets)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        )
        self._answer()

    def code(self, log: Path, pages: Sequence[str], *, first: bool) -> int:
        """Exit code of a build that reads these pages."""
        if self.process is None:
            self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        print(json.dumps([str(log), list(pages), first]), file=self.process.stdin, flush=True)
        return int(self._answer())

    def _answer(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(ANSWER):
                return line.removeprefix(ANSWER).strip()
        code = self.process.wait()
        said = Path(f"{self.folder}-{self.mode}").read_text("utf-8")
        first = COMPLAINT.search(said)
        why = said[first.start() :][:LONGEST_SAID] if first else said[-LONGEST_SAID:]
        raise RuntimeError(f"the {self.mode} build of the site ended with {code}: {why}")


@dataclass(slots=True)
class Tree:
    """One copy, and the processes that build it."""

    folder: Path
    whole: Builds
    read: Builds
    passing: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path, stack: ExitStack, sheets: Path) -> Tree:
        """The copy, as the project is now; `sheets` is where what is shown of models is kept."""
        copy_project(folder)
        compiled = [sys.executable, "-m", "compileall", "-q", "src", "scripts", "tests"]
        subprocess.run(compiled, cwd=folder, check=True)
        if not sheets.exists():
            doc_sheets.fill(folder, sheets)
        whole = Builds(folder=folder, mode="whole", stack=stack, sheets=sheets)
        return cls(folder, whole, Builds(folder=folder, mode="read", stack=stack, sheets=sheets))

    def ready(self, tests: Sequence[str]) -> str:
        """What is wrong without any fault, in the build or in tests; empty if all passes."""
        self.read.start()  # it has to have read the pages as they are
        said = self._built(pages=(), first=True)
        if not said.refused and tests:
            said = self._tested(tests)
        return str(said) if said.refused else ""

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The copy with the fault in it, for as long as it is looked at."""
        path = self.folder / mutant.file
        seal = path.parent / SEAL
        with ExitStack() as restored:
            for one in (path, seal) if mutant.sealed else (path,):
                restored.callback(put_back, one, one.read_bytes(), one.stat().st_mtime_ns)
            path.write_text(mutant.planted(path.read_text("utf-8")), "utf-8")
            if mutant.sealed:
                seal.write_text(sealed(path.parent), "utf-8")
            yield

    def asked(self, mutant: Mutant) -> Said:
        """What is said by whom the mutant names, the fault being planted."""
        if mutant.by != BUILD and not mutant.built:
            return self._tested([mutant.by])
        pages = None if mutant.whole else self._pages(mutant.file)
        said = self._built(pages=pages, first=not mutant.file.startswith("docs/"))
        if mutant.by == BUILD or said.refused:
            return said
        return self._tested([mutant.by])

    def _pages(self, file: str) -> list[str] | None:
        """The pages that a file is read for; None if that can be any."""
        docs = self.folder / "docs"
        if file.startswith("docs/"):
            return [file.removeprefix("docs/")] if file.endswith((".md", ".py")) else []
        if file.startswith("snippets/"):
            pages = (page for page in sorted(docs.rglob("*.md")) if file in page.read_text("utf-8"))
            return [page.relative_to(docs).as_posix() for page in pages]
        return [] if file.startswith("results/") or file == "README.md" else None

    def _built(self, *, pages: Sequence[str] | None, first: bool) -> Said:
        log = Path(f"{self.folder}-log")
        if pages is None:
            code = self.whole.code(log, (), first=True)
        else:
            code = self.read.code(log, pages, first=first)
        text = log.read_text("utf-8", errors="replace").replace(str(self.folder), "")
        short = pages is not None
        return Said(by=BUILD, refused=code != 0, text=text, shortened=short)

    def _tested(self, tests: Sequence[str]) -> Said:
        run = subprocess.run(
            [sys.executable, *PYTEST, *tests],
            cwd=self.folder,
            env=environment(self.folder) | KEPT_BARE | {"SITE": f"{self.folder}-site"},
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        refused = run.returncode != PASSED
        return Said(by=" ".join(tests), refused=refused, text=run.stdout + run.stderr)


def put_back(path: Path, content: bytes, date: int) -> None:
    """A file as it was, its date too: what was compiled of it stays good."""
    path.write_bytes(content)
    os.utime(path, ns=(date, date))
