"""Shapes of logs that readers bring: releases, starts, and what is not read."""

# ruff: noqa: ISC004  # a line of a log is longer than one of ours

from __future__ import annotations

from typing import Final

import pytest

from tests.log.made import BANNER, CORE, POOL, READY, WORKER, log
from vllm_parallel.term import RELEASE


@pytest.mark.parametrize("width", [72, 80, 100, 132])
def test_statistics_and_the_release_are_read_across_a_terminals_lines(width: int) -> None:
    lines = (
        "(APIServer pid=1) INFO 11-01 10:00:00 [api_server.py:1] vLLM API server version "
        f"{RELEASE}",
        "(APIServer pid=1) INFO 11-01 10:01:00 [loggers.py:1] Engine 003: Avg prompt throughput: "
        "16.5 tokens/s, Avg generation throughput: 1157.2 tokens/s, Running: 7 reqs, Waiting: 3 "
        "reqs, GPU KV cache usage: 33.3%, Prefix cache hit rate: 70.0%",
        READY,
    )
    pieces = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
    found = log(*pieces)
    assert (found.vllm_version, found.ready, found.notes) == (RELEASE, True, ())
    assert [(load.engine, load.waiting) for load in found.stats] == [(3, 3)]


LOGO: Final = "▄▄ ▄█ █     █     █ ▀▄▀ █  version "
VERSIONS: Final = {
    f"(APIServer pid=1) INFO 01-28 00:06:16 [utils.py:346]  {LOGO}0.15.0rc1": "0.15.0rc1",
    f"INFO 04-22 01:41:28 [entrypoints/utils.py:299]  {LOGO}0.19.0\r": "0.19.0",
    "(APIServer pid=1) INFO 11-30 20:24:56 [a.py:1] vLLM server version 0.32.0, serving "
    "model m": "0.32.0",
    "INFO 12-02 10:00:00 [api_server.py:1] vLLM API server version 0.8.5.dev": "0.8.5.dev",
    "INFO 12-02 10:00:00 a.py:1] Initializing an LLM engine (v0.5.4) with config: model='m', "
    "x=1": "0.5.4",
    "(EngineCore_DP0 pid=3) INFO 12-02 10:00:00 [core.py:105] Initializing a V1 LLM engine "
    "(v0.26.1rc1.dev608+g99a10304d) with config: model='m', x=1": "0.26.1rc1.dev608+g99a10304d",
}


@pytest.mark.parametrize("line", VERSIONS)
def test_version(line: str) -> None:
    """The release stands in many places; another one is said."""
    found = log(line)
    assert found.vllm_version == VERSIONS[line]
    other = [note for note in found.notes if f"not {RELEASE}" in note]
    assert bool(other) == (found.vllm_version != RELEASE)


def test_several_starts_are_not_added_up() -> None:
    small = POOL.replace("1,048,576", "524,288").replace("512.00x", "256.00x")
    start = [f"{BANNER}version 0.32.0", small, READY]
    again = [
        f"{BANNER}version 0.32.0".replace("pid=1", "pid=2"),
        POOL.replace("pid=9", "pid=19"),
        READY,
    ]
    found = log(*start, *again)
    assert (found.starts, found.kv_tokens_total) == (2, 1_048_576)
    assert any("524,288" in note for note in found.notes)


def test_start_after_a_failed_one() -> None:
    failed = [
        f"{BANNER}version 0.32.0",
        "(EngineCore pid=9) ERROR 11-30 20:26:22 [core.py:1510] ValueError: No available memory "
        "for "
        "the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    ]
    found = log(*failed, f"{BANNER}version 0.32.0", POOL, READY)
    assert (found.refusal, found.kv_tokens_total, found.starts) == (None, 1_048_576, 2)
    assert log(f"{BANNER}version 0.32.0", POOL, READY, *failed).refusal is not None


def test_node_that_lends_ranks_is_no_start_of_its_own() -> None:
    args = "(APIServer pid={}) INFO 11-30 20:24:56 [api_utils.py:286] non-default args: "
    found = log(
        f"{BANNER}version 0.32.0",
        args.format(1) + "{'model': 'm', 'nnodes': 2, 'tensor_parallel_size': 4}",
        POOL,
        f"{BANNER}version 0.32.0",
        args.format(5) + "{'model': 'm', 'nnodes': 2, 'node_rank': 1, 'headless': True}",
        f"{WORKER}Model loading took 1.5 GiB memory and 2.0 seconds",
        READY,
    )
    assert (found.starts, found.kv_tokens_total, len(found.workers)) == (1, 1_048_576, 1)


def test_engine_made_again_is_another_start() -> None:
    """Logs without a banner, such as those of the LLM class in a loop."""
    config = (
        "INFO 12-02 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.9.0) with config: "
        "model='m', x=1"
    )
    found = log(config, "GPU KV cache size: 100 tokens", config, "GPU KV cache size: 200 tokens")
    assert (found.starts, found.kv_tokens_total) == (2, 200)


NOT_READ: Final = {
    "cut number": f"{CORE}GPU KV cache size: 1,04",
    "another format": f"{CORE}GPU KV cache size: many tokens",
    "cut loading": f"{WORKER}Model loading took 16.4 G",
    "no number": f"{WORKER}Available KV cache memory: unknown",
    "in prose": "We saw GPU KV cache size: 5 tokens in the log of somebody else",
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read_is_noted(name: str) -> None:
    """Never a silent misreading: neither a figure nor silence."""
    found = log(f"{WORKER}hello", NOT_READ[name], f"{WORKER}goodbye")
    assert found.engines == ()
    assert all(w.weight_gib is None and w.available_kv_gib is None for w in found.workers)
    assert any(note.startswith("line 2: not read") for note in found.notes)


def test_prompts_are_not_read() -> None:
    """A request that is logged may quote any line."""
    head = "(APIServer pid=1) INFO 11-30 20:26:22 [request_logger.py:66] Received request cmpl-1: "
    found = log(f"{head}prompt: '{POOL}'", f"{head}prompt: 'GPU KV cache size: 5 tokens'", READY)
    assert found.engines == ()


def test_probe_is_not_an_override() -> None:
    tag = "INFO 11-30 20:26:22 [kv_cache_utils.py:829] Overriding num_gpu_blocks="
    probe = log(f"(Worker_TP0 pid=7) {tag}0 with num_gpu_blocks_override=512", POOL)
    by_hand = log(f"(EngineCore pid=9) {tag}4096 with num_gpu_blocks_override=66", POOL)
    assert not any("by hand" in note for note in probe.notes)
    assert any("66 blocks where 4096 fit" in note for note in by_hand.notes)
