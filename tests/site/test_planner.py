"""What the planner brings into a browser, as far as it shows without one."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

import browser_package
import browser_python
from planner_form import form
from vllm_parallel.catalog import model_names
from vllm_parallel.planned.answering import answered
from vllm_parallel.planned.request import MOST_CHARACTERS, Request

SCRIPTS: Final = Path(__file__).parents[2] / "docs" / "assets" / "javascripts"
# Nothing of a reader's is read as markup or code.
READS_MARKUP: Final = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\("
ALONE: Final = """
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p]
sys.path.insert(0, sys.argv[1])
from vllm_parallel.planned.answering import answered
for line in sys.stdin:
    print(answered(line))
"""


def test_the_archive_answers_for_every_model_by_itself(tmp_path: Path) -> None:
    """From the archive alone, no other package beside it, as here."""
    zipfile.ZipFile(io.BytesIO(browser_package.archive())).extractall(tmp_path)
    asked = [
        json.dumps({"model": name, "gpu": "h200", "gpus_per_node": "2"}) for name in model_names()
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, str(tmp_path)],
        input="\n".join(asked), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [answered(line) for line in asked]


def test_the_archive_is_the_same_at_every_build_and_small() -> None:
    first = browser_package.archive()
    browser_package.archive.cache_clear()
    assert browser_package.archive() == first
    names = zipfile.ZipFile(io.BytesIO(first)).namelist()
    assert len(first) < 500_000
    assert not [name for name in names if re.search("/(reports|runs|compare|bench_results)/", name)]


def test_another_archive_of_pyodide_is_refused() -> None:
    with pytest.raises(browser_python.NotFetchedError, match=r"is pinned$"):
        browser_python.check(b"another")


def test_without_npm_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`make site` goes on, `make pyodide` does not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser_python, "FOLDER", tmp_path / "pyodide")
    monkeypatch.setattr(sys, "argv", ["browser_python.py", "--if-possible"])
    with pytest.raises(browser_python.NotFetchedError, match="npm is not installed"):
        browser_python.fetch(tmp_path / "pyodide")
    monkeypatch.setattr(browser_python, "is_fetched", lambda: False)
    assert browser_python.main() == 0
    assert "PYODIDE WAS NOT FETCHED: npm is not installed" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["browser_python.py"])
    assert browser_python.main() == 1


def test_the_form_says_when_it_cannot_run_a_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_python, "files", list)
    assert "This build of the site has no Python for browsers" in form()
    assert 'data-python=""' in form()


def test_every_field_of_the_form_has_a_label() -> None:
    html = form()
    named = re.findall(r'<(?:input|select|textarea) id="([^"]+)"', html)
    assert len(named) >= 9
    assert set(named) == set(re.findall(r'<label for="([^"]+)"', html))


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("planner*.js")), ids=lambda path: path.name)
def test_no_script_of_the_planner_reads_markup(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.findall(READS_MARKUP, text)


FIELDS: Final = {"model": "llama-3.1-8b", "gpu": "h200"}
REFUSED: Final = (
    ({"nodes": "x"}, "The number of nodes is 'x'; give a whole number from 1 to 100000000"),
    ({"nodes": "0"}, "The number of nodes is '0'; give a whole number"),
    ({"nodes": "9"}, "The number of GPUs is 72; at most 64 are searched here"),
    ({"model": "../x"}, "model '../x' is not in the catalog; it has 6"),
    ({"goal": "fast"}, "The goal is 'fast'; use one of tpot, throughput, longest-request, cap"),
    ({"gpu": "b200", "goal": "tpot"}, "--goal tpot needs rates, and the catalog has none of b200"),
    ({"max_model_len": "8q"}, "--max-model-len is '8q'; it should be a whole number, like 8192"),
    ({"model": 5}, "model is 5; give it as typed"),
    ({"config": "{}"}, "the given config names no architecture; add its 'architectures' list"),
    ({"config": "null"}, "the config is null; a config is one JSON object"),
    ({"config": "[1]"}, "the config is [1]; a config is one JSON object"),
    (
        {"config": "x" * (MOST_CHARACTERS + 1)},
        "the config has 1048577 characters; a config.json has at most 1048576",
    ),
)


@pytest.mark.parametrize("changes, says", REFUSED, ids=[says[:40] for _, says in REFUSED])
def test_what_a_form_cannot_ask(changes: dict[str, object], says: str) -> None:
    answer = json.loads(answered(json.dumps(FIELDS | changes)))
    assert set(answer) == {"error"}
    assert answer["error"].startswith(says)


@pytest.mark.parametrize(
    "text, says",
    [("[]", "The request is []"), ("{", "The request is not JSON (line 1, column 2: ")],
)
def test_what_is_no_request(text: str, says: str) -> None:
    assert json.loads(answered(text))["error"].startswith(says)


def test_empty_fields_are_left_to_vllm() -> None:
    asked = Request.of(FIELDS | {"max_model_len": " ", "context": ""})
    assert asked.question["args"] == {}
    assert asked.terms.context is None
    assert asked.terms.goal == "tpot"
    assert Request.of(FIELDS | {"gpu": "b200"}).terms.goal == "capacity"


def test_an_own_config_is_answered_as_the_same_model_of_the_catalog() -> None:
    """But for what it is called."""
    path = browser_package.SOURCE / "catalog" / "models" / "qwen3-32b.json"
    own = json.loads(answered(json.dumps(FIELDS | {"model": "", "config": path.read_text()})))
    known = json.loads(answered(json.dumps(FIELDS | {"model": "qwen3-32b"})))
    assert own["cell"]["rows"] == known["cell"]["rows"]
    assert own["layouts"][0]["commands"][0].startswith("MODEL=/models/mine  # its folder")
    assert "vllm serve Qwen/Qwen3-32B" in known["layouts"][0]["commands"][0]
