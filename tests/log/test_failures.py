"""Why a start failed: the sentence that tells the cause, out of all that a log repeats."""
# ruff: noqa: ISC004  # a line of a log is longer than one of ours

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from tests.log.made import READY
from vllm_parallel.engine.log import read

CORE: Final = "(EngineCore_DP0 pid=9) ERROR 11-30 20:26:22 [core.py:1510] "
TRACE: Final = (f"{CORE}EngineCore failed to start.", f"{CORE}Traceback (most recent call last):")
API: Final = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above."
)
FITS: Final = (
    "To serve at least one request with the model's max seq len (262144), (24.0 GiB KV cache is "
    "needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available "
    "memory, the estimated maximum model length is 34736. Try increasing `gpu_memory_utilization`."
)
WORLD: Final = (
    "World size (64) is larger than the number of available GPUs (8) in this node. If this is "
    "intentional and you are using:\n- ray, set '--distributed-executor-backend ray'.\n"
    "- multiprocessing, set '--nnodes' appropriately."
)
PYDANTIC: Final = "pydantic_core._pydantic_core.ValidationError: 1 validation error for "
TYPED: Final = " [type=value_error, input_value=ArgsKwargs((), {'a': 1}), input_type=ArgsKwargs]"

# What journalctl, Docker Swarm, srun, mpirun and loggers of one's own put before every line.
PREFIXES: Final = (
    "2026-11-01T10:00:00+0000 node server[77]: ", "Nov 01 10:00:00.123456 node server[77]: ",
    "Sun 2026-11-01 10:00:00 UTC node server[77]: ", "[  123.456789] node server[77]: ",
    "1730455200.123456 node server[77]: ", "server[77]: ", "[2026-11-01 10:00:00] ",
    "2026-11-01 10:00:00 | ", "2026-11-01T10:00:00.123Z\t", "10:00:00 ", "[10:00:00] ",
    "server_vllm.1.abc@node1    | ", "serve\tstart it\t2026-11-01T10:00:00.123Z ", " 3: ",
    "[1,0]<stderr>: ", "> ", "    ", "server-0 › vllm ",
)  # fmt: skip
CASES: Final[dict[str, tuple[Sequence[str], str, str]]] = {
    "memory": (
        [*TRACE, f"{CORE}ValueError: {FITS}", API],
        FITS,
        "request-does-not-fit",
    ),
    "older words, no level": (
        [f"(EngineCore_DP0 pid=1094) ValueError: {FITS.replace('model', 'models', 1)}"],
        FITS.replace("model", "models", 1),
        "request-does-not-fit",
    ),
    "wrapped by a terminal": (
        [f"(EngineCore_DP0 pid=1094) ValueError: {FITS[:100]}", FITS[100:230], FITS[230:], API],
        FITS,
        "request-does-not-fit",
    ),
    "a rule of the config": (
        [
            f"(APIServer pid=1) {PYDANTIC}ParallelConfig",
            "(APIServer pid=1)   Value error, tp_size=8 must be divisible by dcp_size=3." + TYPED,
            "(APIServer pid=1)     For further information visit https://errors.pydantic.dev/2/v",
        ],
        "tp_size=8 must be divisible by dcp_size=3.",
        "dcp-does-not-divide",
    ),
    **{
        f"behind {prefix!r}": (
            [
                f"{prefix}(APIServer pid=1) {PYDANTIC}ParallelConfig",
                f"{prefix}(APIServer pid=1)   Value error, tp_size=8 must be divisible by "
                f"dcp_size=3.{TYPED}",
            ],
            "tp_size=8 must be divisible by dcp_size=3.",
            "dcp-does-not-divide",
        )
        for prefix in PREFIXES
    },
    "an assertion of the config": (
        [f"{PYDANTIC}VllmConfig", "  Assertion failed, Pipelines are not supported" + TYPED],
        "Pipelines are not supported",
        "start-failed",
    ),
    "without its first line": (
        ["(APIServer pid=1)   Value error, tp_size=8 must be divisible by dcp_size=3." + TYPED],
        "tp_size=8 must be divisible by dcp_size=3.",
        "dcp-does-not-divide",
    ),
    "several lines": (
        [f"{PYDANTIC}ParallelConfig", *f"  Value error, {WORLD}{TYPED}".split("\n")],
        WORLD,
        "too-many-ranks",
    ),
    "a rule, cut": (
        [
            "ValueError: Total number of attention heads (32) must be divisible by tensor "
            "parallel size"
        ],
        "Total number of attention heads (32) must be divisible by tensor parallel size",
        "heads-do-not-divide",
    ),
    "DCP without copies": (
        [
            f"{PYDANTIC}VllmConfig",
            "  Value error, Decode context parallelism for GQA/MQA requires "
            "`--tensor-parallel-size` (8) to be greater than the model's total number of KV heads "
            "(8). Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`."
            + TYPED,
        ],
        "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (8) to be "
        "greater "
        "than the model's total number of KV heads (8). Increase `--tensor-parallel-size` or set "
        "`--decode-context-parallel-size 1`.",
        "dcp-needs-tp-above-kv-heads",
    ),
    "DCP back end": (
        [
            "(Worker_TP0 pid=5) ERROR 11-30 20:26:22 [multiproc_executor.py:953] AssertionError: "
            "DCP "
            "requires attention implementations to return the softmax LSE during decode, but X "
            "does "
            "not. Try a different backend by setting --attention-backend or disable DCP."
        ],
        "DCP requires attention implementations to return the softmax LSE during decode, but X "
        "does "
        "not. Try a different backend by setting --attention-backend or disable DCP.",
        "dcp-back-end",
    ),
    "torch before vLLM": (
        [
            f"{CORE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB.",
            f"{CORE}RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 "
            f"dummy "
            "requests. Please try lowering `max_num_seqs`.",
            API,
        ],
        "CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try "
        "lowering `max_num_seqs`.",
        "out-of-memory",
    ),
    "in a container, without a full stop": (
        [
            "server-1  | (EngineCore_DP0 pid=9) ValueError: Total number of attention heads (32) "
            "must be divisible by tensor parallel size",
            "server-1  | (APIServer pid=1) INFO 11-30 20:26:23 [a.py:1] goodbye",
            f"server-1  | {API}",
        ],
        "Total number of attention heads (32) must be divisible by tensor parallel size",
        "heads-do-not-divide",
    ),
    "behind a prefix of one's own": (
        [
            f"[node 1] {CORE}ValueError: Total number of attention heads (32) must be divisible by "
            "tensor parallel size",
            f"[node 1] {CORE}goodbye",
        ],
        "Total number of attention heads (32) must be divisible by tensor parallel size",
        "heads-do-not-divide",
    ),
    "torch alone": (
        [f"{CORE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", API],
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
        "out-of-memory",
    ),
    "cause before echoes": (
        [
            "(Worker pid=4) ERROR 11-30 20:26:22 [a.py:857] AssertionError: DP adjusted local "
            "rank 1 "
            "is out of bounds for 1 devices.",
            API,
            "(Worker pid=5) ERROR 11-30 20:26:23 [a.py:857] BrokenPipeError: [Errno 32] Broken "
            "pipe",
        ],
        "DP adjusted local rank 1 is out of bounds for 1 devices.",
        "too-many-ranks",
    ),
    "passed on by a worker": (
        [
            "RuntimeError: Worker failed with error 'size_k must divisible by BLOCK_SIZE_K', "
            "please "
            "check the stack trace above for the root cause"
        ],
        "size_k must divisible by BLOCK_SIZE_K",
        "start-failed",
    ),
    "the call itself": (
        ["vllm serve: error: argument --tensor-parallel-size/-tp: invalid int value: 'two'"],
        "argument --tensor-parallel-size/-tp: invalid int value: 'two'",
        "start-failed",
    ),
    "killed": (["(EngineCore pid=9) hello", "Killed"], "Killed by the system", "start-failed"),
    "only echoes": ([API], API.partition("Error: ")[2], "start-failed"),
}


