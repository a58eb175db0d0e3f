"""Lines about memory: weights, the budget, the cache, graphs."""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log.lines.line import KnownLine

DEVICES: Final = ("GPU", "CPU", "XPU", "TPU", "HPU", "NPU")
DEVICE: Final = r"(?P<device>[A-Z]{2,5}(?: \+ host)?)"
CACHE: Final = "vllm/v1/core/kv_cache_utils.py"
GPU_WORKER: Final = "vllm/v1/worker/gpu_worker.py, Worker"
FIRST: Final = "once a node, by the worker whose local rank is 0; later engines there print none"
EACH: Final = "every worker"
ENGINE: Final = "engine core"

MEMORY: Final[tuple[KnownLine, ...]] = (
    KnownLine(
        name="model-loading",
        says="Model loading took %s GiB memory and %.6f seconds",
        by="worker",
        often="V2 runner: once by every worker; V1 runner: once, by the first",
        check="The weights of this rank, against the estimate's",
        source="vllm/v1/worker/gpu/model_runner.py, GPUModelRunner.load_model",
        pattern=r"Model loading took (?P<gib>-?[\d.]+) Gi?B(?: memory)? and (?P<seconds>[\d.]+) s",
        marker="Model loading took ",
    ),
    KnownLine(
        name="available-kv",
        says="Available KV cache memory: %s GiB",
        by="worker",
        often=FIRST,
        check="What is left of the budget on this rank: puts a figure in the overhead's place",
        source=f"{GPU_WORKER}.determine_available_memory",
        pattern=r"Available KV cache memory: (?P<gib>-?[\d.]+) GiB",
        marker="Available KV cache memory: ",
    ),
    KnownLine(
        name="kv-memory-given",
        says="Initial free memory {format_gib(self.init_snapshot.free_memory)} GiB, reserved "
        "{format_gib(kv_cache_memory_bytes)} GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling.",
        by="worker",
        often="every worker, with `--kv-cache-memory-bytes`",
        check="The cache has the size that was given; the utilization plays no part",
        source=f"{GPU_WORKER}.determine_available_memory",
        pattern=r"Initial free memory (?P<free>[\d.]+) GiB, reserved (?P<gib>[\d.]+) GiB memory "
        r"for",
    ),
    KnownLine(
        name="available-kv-cpu",
        says="Explicitly set ({format_gib(kv_cache_size)}/{format_gib(memory_status.total_memory)})"
        " GiB for KV cache on node {cpu_core.numa_node}.",
        by="worker of the CPU build",
        often=EACH,
        check="Stands for the available memory: it was set, and nothing is subtracted",
        source="vllm/v1/worker/cpu_worker.py, CPUWorker.determine_available_memory",
        pattern=r"Explicitly set \((?P<gib>-?[\d.]+)/(?P<total>[\d.]+)\) GiB for KV cache",
        marker="Explicitly set (",
    ),
    KnownLine(
        name="available-kv-cpu-auto",
        says="Auto set ({format_gib(kv_cache_size)}/{format_gib(memory_status.total_memory)}) GiB "
        "for KV cache on node {cpu_core.numa_node}, with ",
        by="worker of the CPU build",
        often=EACH,
        check="Stands for the available memory",
        source="vllm/v1/worker/cpu_worker.py, CPUWorker.determine_available_memory",
        pattern=r"Auto set \((?P<gib>-?[\d.]+)/(?P<total>[\d.]+)\) GiB for KV cache",
        marker="Auto set (",
    ),
    KnownLine(
        name="graph-profiling",
        says="CUDA graph memory profiling is enabled (default since v0.21.0). The current "
        "--gpu-memory-utilization=%.4f is equivalent to --gpu-memory-utilization=%.4f without "
        "CUDA graph memory profiling.",
        by="worker",
        often="every worker that will capture graphs",
        check="The difference times the GPU's memory is what graphs are expected to take",
        source=f"{GPU_WORKER}.determine_available_memory",
        pattern=r"CUDA graph memory profiling is enabled .* "
        r"--gpu-memory-utilization=(?P<given>[\d.]+)"
        r" is equivalent to --gpu-memory-utilization=(?P<equal>[\d.]+) without",
    ),
    KnownLine(
        name="kv-cache-size",
        says="%s KV cache size: %s tokens, Maximum concurrency for %s tokens per request: %.2fx",
        by=ENGINE,
        often="once by each engine; add them up for the service",
        check="The pool of this engine, set by its tightest rank, and how many full-length "
        "requests it holds",
        source=f"{CACHE}, update_kv_cache_capacity",
        pattern=rf"{DEVICE} KV cache size: <tokens#> tokens, Maximum concurrency for <len#> tokens "
        r"per request: <times#>x",
        words=DEVICES,
        marker=" KV cache size: ",
    ),
    KnownLine(
        name="blocks-override",
        says="Overriding num_gpu_blocks=%d with num_gpu_blocks_override=%d",
        by=ENGINE,
        often="with `--num-gpu-blocks-override`; workers print it while they profile graphs",
        check="From an engine core: the pool was set by hand",
        source=f"{CACHE}, get_kv_cache_configs",
        pattern=r"Overriding num_gpu_blocks=(?P<from>\d+) with num_gpu_blocks_override=(?P<to>\d+)",
    ),
    KnownLine(
        name="auto-fit-length",
        says="Auto-fit max_model_len: reduced from %d to %d to fit in available KV cache memory "
        "(%s)",
        by=ENGINE,
        often="once, with `--max-model-len -1`",
        check="The length that fits",
        source=f"{CACHE}, _auto_fit_max_model_len",
        pattern=r"Auto-fit max_model_len: reduced from (?P<from>\d+) to (?P<to>\d+) to fit",
    ),
    KnownLine(
        name="padding-layers",
        says="Add %d padding layers, may waste at most %.2f%% KV cache memory",
        by=ENGINE,
        often="for models whose layers keep unlike caches",
        level="WARNING",
        check="How much of the cache no layer uses",
        source=f"{CACHE}, _get_kv_cache_groups_uniform_page_size",
        pattern=r"Add (?P<layers>\d+) padding layers",
    ),
    KnownLine(
        name="graphs-captured",
        says="Graph capturing finished in %.0f secs, took %.2f GiB",
        by="worker",
        often="V2 runner: once by every worker",
        check="What the graphs took",
        source="vllm/v1/worker/gpu/model_runner.py, GPUModelRunner.capture_model",
        pattern=r"Graph capturing finished in (?P<seconds>[\d.]+) secs?, took (?P<gib>-?[\d.]+) "
        r"GiB",
        marker="Graph capturing finished",
    ),
    KnownLine(
        name="graph-pool",
        says="CUDA graph pool memory: %s GiB (actual), %s GiB (estimated), difference: %s GiB "
        "(%.1f%%).",
        by="worker",
        often="every worker that captured graphs",
        check="Graphs above their estimate take memory outside the budget",
        source=f"{GPU_WORKER}.compile_or_warm_up_model",
        pattern=r"CUDA graph pool memory: (?P<gib>-?[\d.]+) GiB \(actual\), "
        r"(?P<estimate>-?[\d.]+) GiB \(estimated\)",
        marker="CUDA graph pool memory: ",
    ),
    KnownLine(
        name="memory-summary",
        says="Free memory on device ({format_gib(self.init_snapshot.free_memory)}/{format_gib("
        "self.init_snapshot.total_memory)} GiB) on startup. Desired GPU memory utilization is "
        "({self.cache_config.gpu_memory_utilization}, {format_gib(self.requested_memory)} GiB). "
        "Actual usage is {format_gib(self.total_consumed)} GiB for consumed memory (weights + "
        "non-torch), {format_gib(self.peak_activation_memory)} GiB for peak activation, and "
        "{format_gib(cuda_graph_memory_bytes)} GiB for CUDAGraph memory.",
        by="worker",
        often="once by every worker, once graphs are captured",
        check="The whole budget of a rank, also of those that print no other memory line",
        source=f"{GPU_WORKER}.compile_or_warm_up_model",
        pattern=r"Free memory on device \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup\. "
        r"Desired GPU memory utilization is \((?P<share>[\d.]+), (?P<budget>[\d.]+) GiB\)\. "
        r"Actual usage is (?P<used>-?[\d.]+) GiB for (?P<what>consumed|weight)",
        marker="Desired GPU memory utilization is (",
    ),
    KnownLine(
        name="profile",
        says="Memory profiling takes {self.profile_time:.2f} seconds. Total non KV cache memory: "
        "{format_gib(self.non_kv_cache_memory)}GiB; torch peak memory increase: "
        "{format_gib(self.torch_peak_increase)}GiB; total consumed (from mem_get_info): "
        "{format_gib(self.total_consumed)}GiB; weights memory: "
        "{format_gib(self.weights_memory)}GiB.",
        by="worker",
        often=EACH,
        level="DEBUG",
        check="Weights and peak of every rank",
        source="vllm/utils/mem_utils.py, MemoryProfilingResult.__repr__",
        pattern=r"Memory profiling takes [\d.]+ seconds\. Total non KV cache memory: "
        r"(?P<other>-?[\d.]+)GiB; .*weights memory: (?P<gib>-?[\d.]+)GiB\.",
    ),
    KnownLine(
        name="budget",
        says="Initial free memory: %s GiB; Requested memory: %f (util), %s GiB",
        by="worker",
        often=EACH,
        level="DEBUG",
        check="The budget: the utilization times the memory that the runtime reports",
        source=f"{GPU_WORKER}.determine_available_memory",
        pattern=r"Initial free memory: (?P<free>[\d.]+) GiB; Requested memory: (?P<share>[\d.]+) "
        r"\(util\), (?P<budget>[\d.]+) GiB",
    ),
    KnownLine(
        name="init-engine",
        says="init engine (profile, create kv cache, warmup model) took %.2f s",
        by=ENGINE,
        often="once by each engine",
        check="How long profiling, the cache and the warm-up took",
        source="vllm/v1/engine/core.py, EngineCore._initialize_kv_caches",
        pattern=r"init engine \(profile, create kv cache, warmup model\) took (?P<seconds>[\d.]+) "
        r"s",
    ),
    KnownLine(
        name="num-gpu-blocks",
        says="Engine %03d: vllm cache_config_info with initialization after num_gpu_blocks is: %d",
        by="API server",
        often="once for each engine",
        level="DEBUG",
        check="The blocks of a rank, the null block included",
        source="vllm/v1/metrics/loggers.py, LoggingStatLogger.log_engine_initialized",
        pattern=r"Engine (?P<engine>\d{3,}): vllm cache_config_info with initialization after "
        r"num_gpu_blocks is: (?P<blocks>\d+)",
    ),
)
