"""The list of faults planted in the site fits it as it is; `make doc-mutants` plants them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from scripts import doc_mutants, doc_sheets
from scripts.copies import ROOT
from scripts.doc_faults import BUILD, Mutant, read_mutants, titles
from scripts.doc_mutants import RESULT, label
from scripts.doc_trees import Said

MUTANTS: Final = read_mutants()
LEAST, LEAST_KINDS = 100, 15


def test_every_text_occurs_once() -> None:
    stale = []
    for mutant in MUTANTS:
        try:
            edited = mutant.planted((ROOT / mutant.file).read_text("utf-8"))
        except ValueError as error:
            stale.append(str(error))
        else:
            assert edited != (ROOT / mutant.file).read_text("utf-8"), mutant
    assert not stale, "\n".join(stale)


def test_faults_are_many_and_of_many_kinds() -> None:
    assert len(MUTANTS) >= LEAST
    assert len(titles()) >= LEAST_KINDS
    names = Counter((mutant.kind, mutant.name) for mutant in MUTANTS)
    edits = Counter((mutant.file, mutant.old, mutant.new) for mutant in MUTANTS)
    assert [name for name, count in names.items() if count > 1] == []
    assert [edit for edit, count in edits.items() if count > 1] == []
    assert set(titles()) == {mutant.kind for mutant in MUTANTS}


def test_who_catches_it_is_there_and_has_to_say_something() -> None:
    for mutant in MUTANTS:
        assert mutant.says, f"{mutant.name} says nothing: failing is not enough"
        assert all(len(words) > 2 for words in mutant.says), mutant
        if mutant.by != BUILD:
            path, _, test = mutant.by.partition("::")
            assert f"def {test}" in Path(ROOT, path).read_text("utf-8"), mutant.by


ONE: Final = Mutant(
    kind="a", name="b", file="c", old="one", new="two", says=["c:1", "two is no word"]
)


@pytest.mark.parametrize(
    "refused, text, caught",
    [
        (True, "c:1: two is no word", True),
        (False, "c:1: two is no word", False),
        (True, "c:1: another fault", False),
    ],
)
def test_only_the_right_complaint_catches(refused: bool, text: str, caught: bool) -> None:
    assert ONE.caught(Said(by=BUILD, refused=refused, text=text)) is caught


@pytest.mark.parametrize("text", ["", "one and one"])
def test_a_text_that_does_not_occur_once_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="follow it or replace it"):
        ONE.planted(text)


def test_what_only_informs_is_no_complaint() -> None:
    text = "printed\nINFO    -  Building\nERROR   -  a: b\n\nAborted with a BuildError!\n"
    said = Said(by=BUILD, refused=True, text=text)
    assert said.complaints == {"ERROR   -  a: b", "Aborted with a BuildError!"}


def test_only_how_examples_are_counted_is_left_out_of_a_comparison() -> None:
    texts = [
        f'ERROR   -  a: id "exec-{n}--b"\nFile "<code block: n{n}>", line 3\nn{n} exec-{n}'
        for n in (3, 14)
    ]
    few, many = (Said(by=BUILD, refused=True, text=text).complaints for text in texts)
    assert few - many == {"n3 exec-3"}
    assert many - few == {"n14 exec-14"}


def test_results_are_of_faults_that_are_listed() -> None:
    listed = {label(mutant): mutant.by for mutant in MUTANTS}
    results: dict[str, str] = json.loads(RESULT.read_text("utf-8"))["caught_by"]
    assert results.keys() <= listed.keys(), "make doc-mutants"
    assert {name: listed[name] for name in results} == results


def test_a_run_of_some_keeps_what_others_were_caught_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results.json"
    target.write_text(json.dumps({"caught_by": {"a/b": "build", "a/gone": "build"}}), "utf-8")
    monkeypatch.setattr(doc_mutants, "RESULT", target)
    passed = Said(by=BUILD, refused=False, text="")
    survivor = doc_mutants.Outcome(mutant=ONE, caught=False, said=passed, seconds=1)
    assert json.loads(doc_mutants.written([], [ONE])) == {"caught_by": {"a/b": "build"}}
    assert json.loads(doc_mutants.written([survivor], [ONE])) == {"caught_by": {}}


def test_each_outcome_is_written_down_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results.json"
    monkeypatch.setattr(doc_mutants, "RESULT", target)
    refused = Said(by=BUILD, refused=True, text="")
    record = doc_mutants.Record(every=[ONE])
    for caught in (True, False, True):
        record.keep(doc_mutants.Outcome(mutant=ONE, caught=caught, said=refused, seconds=1))
        rows = json.loads(target.read_text("utf-8"))["caught_by"]
        assert rows == ({"a/b": "build"} if caught else {})
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize(
    "path, moves",
    [
        ("src/vllm_parallel/catalog/gpus/a.json", True),
        ("scripts/site/model_sheets.py", True),
        ("scripts/site/beside.py", True),
        ("scripts/site/other.py", False),
        ("docs/index.md", False),
    ],
)
def test_sheets_are_of_what_writes_them(path: str, moves: bool, tmp_path: Path) -> None:
    sources = {
        "src/vllm_parallel/catalog/gpus/a.json": "{}",
        "scripts/site/model_sheets.py": "import json\n\nimport beside\n",
        "scripts/site/beside.py": "A = 1\n",
        "scripts/site/other.py": "import model_sheets\n",
        "docs/index.md": "# One\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    before = doc_sheets.made_of(tmp_path)
    (tmp_path / path).write_text("# edited\n", "utf-8")
    assert (doc_sheets.made_of(tmp_path) != before) is moves
