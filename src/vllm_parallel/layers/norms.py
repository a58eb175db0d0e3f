"""Norms over the hidden size."""

from __future__ import annotations

from vllm_parallel.layers.storage import Storage
from vllm_parallel.weight import Weight


def norm_weights(names: tuple[str, ...], storage: Storage, *, bias: bool = False) -> list[Weight]:
    """One weight for each norm of a block, whole on every rank, and a bias where there are any."""
    kinds = ("weight", "bias") if bias else ("weight",)
    return [storage.vector(f"{name}.{kind}", *storage.across) for name in names for kind in kinds]
