"""The steps that a page shows: commands, and after `# →` what has to come of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.shared import ROOT

SNIPPETS: Final = ROOT / "snippets" / "contribute"
PROMISE: Final = "# → "
EXIT: Final = "exit code "
BUILT: Final = "site/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Commands up to the first promise, and the promises."""

    command: str
    promises: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code that is promised; 0 unless another is."""
        codes = [one.removeprefix(EXIT) for one in self.promises if one.startswith(EXIT)]
        return int(codes[0]) if codes else 0

    def run(self, clone: Path, environ: Mapping[str, str]) -> None:
        """Do it in a clone, and hold it to what it promises."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.command],
            cwd=clone,
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == self.code, f"{self.command}\n{done.stdout[-4000:]}"
        self.hold(clone, done.stdout)

    def hold(self, clone: Path, said: str) -> None:
        """Compare what was said, and what was built, with the promises."""
        for promise in self.promises:
            if promise.startswith(BUILT):
                name, _, text = promise.partition(": ")
                assert text in (clone / name).read_text("utf-8"), f"{name} has no {text!r}"
            elif not promise.startswith(EXIT):
                assert promise in said, f"{self.command}\nsays no {promise!r}:\n{said[-4000:]}"


def sections(page: str) -> dict[str, list[Step]]:
    """The steps of each section of a page's snippet, by the section's name, in order."""
    text = (SNIPPETS / f"{page}.sh").read_text("utf-8")
    found = re.findall(r"# --8<-- \[start:(\w+)\]\n(.*?)# --8<-- \[end:\1\]", text, re.DOTALL)
    return {name: list(steps(body)) for name, body in found}


def steps(body: str) -> Iterator[Step]:
    """The steps of a section.

    >>> list(steps("true\\nfalse\\n# → exit code 1\\ntrue\\n"))[0]
    Step(command='true\\nfalse', promises=('exit code 1',))
    """
    commands: list[str] = []
    promises: list[str] = []
    for line in body.splitlines():
        if line.startswith(PROMISE):
            promises.append(line.removeprefix(PROMISE))
            continue
        if promises:
            yield Step(command="\n".join(commands), promises=tuple(promises))
            commands, promises = [], []
        commands.append(line)
    yield Step(command="\n".join(commands), promises=tuple(promises))
