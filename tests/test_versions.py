"""Every file that names a version names this one, and the release that it is for."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared import ROOT
from vllm_parallel import __version__, cli
from vllm_parallel.catalog.sources import model_sources
from vllm_parallel.term import RELEASE


def test_the_newest_change_is_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest, *_ = re.findall(
        r"^## (\S+) - \d{4}-\d\d-\d\d\n\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL
    )
    assert newest[0] == __version__
    assert f"vLLM {RELEASE}" in newest[1]


def test_the_citation_is_of_this_version() -> None:
    said: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors", "type"} <= said.keys()
    assert (said["version"], said["license"]) == (__version__, project["license"])
    assert all(author["name"] for author in said["authors"])


def test_the_command_says_both(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"vllm-parallel {__version__}, for vLLM v{RELEASE}\n"


def test_every_folder_that_the_notice_names_is_there() -> None:
    text = (ROOT / "NOTICE").read_text("utf-8")
    named = re.findall(r"\b(?:src|tests|results)/[\w./*-]+(?<!\.)", text)
    assert len(named) > 8
    assert [name for name in named if not list(ROOT.glob(name.rstrip("/")))] == []


def workflow(name: str) -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8")
    said: dict[str, Any] = yaml.safe_load(text)
    return said


def runs(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_every_make_target_of_a_workflow_is_one() -> None:
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    jobs = [job for name in ("site", "release") for job in workflow(name)["jobs"].values()]
    calls = [call for job in jobs for call in runs(job) if call.startswith("make ")]
    asked = {word for call in calls for word in call.split()[1:] if not word.startswith("--")}
    assert {"check", "dist", "site-offline"} <= asked <= known


def test_the_published_site_knows_its_address_before_it_is_built() -> None:
    """Links of the error page start at the root of the site, wherever that is."""
    steps = runs(workflow("site")["jobs"]["build"])
    told = next(at for at, step in enumerate(steps) if "SITE_URL=" in step)
    assert told < steps.index("make check")


def test_a_release_is_of_the_tagged_version_and_says_what_changed(tmp_path: Path) -> None:
    """Its own commands, in a copy: with the tag of this version, and of another."""
    steps = runs(workflow("release")["jobs"]["release"])
    told = [step for step in steps if "GITHUB_REF_NAME#v" in step]
    assert len(told) == 2
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "CHANGELOG.md").symlink_to(ROOT / "CHANGELOG.md")
    (tmp_path / "build").mkdir()

    def code(step: str, tag: str) -> int:
        given = os.environ | {"GITHUB_REF_NAME": tag}
        command = ["bash", "-eo", "pipefail", "-c", step]
        return subprocess.run(command, cwd=tmp_path, env=given, check=False).returncode

    assert [code(step, f"v{__version__}") for step in told] == [0, 0]
    notes = (tmp_path / "build" / "notes.md").read_text("utf-8")
    assert f"vLLM {RELEASE}" in notes
    assert "## " not in notes
    assert 0 not in [code(step, "v0.0.9") for step in told]


def test_the_workflow_runs_the_oldest_and_the_newest_python() -> None:
    flow = workflow("site")
    pythons = flow["jobs"]["build"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    kinds = [one.rpartition(" ")[2] for one in project["classifiers"] if ":: Python ::" in one]
    assert pythons == [kinds[0], kinds[-1]]
    assert project["requires-python"] == f">={kinds[0]}"


def test_the_notice_has_a_line_for_every_model() -> None:
    """The longest hub name that a model's begins with is its line; no line is of no model."""
    text = (ROOT / "NOTICE").read_text("utf-8")
    models = text.partition("By hub name")[2].partition("Read in copies of")[0]
    said = dict(re.findall(r"^ {6}(\S+/\S+) +(\S.*)$", models, re.MULTILINE))
    named = {hub for source in model_sources().values() for hub in source.hub}
    found = {hub: [start for start in said if hub.startswith(start)] for hub in named}
    assert [hub for hub, starts in sorted(found.items()) if not starts] == []
    assert {max(starts, key=len) for starts in found.values()} == said.keys()


def test_the_notice_has_a_line_for_every_place_of_measurements() -> None:
    text = (ROOT / "NOTICE").read_text("utf-8").partition("that others measured")[2]
    results = ROOT / "results"
    files = [*results.glob("public-*/*.jsonl"), *results.glob("planner-h100/*")]
    read = "".join(file.read_text("utf-8") for file in files if file.is_file())
    places = set(re.findall(r"https://github\.com/([\w.-]+/[\w.-]+)", read))
    assert len(places) > 8
    assert sorted(places) == sorted(re.findall(r"^ {6}(\S+/\S+) ", text, re.MULTILINE))
