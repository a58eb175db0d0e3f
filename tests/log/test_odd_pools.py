"""Shapes of logs that readers bring: pools and workers."""

# ruff: noqa: ISC004  # a line of a log is longer than one of ours

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from tests.log.made import BANNER, BOTH, CORE, POOL, READY, WORKER, log
from vllm_parallel.engine.log import read

POOLS: Final[dict[str, tuple[Sequence[str], int]]] = {
    "one line": ([POOL], 1_048_576),
    "two lines": (
        [
            f"{CORE}GPU KV cache size: 93,872 tokens",
            f"{CORE}Maximum concurrency for 16,384 tokens per request: 5.73x",
        ],
        93_872,
    ),
    "no prefix": (["GPU KV cache size: 178,880 tokens"], 178_880),
    "CPU": ([POOL.replace("GPU", "CPU")], 1_048_576),
    "device and host": ([POOL.replace("GPU", "GPU + host")], 1_048_576),
    "docker compose": ([f"qwen3-1  | {POOL}"], 1_048_576),
    "docker compose, no process": ([f"server-1  | {BOTH}512.00x"], 1_048_576),
    "docker driver": ([f'{{"log":"{POOL}\\n","stream":"stderr","time":"2026"}}'], 1_048_576),
    "kubernetes": ([f"2026-01-28T00:06:16.123456789Z stdout F {POOL}"], 1_048_576),
    "kubectl prefix": ([f"[pod/server-0/vllm] {POOL}"], 1_048_576),
    "journal": ([f"Jan  8 00:06:16 node server[77]: {POOL}"], 1_048_576),
    "grep": ([f"tp8-serve.log:4:{POOL}"], 1_048_576),
    "json": (
        [
            '{"asctime": "2026-11-30 20:26:22,001", "levelname": "INFO", "name": "vllm.v1.core", '
            f'"processName": "EngineCore", "process": 9, "message": "{BOTH}512.00x"}}'
        ],
        1_048_576,
    ),
    "a prefix of one's own": ([f"[node 1] {POOL}"], 1_048_576),
    "times of a pipe": ([f"Nov 30 20:26:22 {POOL}"], 1_048_576),
    "another logger": (
        [f"2026-11-30 20:26:22,123 - vllm.v1.core.kv_cache_utils - INFO - {BOTH}512.00x"],
        1_048_576,
    ),
    "cloud": ([f'{{"textPayload": "{POOL}", "severity": "INFO"}}'], 1_048_576),
    "no time": ([POOL.replace("11-30 20:26:22 ", "")], 1_048_576),
    "CSV": ([f'1769558776123,"{POOL}"'], 1_048_576),
    "colours": (
        [
            "\x1b[0;36m(EngineCore pid=9)\x1b[0;0m \x1b[32mINFO\x1b[0m \x1b[90m11-30 "
            "20:26:22\x1b[0m "
            f"\x1b[90m[kv_cache_utils.py:2327]\x1b[0m {BOTH}512.00x"
        ],
        1_048_576,
    ),
    "colours without ESC": (
        [
            "[0;36m(EngineCore pid=9)[0;0m [32mINFO[0m [90m11-30 20:26:22[0m "
            f"[90m[kv_cache_utils.py:2327][0m {BOTH}512.00x"
        ],
        1_048_576,
    ),
    "colours as carets": ([f"^[[36m(EngineCore pid=9)^[[0m {POOL[19:]}"], 1_048_576),
    "two processes": ([f"(APIServer pid=1) {POOL}"], 1_048_576),
    "after a bar": ([f"\rCapturing:  16%|█▌ | 8/51 [00:00<00:00]{POOL}"], 1_048_576),
    "carriage return": ([f"(EngineCore pid=9) \rLoading 5%\r{POOL}\r"], 1_048_576),
    "two records run together": (
        [f"{WORKER}Model loading took 16.4 GiB memory and 4.0 seconds{POOL}"],
        1_048_576,
    ),
    "old Ray": (
        [
            "(RayWorkerWrapper pid=10, ip=192.0.2.1) INFO 11-30 20:26:22 kv_cache_utils.py:55] "
            f"{BOTH}512.00x"
        ],
        1_048_576,
    ),
    "wrapped in a number": ([POOL[:87], POOL[87:]], 1_048_576),
    "wrapped at a space": (
        [POOL.partition(" tokens,")[0], f"tokens,{POOL.partition(' tokens,')[2]}"],
        1_048_576,
    ),
    "wrapped twice": ([POOL[:70], POOL[70:100], POOL[100:]], 1_048_576),
    "once for each worker": (
        [f"{CORE}GPU KV cache size: {n} tokens" for n in ("481,312", "481,296", "481,312")],
        481_296,
    ),
    "two engines": ([POOL.replace("EngineCore", f"EngineCore_DP{n}") for n in (0, 1)], 2_097_152),
    "two engines, with their groups": (
        [POOL.replace("EngineCore", f"EngineCore_DP{n}_PP0") for n in (0, 1)],
        2_097_152,
    ),
    "two engines, actors of Ray": (
        [POOL.replace("EngineCore pid=9", f"DPMoEEngineCoreActor pid={n}") for n in (8, 9)],
        2_097_152,
    ),
    "two engines, older": (
        [POOL.replace("EngineCore", f"EngineCore_{n}") for n in (0, 1)],
        2_097_152,
    ),
    "two engines, one twice": (
        [POOL.replace("EngineCore", f"EngineCore_DP{n}") for n in (0, 1, 1)],
        2_097_152,
    ),
    "V0": (
        [
            "INFO 12-02 10:00:00 gpu_executor.py:122] # GPU blocks: 1952, # CPU blocks: 2048",
            "INFO 12-02 10:00:00 gpu_executor.py:126] Maximum concurrency for 20000 tokens per "
            "request: 1.56x",
        ],
        31_232,
    ),
    "V0 with a comma": (["# GPU blocks: 13,900, # CPU blocks: 4,096"], 222_400),
    "V0 without the hash": (["GPU blocks: 1952, # CPU blocks: 2048"], 31_232),
    "V0, blocks of 32": (
        [
            "INFO 12-02 10:00:00 executor_base.py:110] # cuda blocks: 1000, # CPU blocks: 2048",
            "INFO 12-02 10:00:00 executor_base.py:115] Maximum concurrency for 16000 tokens per "
            "request: 2.00x",
        ],
        32_000,
    ),
    "DCP, older": (
        [
            f"{CORE}Multiplying the GPU KV cache size by the dcp_world_size 8.",
            f"{CORE}GPU KV cache size: 5,721,088 tokens",
        ],
        5_721_088,
    ),
}


