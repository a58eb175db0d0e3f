"""What each known line changes in a start."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from vllm_parallel.engine.log.drafts import MOST, Start
from vllm_parallel.engine.log.nouns import Load
from vllm_parallel.engine.log.records import Record
from vllm_parallel.engine.log.spoken import spoken_args, spoken_config

Found = re.Match[str]
Event = Callable[[Start, Record, Found], None]
TAIL: Final = {
    "peak_gib": re.compile(r"(-?[\d.]+) GiB for peak activation"),
    "graph_gib": re.compile(r"(-?[\d.]+) GiB for CUDAGraph memory"),
    "available_kv_gib": re.compile(r"Current kv cache memory in use is (-?[\d.]+) GiB"),
}
V0_BLOCK: Final = 16
V0_BLOCKS: Final = (16, 8, 32, 64, 128, 256)


def whole(text: str) -> int:
    """A number with thousands commas; one that is cut or absurdly long is none.

    >>> whole("1,048,576"), whole("512")
    (1048576, 512)
    """
    if len(text) > LONGEST_NUMBER or not re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d+", text):
        raise ValueError(text)
    return int(text.replace(",", ""))


LONGEST_NUMBER: Final = 24


def real(text: str) -> float:
    """A number as vLLM prints one."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError(text)
    return float(text.replace(",", ""))


def version(start: Start, _: Record, found: Found) -> None:
    """The release, and the model where it stands beside it."""
    start.version = found["version"].rstrip(",")[:80]
    if "model" in found.re.groupindex:
        start.model = found["model"]


def model(start: Start, _: Record, found: Found) -> None:
    """The model of the banner."""
    start.model = found["model"]


def args(start: Start, record: Record, found: Found) -> None:
    """The options that were given."""
    start.args = spoken_args(found["args"])
    if not start.args:
        start.note(record.number, "the arguments that it prints cannot be read")
    named = start.args.get("model") or start.args.get("model_tag")
    if isinstance(named, str):
        start.model = named


def config(start: Start, record: Record, found: Found) -> None:
    """The engine's own config."""
    start.config |= spoken_config(found["config"])
    start.version = start.version or found["version"]
    start.model = start.model or start.config.get("model")
    if len(start.engine_pids) < MOST:
        start.engine_pids[start.engine(record)] = record.pid


def batch(start: Start, _: Record, found: Found) -> None:
    """Tokens or sequences of a step, as the engine chose them."""
    for name, value in found.groupdict().items():
        start.config[f"max_num_{name}"] = value


def split(start: Start, _: Record, found: Found) -> None:
    """The layers of each stage."""
    start.layer_split = tuple(whole(part.strip()) for part in found["split"].split(","))[:MOST]


def rank(start: Start, record: Record, found: Found) -> None:
    """Where a worker stands, where it has printed a figure."""
    if (record.host, record.pid, 0) in start.workers:
        start.set(record, rank=whole(found["rank"]))


def loading(start: Start, record: Record, found: Found) -> None:
    """Weights, and the seconds that loading took."""
    figures = {"weight_gib": real(found["gib"])}
    if found["seconds"] is not None:
        figures["load_seconds"] = real(found["seconds"])
    start.set(record, **figures)


def available(start: Start, record: Record, found: Found) -> None:
    """What is left for the cache."""
    start.set(record, available_kv_gib=real(found["gib"]))
    if real(found["gib"]) <= 0:
        start.sign("no-memory-for-blocks", record)


def size(start: Start, record: Record, found: Found) -> None:
    """The pool of an engine, and on the same line its concurrency."""
    pool = start.pool(record, found["device"])
    if pool is None:
        return
    tokens = whole(found["tokens"])
    if len(pool.tokens) < MOST and tokens not in pool.tokens:
        pool.tokens.append(tokens)
    pool.device = found["device"]
    if "times" in found.re.groupindex:
        concurrency(start, record, found)
    if len(pool.tokens) > 1:
        most = f"{max(pool.tokens):,}"
        said = f"engine {pool.engine} prints pools from {min(pool.tokens):,} to {most} tokens"
        start.note(record.number, f"{said}; the least is what its tightest rank allows")


def concurrency(start: Start, record: Record, found: Found) -> None:
    """Full-length requests that fit, on a line of its own in older releases."""
    pool = start.pool(record, "GPU")
    if pool is not None:
        pool.length = whole(found["len"])
        if len(pool.times) < MOST:
            pool.times.append(real(found["times"]))
        if not pool.tokens and pool.blocks:
            pool.tokens.append(pool.blocks * V0_BLOCK)
        _settle_blocks(start, record)


def blocks(start: Start, record: Record, found: Found) -> None:
    """The blocks of an engine that prints no tokens."""
    pool = start.pool(record, "GPU")
    if pool is not None:
        count = whole(found["blocks"])
        pool.blocks = count if pool.blocks is None else min(pool.blocks, count)
        asked = start.args.get("block_size")
        size = asked if isinstance(asked, int) and 0 < asked <= max(V0_BLOCKS) else V0_BLOCK
        pool.tokens = [pool.blocks * size]
        said = f"{count:,} blocks of {size} tokens"
        start.note(record.number, f"an engine of an older kind prints blocks: {said} are counted")


