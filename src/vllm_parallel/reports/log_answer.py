"""What `log` prints as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel.engine.log import ServeLog
from vllm_parallel.reports.shown import Shown
from vllm_parallel.symptoms import SYMPTOM

WORKER: Final = ("name", "pid", "weight_gib", "load_seconds", "available_kv_gib", "graph_gib")
POOL: Final = ("engine", "kv_tokens", "max_model_len", "max_concurrency", "device")
LOADED: Final = ("engine", "running", "waiting", "preemptions", "kv_cache_usage")


def answers(shown: Sequence[Shown], site: str) -> list[dict[str, object]]:
    """An object for each file that was read; the first names those that were not, as `skipped`."""
    skipped = [{"path": one.path, "reason": str(one.error)} for one in shown if one.log is None]
    rows = [_row(one, one.log, site) for one in shown if one.log is not None]
    for row in rows:
        row["skipped"] = skipped if row is rows[0] else []
    return rows


def _row(shown: Shown, log: ServeLog, site: str) -> dict[str, object]:
    """A log as JSON; every key is there, null where vLLM did not print it."""
    return {
        "path": shown.path,
        "vllm_version": log.vllm_version,
        "kv_tokens_total": log.kv_tokens_total,
        "layer_split": list(log.layer_split) if log.layer_split else None,
        "refusal": log.refusal.sentence if log.refusal else None,
        "notes": [*log.notes, *shown.notes],
        "engines": _rows(log.engines, POOL),
        "workers": _rows(log.workers, WORKER),
        "stats": _rows(log.stats, LOADED),
        "ready": log.ready,
        "starts": log.starts,
        "symptoms": [_symptom_row(name, text, site) for name, text in shown.symptoms.items()],
        "estimate": _estimate_row(shown),
    }


def _rows(nouns: tuple[object, ...], names: tuple[str, ...]) -> list[dict[str, object]]:
    return [{name: getattr(noun, name) for name in names} for noun in nouns]


def _symptom_row(name: str, text: str, site: str) -> dict[str, object]:
    symptom = SYMPTOM[name]
    return {
        "name": name,
        "seen": text,
        "cause": symptom.cause,
        "fix": symptom.fix,
        "page": symptom.address(site),
    }


def _estimate_row(shown: Shown) -> dict[str, object] | None:
    """The estimate beside the log, null where there is none."""
    beside, launched = shown.beside, shown.launched
    if beside is None or launched is None:
        return None
    return {
        "model": launched.model,
        "layout": str(beside.deployment.layout),
        "gpu": launched.gpu_words,
        "overhead_of_release": beside.release,
        "ranks": [
            {
                "rank": row.rank,
                "worker": row.worker.name,
                "weight_gib": row.weights.row,
                "budget_gib": row.budget.row,
                "overhead_gib": row.overhead.row,
                "available_kv_gib": row.available.row,
            }
            for row in beside.ranks
        ],
        "pools": [
            {
                "engine": pool.engine,
                "estimate_tokens": pool.estimate,
                "tokens_of_printed_memory": list(pool.follows) if pool.follows else None,
                "printed_tokens": pool.printed,
            }
            for pool in beside.pools
        ],
        "says": [one.says for one in shown.says],
    }
