"""Lines under load, and those of a start or a service that fails."""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log.lines.line import KnownLine

STATS: Final = (
    r"(?:Engine (?P<engine>\d{3,})|(?P<engines>\d+) Engines Aggregated): .*?"
    r"Running: (?P<running>\d+) reqs, Waiting: (?P<waiting>\d+) reqs"
    r"(?P<between>.*?), (?P<device>[A-Z]{2,5}(?: \+ host)?) KV cache usage: (?P<usage>[\d.]+)%"
)
EXECUTOR: Final = "vllm/v1/executor/multiproc_executor.py"
CORE: Final = "vllm/v1/engine/core.py, EngineCoreProc.run_engine_core"

SERVING: Final[tuple[KnownLine, ...]] = (
    KnownLine(
        name="stats",
        says="Engine {:03d}: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f "
        "tokens/s, Running: %d reqs, Waiting: %d reqs, %s KV cache usage: %.1f%%",
        by="API server",
        often="every 10 seconds for each engine under load; never with several API servers",
        check="`Waiting` and the usage tell whether the pool binds. `Deferred`, `KV fetch` and hit "
        "rates come in between and after where there are any; `Preemptions` never does",
        source="vllm/v1/metrics/loggers.py, LoggingStatLogger.log",
        pattern=STATS,
        words=("Engine",),
        marker=" reqs, Waiting: ",
    ),
    KnownLine(
        name="stats-aggregated",
        says="{} Engines Aggregated: ",
        by="API server",
        often="in place of the above, with `--aggregate-engine-logging`",
        check="Sums hide engines that are unbalanced",
        source="vllm/v1/metrics/loggers.py, AggregatedLoggingStatLogger.log_prefix",
        pattern=STATS,
        words=("#",),
    ),
    KnownLine(
        name="stats-off",
        says="AsyncLLM created with api_server_count more than 1; disabling stats logging to avoid "
        "incomplete stats.",
        by="every API server",
        often="once, with several API servers",
        level="WARNING",
        check="There will be no stats line",
        source="vllm/v1/metrics/loggers.py, StatLoggerManager.__init__",
        symptom="stats-line-missing",
    ),
    KnownLine(
        name="worker-died",
        says="Worker proc %s died unexpectedly (exit code: %s), shutting down executor.",
        by="engine core",
        often="when a worker ends",
        level="ERROR",
        check="Which worker; its own last lines say why",
        source=f"{EXECUTOR}, MultiprocExecutor.start_worker_monitor",
        pattern=r"Worker proc (?P<name>\S+) died unexpectedly \(exit code: (?P<code>-?\w+)\)",
        symptom="start-failed",
    ),
    KnownLine(
        name="worker-failed-to-start",
        says="WorkerProc failed to start.",
        by="worker",
        often="with a traceback",
        level="ERROR",
        check="The last line of the traceback below it",
        source=f"{EXECUTOR}, WorkerProc.worker_main",
        symptom="start-failed",
    ),
    KnownLine(
        name="engine-failed-to-start",
        says="EngineCore failed to start.",
        by="engine core",
        often="with a traceback",
        level="ERROR",
        check="The last line of the traceback below it, unless a worker said more",
        source=CORE,
        symptom="start-failed",
    ),
    KnownLine(
        name="engine-fatal",
        says="EngineCore encountered a fatal error.",
        by="engine core",
        often="with a traceback, after the start",
        level="ERROR",
        check="The service is down",
        source=CORE,
        symptom="start-failed",
    ),
    KnownLine(
        name="cuda-graphs-eager",
        says="Cudagraph is disabled under eager mode",
        by="every process",
        often="once, with `--enforce-eager`",
        check="No graphs",
        source="vllm/config/vllm.py, VllmConfig.__post_init__",
        symptom="graphs-off",
    ),
    KnownLine(
        name="nccl-socket",
        says="NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
        by="NCCL in every worker",
        often="with `NCCL_DEBUG=INFO`, for each channel that leaves the node",
        check="Over several nodes it should be `NET/IB`, or the fabric's own plugin",
        source="NCCL",
        pattern=r".{0,200}NCCL INFO .*\bvia NET/Socket/",
        words=("NCCL",),
        symptom="nccl-over-sockets",
    ),
)
