"""Norms over the hidden size."""

from __future__ import annotations

from vllm_parallel.layers.storage import Storage
from vllm_parallel.weight import Weight


def norm_weights(names: tuple[str, ...], storage: Storage) -> list[Weight]:
    """One weight for each norm of a block, whole on every rank."""
    return [storage.vector(f"{name}.weight", *storage.across) for name in names]
