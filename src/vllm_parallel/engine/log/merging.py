"""Logs of the nodes of one deployment as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vllm_parallel.engine.log.nouns import ServeLog
from vllm_parallel.frozen import replace


def are_nodes(logs: Sequence[ServeLog]) -> bool:
    """Whether logs are plainly of the nodes of one deployment.

    Each but the first is of a node that lends its ranks, or its engines have other numbers; logs
    of two launches both have an engine 0.
    """
    if len(logs) < 2 or len({(log.vllm_version, log.asked.model) for log in logs}) > 1:
        return False
    seen: set[int] = set()
    for number, log in enumerate(logs):
        engines = {pool.engine for pool in log.engines}
        lends = log.asked.args.get("headless") or log.asked.args.get("node_rank")
        if seen & engines or not (engines or (lends and number)):
            return False
        seen |= engines
    return True


def merged(logs: Sequence[ServeLog]) -> ServeLog:
    """The first log with the engines, workers, load and remarks of the others.

    Engines of one number that do not agree are no one deployment: the first stays, and is noted.
    """
    first = logs[0]
    pools = {pool.engine: pool for log in reversed(logs) for pool in log.engines}
    failed = next((log.refusal for log in logs if log.refusal is not None), None)
    splits = [log.layer_split for log in logs if log.layer_split is not None]
    return replace(
        first,
        vllm_version=next((log.vllm_version for log in logs if log.vllm_version), None),
        engines=tuple(pools[engine] for engine in sorted(pools)),
        workers=tuple(worker for log in logs for worker in log.workers),
        layer_split=splits[0] if splits else None,
        stats=tuple(load for log in logs for load in log.stats),
        refusal=failed,
        signs=tuple({sign.symptom: sign for log in reversed(logs) for sign in log.signs}.values()),
        notes=tuple(_notes(logs)),
        ready=any(log.ready for log in logs),
    )


def _notes(logs: Sequence[ServeLog]) -> Iterator[str]:
    for number, log in enumerate(logs, start=1):
        yield from (f"file {number}: {note}" for note in log.notes)
    for name in ("vllm_version", "layer_split"):
        said = {getattr(log, name) for log in logs} - {None}
        if len(said) > 1:
            yield f"the files disagree on {name}: {' and '.join(sorted(map(str, said)))}"
    pools: dict[int, int] = {}
    for log in logs:
        for pool in log.engines:
            if pools.setdefault(pool.engine, pool.kv_tokens) != pool.kv_tokens:
                yield f"the files disagree on engine {pool.engine}: not nodes of one deployment?"