def _settle_blocks(start: Start, record: Record) -> None:
    """Hold tokens that were counted from blocks against the concurrency."""
    pool = start.pools.get(start.engine(record))
    if pool is None or pool.blocks is None or not pool.length or not pool.times:
        return
    for size in V0_BLOCKS:
        if abs(pool.blocks * size / pool.length - pool.times[-1]) <= CONCURRENCY_ROUNDING:
            pool.tokens = [pool.blocks * size]
            if size != V0_BLOCK:
                said = f"by the concurrency a block has {size} tokens"
                start.note(record.number, f"{said}: {pool.blocks * size:,} are counted")
            return


CONCURRENCY_ROUNDING: Final = 0.0051


def override(start: Start, record: Record, found: Found) -> None:
    """Blocks that were set by hand; from 0 they are those of a probe that sizes graphs."""
    if whole(found["from"]) and start.engine(record) in start.engine_pids | {0: None}:
        said = f"the pool was set by hand: {found['to']} blocks where {found['from']} fit"
        start.note(record.number, said)


def block_count(start: Start, _: Record, found: Found) -> None:
    """The blocks of a pool that is known."""
    pool = start.pools.get(whole(found["engine"]))
    if pool is not None:
        pool.blocks = whole(found["blocks"])


def graphs(start: Start, record: Record, found: Found) -> None:
    """What the graphs took."""
    start.set(record, graph_gib=real(found["gib"]))


def graph_pool(start: Start, record: Record, found: Found) -> None:
    """What the graphs took, and what was estimated."""
    took, estimate = real(found["gib"]), real(found["estimate"])
    start.set(record, graph_gib=took, graph_estimate_gib=estimate)
    if took - estimate >= GRAPHS_ABOVE_GIB:
        start.sign("graph-memory", record)


GRAPHS_ABOVE_GIB: Final = 0.25


def summary(start: Start, record: Record, found: Found) -> None:
    """The whole budget of a rank."""
    figures = {"total_gib": real(found["total"]), "budget_gib": real(found["budget"])}
    used = real(found["used"])
    figures |= {"used_gib": used} if found["what"] == "consumed" else {"weight_gib": used}
    for name, pattern in TAIL.items():
        said = pattern.search(record.text)
        if said:
            figures[name] = real(said[1])
    start.set(record, **figures)


def profile(start: Start, record: Record, found: Found) -> None:
    """The weights of a rank that prints no loading line."""
    start.set(record, weight_gib=real(found["gib"]))


def budget(start: Start, record: Record, found: Found) -> None:
    """What of the GPU was asked for."""
    start.set(record, budget_gib=real(found["budget"]))


def older_profile(start: Start, record: Record, found: Found) -> None:
    """The memory of the GPU and of the cache, as the V0 engine prints them."""
    start.set(record, total_gib=real(found["total"]), available_kv_gib=real(found["gib"]))


def older_budget(start: Start, record: Record, found: Found) -> None:
    """The GPU's memory and what of it was asked for, as the V0 engine prints them."""
    start.set(record, total_gib=real(found["total"]), budget_gib=real(found["budget"]))


def older_terms(start: Start, record: Record, found: Found) -> None:
    """Weights and cache, as the V0 engine's sentence has them."""
    start.set(record, weight_gib=real(found["weights"]), available_kv_gib=real(found["gib"]))


def stats(start: Start, _: Record, found: Found) -> None:
    """A line of load."""
    groups = found.groupdict()
    between = re.search(r"Preemptions: (\d+)", groups.get("between") or "")
    engine = None if groups.get("engines") else whole(groups.get("engine") or "0")
    start.stats_seen += 1
    start.stats.append(
        Load(
            engine=engine,
            running=whole(groups["running"]),
            waiting=whole(groups["waiting"]),
            preemptions=whole(between[1]) if between else None,
            kv_cache_usage=round(real(groups["usage"]) / 100, 6),
        )
    )


def ray_warning(start: Start, record: Record, found: Found) -> None:
    """Ray's count of GPUs on one node, which says nothing of several."""
    said = f"harmless over several nodes: {found['world']} is tp x pp x pcp, not tp"
    start.note(record.number, f"{said}, and is held against the GPUs of one node")


def ready(start: Start, _: Record, __: Found) -> None:
    """A server that takes requests."""
    start.ready = True


def crashed(start: Start, _: Record, __: Found) -> None:
    """A service that ended by itself."""
    start.crashed = start.ready


EVENTS: Final[Mapping[str, Event]] = {
    "version-banner": version, "version": version, "older-version": version,
    "headless-workers": version, "model-banner": model, "non-default-args": args,
    "older-args": args, "engine-config": config, "older-engine-config": config,
    "batched-tokens": batch, "default-seqs": batch, "layer-split": split, "rank-assigned": rank,
    "model-loading": loading, "older-model-loading": loading, "available-kv": available,
    "kv-memory-given": available, "available-kv-cpu": available,
    "available-kv-cpu-auto": available, "kv-cache-size": size,
    "older-kv-cache-size": size, "older-concurrency": concurrency, "older-blocks": blocks,
    "blocks-override": override, "num-gpu-blocks": block_count, "graphs-captured": graphs,
    "graph-pool": graph_pool, "memory-summary": summary, "profile": profile,
    "older-profile-terms": profile, "budget": budget, "older-profile": older_profile,
    "older-profile-sentence": older_terms, "older-budget": older_budget, "stats": stats,
    "stats-aggregated": stats, "older-stats": stats, "ray-exceeds-gpus": ray_warning,
    "server-ready": ready,
    "engine-fatal": crashed, "worker-died": crashed,
}  # fmt: skip
