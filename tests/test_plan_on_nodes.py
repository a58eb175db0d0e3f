"""Ranks against the nodes and GPUs that a call describes."""

from __future__ import annotations

import pytest

from vllm_parallel.cli import main


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("-tp 16 --nodes 2 --gpus-per-node 8", 0, "--nnodes 2"),
        ("-tp 4 -dp 3 --nodes 2 --gpus-per-node 8", 0, "--data-parallel-size-local 2"),
        ("-tp 16 --nodes 2 --gpus-per-node 8 --nnodes 2", 0, "--nnodes 2"),
        ("-tp 8 --nodes 4 --gpus-per-node 1", 1, "World size (8) is larger than"),
        ("-tp 8 --nodes 4 --gpus-per-node 1 --nnodes 4", 1, "out of bounds for 1 devices"),
        ("-tp 2 -dp 4 --nodes 3 --gpus-per-node 2", 1, "out of bounds for 2 devices"),
        ("-pp 9 --nodes 2 --gpus-per-node 8", 1, "`--nnodes 2` must evenly divide"),
        ("-tp 8 -pp 2 --nodes 2 --gpus-per-node 8 --data-parallel-backend ray", 1, "World size"),
    ],
)
def test_ranks_against_the_gpus_of_a_cluster(
    words: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan starts where it says: over nodes by their commands, and never on GPUs too few."""
    assert main(["plan", "llama-3.1-70b", *words.split()]) == code
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("call", ["plan llama-3.1-8b", "check x.sh"])
def test_nodes_of_no_known_size(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes alone say nothing of GPUs."""
    assert main([*call.split(), "--nodes", "2"]) == 2
    assert "without --gpus-per-node" in capsys.readouterr().err
