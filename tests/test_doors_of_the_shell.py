"""Exit codes and names at the doors: what is read, what is not, where output goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vllm_parallel.answers import answer
from vllm_parallel.cli import main
from vllm_parallel.question import KEYS

FULL = Path("/dev/full")
LLAMA = "meta-llama/Llama-3.1-70B"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (f"{LLAMA} -tp 8", 0),
        (f"{LLAMA} -tp 3", 1),
        (f"{LLAMA} --sede 1", 1),
        ("mistralai/Foo", 2),
        (f"{LLAMA} --config x.yaml", 2),
        ("mistralai/Foo --sede 1", 1),
    ],
)
def test_a_lone_command_that_cannot_be_read(words: str, code: int) -> None:
    """What vLLM refuses is 1, as of `plan`; what cannot be read is 2."""
    assert main(["check", "--", "vllm", "serve", *words.split()]) == code


@pytest.mark.parametrize("name", [LLAMA, f"{LLAMA}-Instruct", "Llama-3.1-70B", "llama-3.1-70b"])
def test_a_model_by_the_names_of_the_hub(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`plan` knows every name that `check` knows."""
    assert main(["plan", name, "-tp", "8"]) == 0
    assert capsys.readouterr().out.startswith("llama-3.1-70b as tp8: 8 ranks\n")


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-71B", "LLAMA-3.1-71b"])
def test_a_near_name_is_suggested(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A hub name with a slip is as near as the catalog's own."""
    assert main(["plan", name]) == 2
    assert "did you mean llama-3.1-70b" in capsys.readouterr().err


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "words", ["plan qwen3-8b", "batch", "layouts qwen3-8b --gpus 2 --gpu h200"]
)
def test_output_that_cannot_be_written(words: str) -> None:
    """One line, and the exit code of a call that could not be answered."""
    call = [sys.executable, "-m", "vllm_parallel", *words.split()]
    with FULL.open("wb") as full:
        done = subprocess.run(
            call, input=b'{"model": "qwen3-8b"}\n', stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"cannot be written" in done.stderr


def test_the_keys_of_questions_and_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """`batch --help` names each, with what it means."""
    with pytest.raises(SystemExit):
        main(["batch", "--help"])
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.split()}
    assert set(KEYS) | set(answer({"model": "llama-3.1-8b"})) | {"error", "seconds"} <= listed


@pytest.mark.parametrize("command", ["plan", "layouts", "check", "batch"])
def test_help_says_first_what_a_command_is_for(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """vLLM's hundreds of options stand behind that, not before."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    usage, _, says = capsys.readouterr().out.splitlines()[:3]
    assert usage.startswith(f"usage: vllm-parallel {command} ")
    assert says.endswith(".")
