"""Remembers what follows from a deployment's caches alone, over many questions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Final, TypeVar

from vllm_parallel.deployment import Deployment

MOST: Final = 512
Made = TypeVar("Made")


def what_counts(deployment: Deployment) -> Hashable:
    """All of a deployment that decides its caches: two that agree on it have the same."""
    model, layout, settings = deployment.built, deployment.layout, deployment.settings
    gpu = deployment.cluster.gpu
    return (
        model,
        layout.tp,
        layout.pp,
        layout.dcp > 1,
        layout.pcp > 1,
        None if gpu is None else gpu.architecture,
        deployment.kv_cache_dtype,
        settings.block_size,
        settings.caches,
        deployment.keeps_whole_caches,
        deployment.prefix_caching,
        deployment.draft_tokens,
        deployment.max_model_len if model.mixers else None,
    )


def remembered(make: Callable[[Deployment], Made]) -> Callable[[Deployment], Made]:
    """A function of a deployment that is worked out once for all that agree on what counts."""
    known: dict[Hashable, Made] = {}

    @wraps(make)
    def found(deployment: Deployment) -> Made:
        key = what_counts(deployment)
        if key not in known:
            if len(known) >= MOST:
                known.clear()
            known[key] = make(deployment)
        return known[key]

    return found
