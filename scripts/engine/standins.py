"""What vLLM has to be told on a machine without GPUs, whichever platform it believes in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from vllm.model_executor.layers.fused_moe import expert_map_manager
from vllm.model_executor.models import registry
from vllm.v1.core import kv_cache_utils

from children import NoRoomError

P = ParamSpec("P")
T = TypeVar("T")


def prepare_vllm() -> None:
    """Replaces the functions of vLLM that need a process or a device of their own."""
    # vLLM inspects model classes in a process of its own to keep CUDA out of this one.
    registry._run_in_subprocess = lambda inspect: inspect()  # noqa: SLF001
    expert_map_manager.determine_expert_map = on_cpu(expert_map_manager.determine_expert_map)
    for name in ("_check_enough_kv_cache_memory", "_auto_fit_max_model_len"):
        setattr(kv_cache_utils, name, for_memory(getattr(kv_cache_utils, name)))


def on_cpu(work: Callable[P, T]) -> Callable[P, T]:
    """The function with its tensors on the CPU: those on the meta device cannot be read back."""

    @functools.wraps(work)
    def on_cpu_work(*words: P.args, **named: P.kwargs) -> T:
        with torch.device("cpu"):
            return work(*words, **named)

    return on_cpu_work


def for_memory(check: Callable[P, None]) -> Callable[P, None]:
    """The check with its ValueError turned into NoRoomError."""

    @functools.wraps(check)
    def named_check(*words: P.args, **named: P.kwargs) -> None:
        try:
            check(*words, **named)
        except ValueError as refusal:
            raise NoRoomError(str(refusal)) from refusal

    return named_check