@pytest.mark.parametrize("name", POOLS)
def test_pool(name: str) -> None:
    lines, tokens = POOLS[name]
    assert log(*lines, READY).kv_tokens_total == tokens


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_encodings_and_chunks(encoding: str, size: int) -> None:
    """The bytes come in any pieces; shells write UTF-16."""
    data = f"{BANNER}version 0.32.0\r\n{POOL}\r\n{READY}\r\n".encode(encoding)
    if size == 1 and encoding in ("utf-16-le", "utf-16-be"):
        pytest.skip("nothing marks the encoding in one byte")
    found = read([data[at : at + size] for at in range(0, len(data), size)])
    assert (found.vllm_version, found.kv_tokens_total, found.ready) == ("0.32.0", 1_048_576, True)


WORKERS: Final[dict[str, tuple[str, str, float]]] = {
    "V2": (f"{WORKER}Model loading took 16.43 GiB memory and 41.2 seconds", "weight_gib", 16.43),
    "one decimal": (
        f"{WORKER}Model loading took 16.4 GiB memory and 4.0 seconds",
        "weight_gib",
        16.4,
    ),
    "0.10": (f"{WORKER}Model loading took 14.2488 GiB and 4.422213 seconds", "weight_gib", 14.2488),
    "0.8": (f"{WORKER}Model loading took 14.2488 GB and 4.422213 seconds", "weight_gib", 14.2488),
    "V0 worker": (
        "(VllmWorkerProcess pid=6494) INFO 07-24 14:07:31 model_runner.py:692] Loading model "
        "weights took 57.7520 GB",
        "weight_gib",
        57.752,
    ),
    "negative": (f"{WORKER}Available KV cache memory: -0.53 GiB", "available_kv_gib", -0.53),
    "CPU": (
        f"{WORKER}Explicitly set (1.0/15.21) GiB for KV cache on node 0.",
        "available_kv_gib",
        1.0,
    ),
    "given": (
        f"{WORKER}Initial free memory 78.6 GiB, reserved 20.0 GiB memory for KV Cache as specified "
        "by kv_cache_memory_bytes config and skipped memory profiling.",
        "available_kv_gib",
        20.0,
    ),
    "V0 profile": (
        "INFO 12-02 10:00:00 worker.py:232] Memory profiling results: total_gpu_memory=23.58GiB "
        "initial_memory_usage=15.34GiB peak_torch_memory=17.06GiB non_torch_memory=0.35GiB "
        "kv_cache_size=3.81GiB gpu_memory_utilization=0.90",
        "available_kv_gib",
        3.81,
    ),
    "V0 sentence": (
        "model weights take 14.99GiB; non_torch_memory takes 0.08GiB; PyTorch activation peak "
        "memory takes 1.19GiB; the rest of the memory reserved for KV Cache is 5.03GiB.",
        "available_kv_gib",
        5.03,
    ),
    "graphs": (f"{WORKER}Graph capturing finished in 10 secs, took 1.54 GiB", "graph_gib", 1.54),
    "graphs, negative": (
        f"{WORKER}Graph capturing finished in 10 secs, took -0.45 GiB",
        "graph_gib",
        -0.45,
    ),
    "container and rank": (
        "qwen3-1  | (VllmWorker rank=0 pid=105) INFO 04-29 01:07:41 [gpu_model_runner.py:1347] "
        "Model loading took 14.2474 GiB and 558.868858 seconds",
        "weight_gib",
        14.2474,
    ),
}


