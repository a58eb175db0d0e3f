"""Symptoms that lines of a log show, and those that its load shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from tests.log.made import API, READY
from vllm_parallel.engine.log import read

WORKER: Final = "(Worker_TP0 pid=7) WARNING 11-30 20:24:56 [a.py:1] "


def stats(engine: int, running: int, waiting: int, usage: float, between: str = "") -> str:
    return (
        f"{API}Engine {engine:03d}: Avg prompt throughput: 1.0 tokens/s, Avg generation "
        f"throughput: 2.0 tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, {between}"
        f"GPU KV cache usage: {usage:.1f}%, Prefix cache hit rate: 0.0%"
    )


CASES: Final[dict[str, tuple[Sequence[str], list[str]]]] = {
    "nothing": ([stats(0, 8, 0, 40.0)], []),
    "sockets": (
        ["node:12:34 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"],
        ["nccl-over-sockets"],
    ),
    "InfiniBand": (
        ["node:12:34 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"],
        [],
    ),
    "no peers": (
        [f"{WORKER}Custom allreduce is disabled because your platform lacks GPU P2P capability"],
        ["no-peer-access"],
    ),
    "eager": (
        [f"{WORKER}Enforce eager set, disabling torch.compile and CUDAGraphs. This is"],
        ["graphs-off"],
    ),
    "uneven": (
        [f"{API}Hidden layers were unevenly partitioned: [15,16,15]. Set"],
        ["stages-uneven"],
    ),
    "no room": ([f"{WORKER}Available KV cache memory: -1.44 GiB"], ["no-memory-for-blocks"]),
    "graphs": (
        [f"{WORKER}CUDA graph pool memory: 1.84 GiB (actual), 1.3 GiB (estimated)"],
        ["graph-memory"],
    ),
    "graphs as expected": (
        [f"{WORKER}CUDA graph pool memory: 1.4 GiB (actual), 1.3 GiB (estimated), difference"],
        [],
    ),
    "several front ends": (
        [f"{API}AsyncLLM created with api_server_count more than 1; disabling stats logging"],
        ["stats-line-missing"],
    ),
    "full": ([stats(0, 8, 40, 98.6)], ["requests-wait"]),
    "capped": (
        [f"{API}non-default args: {{'max_num_seqs': 64}}", stats(0, 64, 4, 10.0)],
        ["requests-wait"],
    ),
    "preempted": ([stats(0, 8, 0, 90.0, "Preemptions: 3, ")], ["preemptions"]),
    "one engine queues": (
        [stats(0, 51, 117, 90.0), stats(1, 20, 0, 80.0)],
        ["engines-unbalanced"],
    ),
    "engines alike": ([stats(0, 30, 2, 90.0), stats(1, 28, 0, 80.0)], []),
    "few requests": ([stats(0, 2, 0, 9.0), stats(1, 0, 0, 8.0)], []),
}


@pytest.mark.parametrize("name", CASES)
def test_signs(name: str) -> None:
    lines, symptoms = CASES[name]
    log = read([f"{line}\n".encode() for line in (f"{API}hello", *lines, READY)])
    assert [sign.symptom for sign in log.signs] == symptoms


def test_each_symptom_once() -> None:
    line = f"{WORKER}Enforce eager set, disabling torch.compile\n".encode()
    assert len(read([line] * 5).signs) == 1


def test_warning_of_ray_is_harmless() -> None:
    line = "Tensor parallel size (16) exceeds available GPUs (8).\n"
    log = read([f"{API}hello\n{line}".encode()])
    assert log.signs == ()
    assert any("harmless over several nodes: 16 is tp x pp x pcp" in note for note in log.notes)
