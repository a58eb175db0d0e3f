"""What `log` prints as JSON."""

from __future__ import annotations

from typing import Final

from vllm_parallel.reports.shown import Shown
from vllm_parallel.symptoms import SYMPTOM

WORKER: Final = ("name", "pid", "weight_gib", "load_seconds", "available_kv_gib", "graph_gib")
POOL: Final = ("engine", "kv_tokens", "max_model_len", "max_concurrency", "device")
LOADED: Final = ("engine", "running", "waiting", "preemptions", "kv_cache_usage")


def answer(shown: Shown, site: str) -> dict[str, object]:
    """The answer as JSON; every key is there, null where vLLM did not print it."""
    log = shown.log
    skipped = [] if log else [{"path": shown.path, "reason": str(shown.error)}]
    row: dict[str, object] = {
        "path": shown.path,
        "vllm_version": log.vllm_version if log else None,
        "kv_tokens_total": log.kv_tokens_total if log else None,
        "layer_split": list(log.layer_split) if log and log.layer_split else None,
        "refusal": log.refusal.sentence if log and log.refusal else None,
        "notes": [*(log.notes if log else ()), *shown.notes],
        "engines": _rows(log.engines if log else (), POOL),
        "workers": _rows(log.workers if log else (), WORKER),
        "stats": _rows(log.stats if log else (), LOADED),
        "ready": log.ready if log else None,
        "starts": log.starts if log else None,
        "symptoms": [_symptom_row(name, text, site) for name, text in shown.symptoms.items()],
        "estimate": _estimate_row(shown),
        "skipped": skipped,
    }
    return row


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