@pytest.mark.parametrize("name", WORKERS)
def test_worker(name: str) -> None:
    line, figure, value = WORKERS[name]
    (worker,) = log(line).workers
    assert getattr(worker, figure) == value


def test_workers_are_joined_by_pid() -> None:
    """A worker is `Worker` until its groups exist, and two replicas have workers of one name."""
    lines = [
        f"(Worker{tag} pid={pid}) INFO 11-30 20:26:20 [a.py:1] {says}"
        for pid in (3, 4)
        for tag, says in (
            ("", "hello"),
            ("_TP0", "Model loading took 1.5 GiB memory and 2.0 seconds"),
            ("_TP0", "Graph capturing finished in 1 secs, took 0.5 GiB"),
        )
    ]
    found = log(*lines).workers
    assert [(w.name, w.pid, w.weight_gib, w.graph_gib) for w in found] == [
        ("Worker_TP0", 3, 1.5, 0.5),
        ("Worker_TP0", 4, 1.5, 0.5),
    ]


def test_figure_of_fewer_digits_is_no_other_worker() -> None:
    """The V0 engine prints the weights of its unnamed worker twice, once with two decimals."""
    found = log(
        "INFO 04-01 10:00:05 model_runner.py:1115] Loading model weights took 14.9596 GB",
        "INFO 04-01 10:00:06 worker.py:267] model weights take 14.96GiB; non_torch_memory takes "
        "0.12GiB; PyTorch activation peak memory takes 1.26GiB; the rest of the memory reserved "
        "for KV Cache is 54.85GiB.",
    ).workers
    assert [(w.weight_gib, w.available_kv_gib) for w in found] == [(14.9596, 54.85)]


def test_repeated_lines_of_ray_are_said() -> None:
    tag = "(RayWorkerProc pid=12, ip=192.0.2.7) (Worker_TP1 pid=12) INFO 11-30 20:26:20 [a.py:1] "
    found = log(
        f"{tag}Model loading took 1.5 GiB memory and 2.0 seconds [repeated 3x across cluster] (Ray "
        "deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication)"
    )
    assert [(w.name, w.weight_gib) for w in found.workers] == [("Worker_TP1", 1.5)]
    assert any("stands for 3 lines" in note for note in found.notes)


def test_same_pid_on_two_hosts_are_two_workers() -> None:
    says = "INFO 11-30 20:26:20 [a.py:1] Model loading took {} GiB memory and 2.0 seconds"
    found = log(
        *(f"(RayWorkerProc pid=12, ip=192.0.2.{n}) {says.format(n)}" for n in (1, 2)), READY
    )
    assert [worker.weight_gib for worker in found.workers] == [1.0, 2.0]
