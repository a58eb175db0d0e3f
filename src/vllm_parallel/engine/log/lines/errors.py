"""Sentences of exceptions that end a start, beside those of the rules.

The rules of `constraints` have theirs; here stand what the machine refuses, and what only passes
on that another process failed.
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log.lines.line import KnownLine
from vllm_parallel.verdict import NOT_ONE_TOKEN

CACHE: Final = "vllm/v1/core/kv_cache_utils.py"
EXCEPTION: Final = "an exception"

ERRORS: Final[tuple[KnownLine, ...]] = (
    KnownLine(
        name="no-memory-for-blocks",
        says="No available memory for the cache blocks. ",
        by="engine core",
        often=EXCEPTION,
        level="ERROR",
        check="The budget is spent before the cache",
        source=f"{CACHE}, _check_enough_kv_cache_memory",
        pattern=r"No available memory for the cache blocks",
        symptom="no-memory-for-blocks",
    ),
    KnownLine(
        name="request-does-not-fit",
        says="To serve at least one request with the model's max seq len ({max_model_len}), "
        "({format_gib(needed_memory)} GiB KV cache is needed, which is larger than the available "
        "KV cache memory ({format_gib(available_memory)} GiB). ",
        by="engine core",
        often=EXCEPTION,
        level="ERROR",
        check="The length that it estimates, if it names one, fits",
        source=f"{CACHE}, _check_enough_kv_cache_memory",
        pattern=r"To serve at least one request with the models?'s max seq len \((?P<len>\d+)\)",
        symptom="request-does-not-fit",
    ),
    KnownLine(
        name="auto-fit-fails",
        says=NOT_ONE_TOKEN,
        by="engine core",
        often=EXCEPTION,
        level="ERROR",
        check="As above",
        source=f"{CACHE}, _auto_fit_max_model_len",
        pattern=r"Cannot auto-fit max_model_len",
        symptom="no-memory-for-blocks",
    ),
    KnownLine(
        name="older-request-does-not-fit",
        says="The model's max seq len (%d) is larger than the maximum number of tokens that can be "
        "stored in KV cache (%d).",
        by="engine",
        often=EXCEPTION,
        level="ERROR",
        check="The second number is the pool",
        source="no longer printed",
        pattern=r"The model's max seq len \((?P<len>\d+)\) is larger than the maximum number of "
        r"tokens that can be stored in KV cache \((?P<tokens>\d+)\)",
        symptom="request-does-not-fit",
        release="V0 engine",
    ),
    KnownLine(
        name="free-memory-too-small",
        says="Free memory on device {init_snapshot.device_} "
        "({format_gib(init_snapshot.free_memory)}"
        "/{format_gib(init_snapshot.total_memory)} GiB) on startup is less than desired GPU memory "
        "utilization ({cache_config.gpu_memory_utilization}, {format_gib(requested_memory)} GiB). "
        "Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="Who holds the rest: `nvidia-smi`",
        source="vllm/v1/worker/utils.py, request_memory",
        pattern=r"Free memory on device .* on startup is less than (?:desired|the engine's)",
        symptom="gpu-in-use",
    ),
    KnownLine(
        name="profiling-disturbed",
        says="Error in memory profiling. Initial free memory {format_gib(init_free_memory)} GiB, "
        "current free memory {format_gib(free_gpu_memory)} GiB. ",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="Another process released memory meanwhile",
        source="vllm/v1/worker/gpu_worker.py, Worker.determine_available_memory",
        pattern=r"Error in memory profiling",
        symptom="gpu-in-use",
    ),
    KnownLine(
        name="local-rank-out-of-bounds",
        says="DP adjusted local rank {self.local_rank} is out of bounds for "
        "{torch.accelerator.device_count()} devices.",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="tp times pp times pcp times dp of this node exceeds its GPUs",
        source="vllm/v1/worker/gpu_worker.py, Worker.init_device",
        pattern=r"DP adjusted local rank (?P<rank>\d+) is out of bounds",
        symptom="too-many-ranks",
    ),
    KnownLine(
        name="sampler-out-of-memory",
        says="CUDA out of memory occurred when warming up sampler with {num_reqs} dummy requests. "
        "Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the "
        "engine.",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="Lower one of the two that it names",
        source="vllm/v1/worker/gpu_model_runner.py, GPUModelRunner._dummy_sampler_run",
        pattern=r"CUDA out of memory occurred when",
        symptom="out-of-memory",
    ),
    KnownLine(
        name="out-of-memory",
        says="CUDA out of memory. Tried to allocate",
        by="worker (torch)",
        often=EXCEPTION,
        level="ERROR",
        check="How much, of how much that is free, and after which line",
        source="torch",
        pattern=r"(?:CUDA|HIP) out of memory",
        symptom="out-of-memory",
    ),
    KnownLine(
        name="dcp-back-end",
        says="Decode Context Parallelism (DCP) requires attention implementations to return the "
        "softmax LSE during decode, but {layer_impl.__class__.__name__} does not. ",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="The class that it names is of the back end to leave",
        source="vllm/v1/worker/cp_utils.py, check_attention_cp_compatibility",
        pattern=r".*DCP.* requires attention .*softmax LSE",
        symptom="dcp-back-end",
    ),
    KnownLine(
        name="no-attention-back-end",
        says="No valid attention backend found for {cls.device_name} with "
        "{attn_selector_config_repr}. Reasons: {reasons_str}.",
        by="worker",
        often=EXCEPTION,
        level="ERROR",
        check="The reason that it gives for each back end",
        source="vllm/platforms/cuda.py, CudaPlatformBase.get_attn_backend_cls",
        pattern=r"No valid attention backend found for ",
        symptom="dcp-back-end",
    ),
    KnownLine(
        name="engine-core-failed",
        says="Engine core initialization failed. See root cause above. Failed core proc(s): "
        "{finished}",
        by="API server",
        often=EXCEPTION,
        level="ERROR",
        check="Nothing: the cause stands above it",
        source="vllm/v1/engine/utils.py, wait_for_engine_startup",
        pattern=r"(?:Engine core|Frontend process|WorkerProc|Worker process) "
        r"(?:initialization )?failed",
        symptom="start-failed",
    ),
)
