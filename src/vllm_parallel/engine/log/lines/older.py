"""Lines that earlier releases printed in place of today's."""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log.lines.line import KnownLine
from vllm_parallel.engine.log.lines.memory import DEVICE, DEVICES

V0: Final = "V0 engine"
BEFORE: Final = "before 0.26"
OLD: Final = "no longer printed"

OLDER: Final[tuple[KnownLine, ...]] = (
    KnownLine(
        name="older-version",
        says="vLLM API server version %s",
        by="API server",
        often="once",
        check="The release",
        source=OLD,
        pattern=r"vLLM API server version (?P<version>\S+)",
        release="before 0.14",
    ),
    KnownLine(
        name="older-args",
        says="args: Namespace(…)",
        by="API server",
        often="once",
        check="Every argument, whether it was given or not",
        source=OLD,
        pattern=r"args: Namespace\((?P<args>.*)\)\s*$",
        release="before 0.9",
    ),
    KnownLine(
        name="older-engine-config",
        says="Initializing an LLM engine (v%s) with config: …",
        by="engine",
        often="once",
        check="As the line of today's engine",
        source=OLD,
        pattern=r"Initializing an? (?:V0 )?LLM engine \(v(?P<version>[^)\s]+)\) with config: "
        r"(?P<config>.*)",
        words=("Initializing",),
        release=V0,
    ),
    KnownLine(
        name="older-model-loading",
        says="Loading model weights took %.4f GB",
        by="worker",
        often="once by every worker",
        check="The weights of this rank; its GB are GiB",
        source=OLD,
        pattern=r"Loading model weights took (?P<gib>-?[\d.]+) Gi?B(?: and (?P<seconds>[\d.]+) s)?",
        words=("Loading",),
        release=V0,
        marker="Loading model weights took ",
    ),
    KnownLine(
        name="older-kv-cache-size",
        says="GPU KV cache size: %s tokens",
        by="engine core",
        often="once by each engine, or once for each worker",
        check="The pool; the concurrency stands on a line of its own",
        source=OLD,
        pattern=rf"{DEVICE} KV cache size: <tokens#> tokens(?!,)",
        words=DEVICES,
        release=BEFORE,
    ),
    KnownLine(
        name="older-concurrency",
        says="Maximum concurrency for %s tokens per request: %.2fx",
        by="engine core",
        often="after each line of the cache's size",
        check="How many full-length requests the pool holds",
        source=OLD,
        pattern=r"Maximum concurrency for <len#> tokens per request: <times#>x",
        release=BEFORE,
        marker="Maximum concurrency for ",
    ),
    KnownLine(
        name="older-blocks",
        says="# GPU blocks: %d, # CPU blocks: %d",
        by="engine",
        often="once",
        check="Blocks, not tokens: times the block's tokens, 16 unless they were given",
        source=OLD,
        pattern=r"(?:# )?(?:GPU|cuda|rocm|[A-Za-z]+) blocks: (?P<blocks>\d+(?:,\d{3})*),",
        words=("#", "GPU"),
        release=V0,
        marker=" GPU blocks: ",
    ),
    KnownLine(
        name="older-profile",
        says="Memory profiling results: total_gpu_memory=…GiB … kv_cache_size=…GiB",
        by="worker",
        often="every worker",
        check="The cache's memory, and what peaked beside it",
        source=OLD,
        pattern=r"Memory profiling results: total_gpu_memory=(?P<total>[\d.]+)GiB .*"
        r"kv_cache_size=(?P<gib>-?[\d.]+)GiB",
        words=("Memory",),
        release=V0,
        marker="kv_cache_size=",
    ),
    KnownLine(
        name="older-budget",
        says="the current vLLM instance can use total_gpu_memory (…GiB) x gpu_memory_utilization "
        "(…) = …GiB",
        by="worker",
        often="every worker",
        check="The budget",
        source=OLD,
        pattern=r"the current vLLM instance can use total_gpu_memory \((?P<total>[\d.]+)GiB\) x "
        r"gpu_memory_utilization \([\d.]+\) = (?P<budget>[\d.]+)GiB",
        words=("the",),
        release=V0,
    ),
    KnownLine(
        name="older-profile-sentence",
        says="model weights take …GiB; …; the rest of the memory reserved for KV Cache is …GiB.",
        by="worker",
        often="every worker",
        check="Weights and the cache's memory",
        source=OLD,
        pattern=r"model weights take (?P<weights>-?[\d.]+)GiB; .*"
        r"reserved for KV Cache is (?P<gib>-?[\d.]+)GiB",
        words=("model",),
        release=V0,
        marker="reserved for KV Cache is",
    ),
    KnownLine(
        name="older-profile-terms",
        says="Memory profiling takes … non-torch forward increase memory: …GiB; weights memory: "
        "…GiB.",
        by="worker",
        often="every worker",
        level="DEBUG",
        check="Weights, peak and non-torch memory of every rank",
        source=OLD,
        pattern=r"Memory profiling takes [\d.]+ seconds\. Total non KV cache memory: "
        r"(?P<other>-?[\d.]+)GiB; .*; weights memory: (?P<gib>-?[\d.]+)GiB",
        words=("Memory",),
        release="before 0.26",
    ),
    KnownLine(
        name="older-stats",
        says="Avg prompt throughput: … tokens/s, … Running: %d reqs, Swapped: %d reqs, Pending: %d "
        "reqs, GPU KV cache usage: …%, CPU KV cache usage: …%.",
        by="engine",
        often="every 5 or 10 seconds under load",
        check="Load; `Pending` waits, `Swapped` was preempted",
        source=OLD,
        pattern=r"(?:Metrics: )?Avg prompt throughput: .*?Running: (?P<running>\d+) reqs, "
        r"(?:Swapped: \d+ reqs, )?(?:Pending|Waiting): (?P<waiting>\d+) reqs, .*?"
        r"(?P<device>[A-Z]{2,5}) KV cache usage: (?P<usage>[\d.]+)%",
        words=("Avg", "Metrics:"),
        release=V0,
    ),
    KnownLine(
        name="older-preempted",
        says="Sequence group %s is preempted by %s mode because there is not enough KV cache "
        "space.",
        by="scheduler",
        often="at each preemption, later at every 50th",
        level="WARNING",
        check="The pool is full",
        source=OLD,
        pattern=r"Sequence group \S+ is preempted by",
        words=("Sequence",),
        symptom="preemptions",
        release=V0,
    ),
)
