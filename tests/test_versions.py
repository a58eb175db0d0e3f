"""Every file that names a version names this one, and the release that it is for."""

from __future__ import annotations

import re
import tomllib
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


def test_the_workflow_runs_the_oldest_and_the_newest_python() -> None:
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8"))
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
    files = [*(ROOT / "results").glob("public-*/*.jsonl"), *(ROOT / "results").glob("planner-h100/*")]
    read = "".join(file.read_text("utf-8") for file in files if file.is_file())
    places = set(re.findall(r"https://github\.com/([\w.-]+/[\w.-]+)", read))
    assert len(places) > 8
    assert sorted(places) == sorted(re.findall(r"^ {6}(\S+/\S+) ", text, re.MULTILINE))
