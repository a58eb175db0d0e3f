"""Follows README and the contributor pages in a clone, to the letter, to what they promise."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.clones import clone, furnish, git
from tests.contribute import made
from tests.contribute.steps import SNIPPETS, Step, sections, steps
from tests.shared import ROOT
from vllm_parallel.term import RELEASE

pytestmark = pytest.mark.clone

PAGES: Final = ROOT / "docs" / "contribute"
# One after the other in one clone, and the site built once, of all of it.
TOGETHER: Final = ("model", "gpu", "rule", "run")
# What stands where the page says that something is there already.
MARKED: Final = (
    ("src/vllm_parallel/constraints/features.py", "a-rule"),
    ("tests/constraints/feature_cases.py", "a-case"),
)
WRITER: Final = {
    f"GIT_{who}_{key}": value
    for who in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "A. Reader"), ("EMAIL", "reader@example.invalid"))
}
# Steps of CI itself, or an hour's work: here it is only asked whether make knows them.
ELSEWHERE: Final = ("make site", "make test", "make check", "make replica", "make serve")


class Place:
    """A clone, and what its commands run with."""

    def __init__(self, folder: Path) -> None:
        self.clone = clone(folder / "clone")
        home = folder / "home"
        made.write_home(home)
        self.environ = furnish(self.clone) | WRITER
        self.environ |= {"HOME": str(home), "EDITOR": str(home / "editor")}
        (home / "editor").write_text(
            f'#!/bin/sh\ncd {self.clone} && exec {sys.executable} -m tests.contribute.made "$1"\n'
        )
        (home / "editor").chmod(0o755)

    def follow(self, *found: Step) -> None:
        for step in found:
            step.run(self.clone, self.environ)


def cut(clone_of: Path) -> dict[Path, str]:
    """Take the marked parts out of a clone's files; the files as they were."""
    before = {}
    for name, mark in MARKED:
        file = clone_of / name
        before[file] = file.read_text("utf-8")
        part = rf" *# --8<-- \[start:{mark}\]\n.*?# --8<-- \[end:{mark}\]\n"
        without, count = re.subn(part, "", before[file], flags=re.DOTALL)
        assert count == 1, f"{name} has {count} parts {mark}"
        file.write_text(without, "utf-8")
    return before


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("contribute"))


def test_every_section_is_shown() -> None:
    """Nothing is run that no page shows, and nothing shown that is not run."""
    for page in (*TOGETHER, "release"):
        text = (PAGES / f"{page}.md").read_text("utf-8")
        shown = re.findall(rf'--8<-- "snippets/contribute/{page}.sh:(\w+)"', text)
        assert shown == list(sections(page)), page
        assert text.count("\n```bash") == len(shown), f"{page}: every command is a section"
    assert {file.stem for file in SNIPPETS.glob("*.sh")} == {*TOGETHER, "release", "start"}


def test_a_model(place: Place) -> None:
    found = sections("model")
    found.pop("site")
    place.follow(*(step for part in found.values() for step in part))


def test_a_gpu(place: Place) -> None:
    found = sections("gpu")
    found.pop("site")
    place.follow(*(step for part in found.values() for step in part))


def test_a_rule(place: Place) -> None:
    """A rule that is there is taken out with its case, and comes back as the page says."""
    found = sections("rule")
    before = cut(place.clone)
    rules, cases = before
    cases.write_text(before[cases], "utf-8")
    place.follow(*found["red"])
    rules.write_text(before[rules], "utf-8")
    place.follow(*found["green"])


def test_a_run(place: Place) -> None:
    found = sections("run")
    found.pop("site")
    place.follow(*(step for part in found.values() for step in part))


def test_the_suite_passes_and_it_is_committed(place: Place) -> None:
    """Depends on the four above, as the page's last steps do: all tests, then one commit."""
    (check,) = sections("start")["check"]
    make, *commit = check.command.splitlines()
    assert make == "make check"
    place.follow(Step(command="make test", promises=("passed",)))
    place.follow(Step(command="\n".join(commit), promises=("tinyllama-1.1b.json",)))
    assert git(place.clone, "status", "--porcelain") == ""


def test_the_site_has_it_all(place: Place) -> None:
    """Depends on the four above: their files are in the clone."""
    built = [step for page in TOGETHER for step in sections(page)["site"]]
    assert {step.command for step in built} == {"make published"}
    promises = tuple(promise for step in built for promise in step.promises)
    Step(command="make published", promises=promises).run(place.clone, place.environ)


def test_the_next_release(tmp_path: Path) -> None:
    """Its record is made up: the release itself takes an hour to ask, and may not be there."""
    place = Place(tmp_path)
    found = sections("release")
    assert f"FROM={RELEASE} TO={made.NEXT}" in found["diff"][0].command
    assert found.pop("record")
    made.write_record(place.clone)
    place.follow(*(step for part in found.values() for step in part))
    kept = place.clone / "contracts" / RELEASE
    for name in ("verdicts.jsonl", "builds.jsonl", "groups.jsonl"):
        old = git(place.clone, "show", f"HEAD:tests/oracle/recorded/{name}")
        assert (kept / name).read_text("utf-8") == old


def readme() -> list[Step]:
    """The commands of README: a block with `$` shows its output, which is compared whole."""
    found: list[Step] = []
    text = (ROOT / "README.md").read_text("utf-8")
    for kind, body in re.findall(r"```(bash|text)\n(.*?)```", text, re.DOTALL):
        if kind == "text":
            command, _, output = body.removeprefix("$ ").partition("\n")
            code = "exit code 1" if "refuses it" in output else "exit code 0"
            found.append(Step(command=command, promises=(code, output)))
        else:
            found += steps(body)
    return found


def test_readme(place: Place) -> None:
    """Every command of README does in a clone what README says of it."""
    for step in readme():
        lines = [line.partition("  #")[0].strip() for line in step.command.splitlines()]
        there = [line for line in lines if line.startswith(ELSEWHERE)]
        for line in there:
            place.follow(Step(command=f"make --dry-run {shlex.split(line)[1]}", promises=()))
        rest = "\n".join(line for line in lines if line not in there)
        place.follow(Step(command=rest, promises=step.promises))


def test_what_readme_leaves_to_ci_is_run_there() -> None:
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    for target in ("site", "test", "lint", "test-dist", "test-contribute"):
        assert re.search(rf"^step {target}$", run, re.MULTILINE), target


def test_make_knows_every_target_that_readme_names(place: Place) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for target in sorted(set(re.findall(r"`make ([\w-]+)`", text))):
        place.follow(Step(command=f"make --dry-run {target}", promises=()))
