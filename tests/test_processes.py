"""The commands as processes: exit codes, nothing third-party, readers that leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import vllm_parallel

SOURCE: Final = Path(vllm_parallel.__file__).parents[1]
LLAMA: Final = "llama-3.1-8b"


def process(*words: str, send: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "vllm_parallel", *words],
        input=send,
        capture_output=True,
        check=False,
    )


def test_plan_is_a_process() -> None:
    done = process("plan", LLAMA, "-tp", "3", "--json", "--ask", "verdict")
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["verdict"]["stage"] == "config"
    done = process("plan", LLAMA, "--nope")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"vllm-parallel: --nope is no option")
    assert done.stderr.count(b"\n") == 1


def test_batch_is_a_process() -> None:
    done = process("batch", send=b'{"model": "llama-3.1-8b", "ask": ["verdict"]}\n\xff\n')
    assert (done.returncode, done.stderr) == (1, b"")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [sorted(row) for row in rows] == [["id", "verdict"], ["error", "id"]]


ALONE: Final = """
import sys
sys.path[:] = [{source!r}, *(path for path in sys.path if "packages" not in path)]
from vllm_parallel.cli import main
code = main({words!r})
outside = [
    name for name, module in sys.modules.items()
    if "packages" in str(getattr(module, "__file__", "")) and "/vllm_parallel/" not in str(module)
]
sys.exit(f"third-party: {{outside}}" if outside else code)
"""


@pytest.mark.parametrize(
    "words", [["plan", "llama-3.1-70b", "-tp", "8", "--gpu", "h100-80gb"], ["batch"]]
)
@pytest.mark.parametrize("more", [["--json"], []], ids=["json", "people"])
def test_nothing_third_party_is_needed(words: list[str], more: list[str]) -> None:
    """Without site-packages both commands say the same, so they run in a browser too."""
    call = words + (more if words[0] == "plan" else [])
    question = b'{"model": "mixtral-8x7b", "gpu": "h100-80gb", "args": {"nnodes": 0}}\n'
    script = ALONE.format(source=str(SOURCE), words=call)
    alone = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], input=question, capture_output=True, check=False
    )
    usual = process(*call, send=question)
    assert alone.stderr == b""
    assert (alone.returncode, alone.stdout) == (usual.returncode, usual.stdout)
    assert alone.returncode == (1 if words == ["batch"] else 0)


def test_the_reader_may_leave() -> None:
    """A pipe that breaks ends the command: no traceback, and no complaint at the exit."""
    with subprocess.Popen(
        [sys.executable, "-m", "vllm_parallel", "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        line = b'{"model": "llama-3.1-8b", "args": {"tensor_parallel_size": 32}}\n'
        try:
            running.stdin.write(line * 200)
            running.stdin.close()
        except BrokenPipeError:
            pass
        assert running.stderr.read() == b""
        assert running.wait(timeout=20) == 2
