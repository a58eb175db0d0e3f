"""What `log` prints for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vllm_parallel.engine.log import Load, ServeLog
from vllm_parallel.errors import on_one_line
from vllm_parallel.render.numbers import UNKNOWN, counted, times, whole, whole_or_unknown
from vllm_parallel.render.text import table
from vllm_parallel.reports.beside import Beside, Pair, PoolRow, RankRow
from vllm_parallel.reports.shown import Shown
from vllm_parallel.symptoms import SYMPTOM

LONGEST_NAME: Final = 40
COLUMNS: Final = {  # of a rank, those that the log prints are shown
    "weights": "weights",
    "budget": "budget",
    "overhead": "overhead",
    "available": "left for KV",
}


def report(shown: Shown, site: str) -> str:
    """The report of one file."""
    log = shown.log
    if log is None:
        return f"{on_one_line(shown.path)}\n  not read: {on_one_line(str(shown.error))}"
    sections = [_head(shown, log)]
    if log.engines:
        sections.append(_pools(log))
    if log.workers:
        sections.append(_workers(log))
    if log.stats:
        sections.append(_stats(log.stats))
    if shown.beside is not None:
        sections.append(_beside(shown, shown.beside))
    sections += _symptoms(shown, site)
    notes = [*log.notes, *shown.notes]
    if notes:
        sections.append("\n".join(f"Note: {on_one_line(note)}" for note in notes))
    return "\n\n".join(sections)


def _head(shown: Shown, log: ServeLog) -> str:
    said = f"vLLM {log.vllm_version}" if log.vllm_version else "vLLM, release unknown"
    model = f", {log.asked.model}" if log.asked.model else ""
    ends = "started" if log.ready else "did not say that it started"
    if log.refusal is not None:
        ends = f"failed to start, line {log.refusal.line}: {on_one_line(log.refusal.sentence)}"
        if log.refusal.fix is not None:
            ends += f"\nWay out: {on_one_line(log.refusal.fix)}"
    return f"{on_one_line(shown.path)}: {on_one_line(said + model)}\n{ends}"


def _pools(log: ServeLog) -> str:
    rows = [("engine", "KV tokens", "of a length", "fit at once", "device")]
    for pool in log.engines:
        fits = UNKNOWN if pool.max_concurrency is None else times(pool.max_concurrency)
        cells = (whole(pool.kv_tokens), whole_or_unknown(pool.max_model_len), fits, pool.device)
        rows.append((str(pool.engine), *cells))
    if len(log.engines) > 1:
        rows.append(("all", whole(log.kv_tokens_total or 0), "", "", ""))
    return "KV cache\n" + table(rows, right=(1, 2, 3))


def _workers(log: ServeLog) -> str:
    rows: list[Sequence[str]] = [
        ("worker", "pid", "weights GiB", "loaded in s", "left for KV GiB", "graphs GiB")
    ]
    for worker in log.workers:
        name = on_one_line((worker.name or UNKNOWN)[:LONGEST_NAME])
        figures = (
            worker.weight_gib,
            worker.load_seconds,
            worker.available_kv_gib,
            worker.graph_gib,
        )
        pid = UNKNOWN if worker.pid is None else str(worker.pid)
        rows.append((name, pid, *(_figure(figure) for figure in figures)))
    if log.layer_split is not None:
        split = ", ".join(map(str, log.layer_split))
        return f"Workers, layers by stage {split}\n" + table(rows, right=range(1, 6))
    return "Workers\n" + table(rows, right=range(1, 6))


def _stats(stats: Sequence[Load]) -> str:
    """Each engine's peaks, as a log may hold thousands of lines."""
    rows: list[Sequence[str]] = [
        ("engine", "lines", "most running", "most waiting", "preemptions", "fullest")
    ]
    for engine in sorted({load.engine for load in stats}, key=lambda one: (one is None, one or 0)):
        mine = [load for load in stats if load.engine == engine]
        counts = [load.preemptions for load in mine if load.preemptions is not None]
        cells = (
            whole(len(mine)),
            whole(max(load.running for load in mine)),
            whole(max(load.waiting for load in mine)),
            whole(sum(counts)) if counts else UNKNOWN,
            f"{max(load.kv_cache_usage for load in mine):.1%}",
        )
        rows.append(("all" if engine is None else str(engine), *cells))
    return "Load, by the lines of statistics\n" + table(rows, right=range(1, 6))


def _beside(shown: Shown, beside: Beside) -> str:
    launched = shown.launched
    where = "" if launched is None else f", {on_one_line(launched.gpu_words)}"
    head = f"Estimate | log, in GiB: {beside.deployment.model.name} as {beside.deployment.layout}"
    columns = [one for one in COLUMNS if any(_printed(row, one) for row in beside.ranks)]
    rows: list[Sequence[str]] = [("rank", "worker", *(COLUMNS[one] for one in columns))]
    for row in beside.ranks:
        name = on_one_line((row.worker.name or UNKNOWN)[:LONGEST_NAME])
        rows.append((str(row.rank), name, *(_pair(getattr(row, one)) for one in columns)))
    parts = [head + where]
    if columns:
        parts.append(table(rows, right=range(2, 2 + len(columns))))
    if len({row.rank for row in beside.ranks}) < len(beside.ranks):
        parts.append("  replicas of a dense model have workers of one name: ranks within a replica")
    parts += [_pool(pool) for pool in beside.pools]
    parts += [f"  {on_one_line(one.says)}" for one in shown.says]
    version = shown.log.vllm_version if shown.log else None
    if version is not None and version.partition("+")[0] != beside.release:
        parts.append(f"  overhead as of {beside.release}: none is known of {on_one_line(version)}")
    if any(row.overhead.printed is not None for row in beside.ranks):
        parts.append("  overhead of the log: its budget less weights and what is left for KV")
    return "\n".join(parts)


def _printed(row: RankRow, column: str) -> bool:
    pair: Pair = getattr(row, column)
    return pair.printed is not None


def _pool(pool: PoolRow) -> str:
    said = [f"  engine {pool.engine}: {whole(pool.printed)} KV tokens printed"]
    if pool.estimate is not None:
        said.append(f"{whole(pool.estimate)} estimated")
    if pool.follows is not None:
        least, most = pool.follows
        bound = "" if pool.whole else ", as not every stage prints its memory at most"
        said.append(f"{whole(least)} to {whole(most)} by the memory it prints{bound}")
    return "; ".join(said)


def _symptoms(shown: Shown, site: str) -> Iterator[str]:
    found = shown.symptoms
    if not found:
        return
    yield counted(len(found), "symptom")
    for name, text in found.items():
        symptom = SYMPTOM[name]
        lines = [f"{name}: {on_one_line(text)}", f"  cause: {symptom.cause}"]
        yield "\n".join([*lines, f"  fix: {symptom.fix}", f"  see {symptom.address(site)}"])


def _pair(pair: Pair) -> str:
    estimate = UNKNOWN if pair.estimate is None else f"{pair.estimate:.2f}"
    printed = UNKNOWN if pair.printed is None else f"{pair.printed:.2f}"
    return f"{estimate} | {printed}"


def _figure(figure: float | None) -> str:
    return UNKNOWN if figure is None else f"{figure:,.2f}"