@pytest.mark.parametrize("name", CASES)
def test_refusal(name: str) -> None:
    lines, sentence, symptom = CASES[name]
    log = read([f"{line}\n".encode() for line in ("(APIServer pid=1) hello", *lines)])
    assert log.refusal is not None
    assert log.refusal.sentence == sentence
    assert log.signs[0].symptom == symptom
    assert not log.ready


def test_call_that_was_refused_is_a_log_by_itself() -> None:
    lines, sentence, _ = CASES["the call itself"]
    log = read([f"usage: vllm serve [model_tag] [options]\n{lines[0]}\n".encode()])
    assert log.refusal is not None
    assert log.refusal.sentence == sentence


def test_rule_and_its_way_out_are_named() -> None:
    lines = CASES["a rule of the config"][0]
    refusal = read([f"{line}\n".encode() for line in lines]).refusal
    assert refusal is not None
    assert refusal.rule == "tp-divides-by-dcp"
    assert refusal.fix


@pytest.mark.parametrize(
    "lines",
    [
        [f"{CORE}ValueError: caught", READY],
        ["(Worker pid=4) WARNING 11-30 20:26:22 [a.py:1] ImportError: no flash_attn.", READY],
        ["(Worker pid=4) WARNING 11-30 20:26:22 [a.py:1] ImportError: no flash_attn."],
    ],
)
def test_what_does_not_end_a_start_is_no_refusal(lines: Sequence[str]) -> None:
    assert read([f"{line}\n".encode() for line in lines]).refusal is None


def test_service_that_ends_later() -> None:
    later = [
        READY,
        "(EngineCore pid=9) ERROR 11-30 21:00:00 [core.py:1512] EngineCore encountered a fatal "
        "error.",
        "(EngineCore pid=9) ERROR 11-30 21:00:00 [core.py:1512] torch.OutOfMemoryError: CUDA out "
        "of "
        "memory. Tried to allocate 2.00 GiB.",
    ]
    log = read([f"{line}\n".encode() for line in later])
    assert log.refusal is None
    assert any("the service ended: CUDA out of memory" in note for note in log.notes)
