"""A first `run.toml`: what results and logs say is in it, and what they do not say is asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.runs.made import complete
from vllm_parallel.cli import main
from vllm_parallel.runs import Check, read_run
from vllm_parallel.runs.reader import ORIGINALS

# What only people know of the made-up run.
ANSWERS = (
    ('title = ""', 'title = "t"'),
    ('measured_by = ""', 'measured_by = "a"'),
    ('[hardware]\nname = ""', '[hardware]\nname = "two cores"'),
    ('processor = ""\ngpu = ""', 'processor = "cpu"'),
    ('config = ""', 'config = "config.json"'),
    ('dataset = ""', 'dataset = "random"'),
    ('seed = ""', "seed = 0"),
    ('bench = ""', 'bench = "vllm bench serve"'),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = complete(tmp_path / "run")
    (run / "run.toml").unlink()
    for path in run.glob("tp2-c*-r[23].json"):
        text = path.read_text("utf-8").replace('"gpus": "2"', '"gpus": "2", "start": "2"')
        path.write_text(text, "utf-8")
    return run


def test_what_is_known_is_filled_in_and_the_rest_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "init", str(folder)]) == 0
    path = folder / "run.toml"
    text = path.read_text("utf-8")
    said = tomllib.loads(text)
    assert (str(said["date"]), said["vllm_version"]) == ("2026-12-03", "0.32.0")
    load = said["load"]
    assert (load["input_tokens"], load["output_tokens"], load["request_rate"]) == (128, 64, "inf")
    assert (load["concurrencies"], load["prompts"], load["trials"]) == ([1, 4], [8, 32], 3)
    assert [one["name"] for one in said["layout"]] == ["tp1", "tp2"]
    assert said["layout"][1]["start"] == [{"trials": [1]}, {"trials": [2, 3]}]
    for old, new in ANSWERS:
        assert main(["run", "check", str(folder)]) == 2  # names what is empty
        assert "write" in capsys.readouterr().err
        assert old in text
        text = text.replace(old, new)
        path.write_text(text, "utf-8")
    [found] = Check.of(folder).findings  # the made-up log of tp2 names no width
    assert "tp2: its command takes 1 ranks" in str(found)
    old, new = 'gpus = 2\nserve = "vllm serve m"', 'gpus = 2\nserve = "vllm serve m -tp 2"'
    path.write_text(text.replace(old, new), "utf-8")
    assert [str(one) for one in Check.of(folder).findings] == []


def test_the_command_is_the_one_that_the_log_names(folder: Path) -> None:
    log = folder / "tp2-serve.log"
    args = "{'model_tag': 'm', 'port': 8000, 'tensor_parallel_size': 2, 'max_model_len': 512}"
    line = f"(APIServer pid=7) INFO 12-03 09:00:00 [utils.py:233] non-default args: {args}\n"
    first, rest = log.read_text("utf-8").split("\n", 1)
    log.write_text(f"{first}\n{line}{rest}", "utf-8")
    assert main(["run", "init", str(folder)]) == 0
    text = (folder / "run.toml").read_text("utf-8")
    assert 'serve = "vllm serve m --tensor-parallel-size 2 --max-model-len 512"' in text


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.toml").write_text("mine", "utf-8")
    assert main(["run", "init", str(folder)]) == 2
    assert "run.toml is there already; correct it by hand" in capsys.readouterr().err
    assert (folder / "run.toml").read_text("utf-8") == "mine"


def test_results_that_do_not_say_what_they_are_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in folder.glob("*.json"):
        path.unlink()
    assert main(["run", "init", str(folder)]) == 2
    assert "names no file that holds a result" in capsys.readouterr().err


def test_the_committed_runs_are_sealed_and_read() -> None:
    results = Path(__file__).parents[2] / "results"
    for path in results.glob("*/run.toml"):
        if path.parent.name.endswith(ORIGINALS):
            continue  # not committed: what a redacted run was before
        assert (path.parent / "SHA256SUMS").is_file()
        assert read_run(path.parent).layouts
