"""`run.toml`: the documented example is read, each fault ends in one line with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.made import written
from vllm_parallel.errors import ParseError
from vllm_parallel.runs import Processor, Run, read_run, run_folders


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return read_run(written(tmp_path / "demo"))


def test_the_documented_example_is_read(run: Run) -> None:
    assert (run.name, run.vllm_version, str(run.date)) == ("demo", "0.32.0", "2026-12-03")
    assert run.hardware.processor is Processor.GPU
    assert run.load.prompts_at(64) == 512
    assert [start.trials for start in run.layouts[0].starts] == [(1, 2), (3,)]
    starts = [start.number for _, start, _, trial in run.trials() if trial == 3]
    assert starts == [2, 2, 2, 2]
    layout = run.layout("tp8")
    assert layout is not None
    assert layout.start_of(9) is None
    assert run.layout("tp4") is None


def test_required_files(run: Run) -> None:
    files = run.required()
    assert len(files) == 2 + 2 * 3 + 4 * 3
    assert {"tp8-serve.log", "tp8-s2-after.prom", "tp8-c128-r3.json"} <= set(files)


def test_a_config_beside_is_required(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, ('config = "llama-3.1-70b" ', 'config = "config.json" ')))
    assert "config.json" in run.required()


def test_only_folders_with_a_run_are_runs(tmp_path: Path) -> None:
    written(tmp_path / "b")
    written(tmp_path / "a")
    written(tmp_path / "a.originals")
    (tmp_path / "launches").mkdir()
    assert [folder.name for folder in run_folders(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "old, new, says",
    [
        ('title = "Llama', 'titel = "Llama', "run.toml has no title; write a text"),
        ("date = 2026-12-03", 'date = "today"', "date is 'today'; write a date such as"),
        ("seed = 42", "sede = 42\nseed = 42", "load has 'sede', which is no key here"),
        ("seed = 42", "seed = -1", "seed is -1; write a whole number of at least 0"),
        ("seed = 42", "seed = true", "seed is true; write a whole number"),
        ("input_tokens = 2048", "input_tokens = 2048.0", "input_tokens is 2048.0; write a whole"),
        ('request_rate = "inf"', 'request_rate = "fast"', "request_rate is 'fast'; write a"),
        ('request_rate = "inf"', "request_rate = nan", "request_rate is nan; write a positive"),
        ("[1, 16, 64, 128]", "[1, 16, 64, 64]", "concurrencies has 64 twice; name each once"),
        ("[1, 16, 64, 128]", "[1, 16]", "prompts has 4 entries for 2 concurrencies; write one for"),
        ("[1, 16, 64, 128]", "[]", "concurrencies is []; write a list of whole numbers"),
        ('processor = "gpu"', 'processor = "tpu"', "processor is 'tpu'; write gpu or cpu"),
        ('processor = "gpu"', 'processor = "cpu"', "gpu is given for a CPU; a name of the catalog"),
        ("gpus = 8", "gpus = 16", "layout tp8: takes 16 of 8; hardware.count is how many there"),
        ("trials = [3]", "trials = [2]", "trials has 2 twice; name each once"),
        ("trials = [3]", "trials = [4]", "its starts answer 3 trials; load.trials is 3: trial 3"),
        ("trials = 3 ", "trials = 4 ", "load.trials is 4: trial 4 is on one side only"),
        ("trials = 3 ", "trials = 99999 ", "trials is 99999; a run has at most 10000 in all"),
        ('name = "tp8" ', 'name = "../tp8" ', "name is '../tp8'; files are named"),
        ('name = "tp8" ', 'name = "-rf" ', "name is '-rf'; files are named after it"),
        ('"llama-3.1-70b" ', '"/etc/passwd" ', "config is '/etc/passwd'; a name of the"),
        ("[load] ", "[load", "is not TOML:"),
        ("09:00:00Z", "09:00:00Z\nwhen = 3", "layout 1: start 1 has 'when', which is no key"),
        ("A. Reader", "A.\\u001b[31m Reader", "measured_by is 'A.\\x1b[31m Reader'; write a"),
    ],
)  # fmt: skip
def test_each_fault_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(ParseError) as refused:
        read_run(written(tmp_path, (old, new)))
    assert says in str(refused.value)
    assert "run.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_second_start_is_no_layout_of_its_own(tmp_path: Path) -> None:
    """The layout `tp8-s2` would write the files of tp8's second start."""
    layout = '\n[[layout]]\nname = "tp8-s2"\ngpus = 8\nserve = "vllm serve m"\n'
    end = f"trials = [3]\n{layout}[[layout.start]]\ntrials = [1, 2, 3]"
    with pytest.raises(ParseError, match=r"layout has 'tp8-s2-serve.log' twice"):
        read_run(written(tmp_path, ("trials = [3]", end)))


def test_names_may_hold_markup(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    run = read_run(written(tmp_path, ('name = "tp8" ', f'name = "{name}" ')))
    assert run.layouts[0].result(1, 2) == f"{name}-c1-r2.json"


@pytest.mark.parametrize(
    "content, says",
    [
        (b"\xff\xfe", "is not TOML"),
        (b"#" * (2**20 + 1), "has more than 1048576 bytes"),
        (b"[" * 5000, "is not TOML"),
        (b"layout = 3\ntitle = 4", "title is 4; write a text"),
        (b"", "has no title"),
    ],
)
def test_what_is_no_run_file(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "run.toml").write_bytes(content)
    with pytest.raises(ParseError, match=says):
        read_run(tmp_path)


def test_no_run_file(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"run.toml cannot be read: No such file"):
        read_run(tmp_path)
