"""What vLLM has to be told to answer, on a machine without GPUs, as it would on CUDA."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import torch
import vllm.config.vllm
import vllm.triton_utils
from vllm.model_executor.layers.fused_moe import expert_map_manager
from vllm.model_executor.layers.fused_moe.experts.cpu_moe import CPUUnquantizedExperts
from vllm.model_executor.models import registry
from vllm.v1.attention.backend import MultipleOf
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend
from vllm.v1.attention.backends.mla.cpu_mla import CPUMLAImpl
from vllm.v1.core import kv_cache_utils
from vllm.v1.kv_cache_interface import KVCacheSpec

from children import NoRoomError

P = ParamSpec("P")
T = TypeVar("T")


def prepare_vllm() -> None:
    """Replaces the functions of vLLM that need a GPU, or that make the CPU differ from one."""
    # CUDA's model runner, the only one with prefill-context parallelism, is chosen with Triton.
    vllm.config.vllm.HAS_TRITON = True
    # The placeholder vLLM puts in Triton's place lacks a function some layers call.
    vllm.triton_utils.triton.set_allocator = lambda _: None
    # vLLM inspects model classes in a process of its own to keep CUDA out of this one.
    registry._run_in_subprocess = lambda inspect: inspect()  # noqa: SLF001
    expert_map_manager.determine_expert_map = on_cpu(expert_map_manager.determine_expert_map)
    # The CPU's kernel wants widths that CUDA's does not; what is held is the same.
    CPUUnquantizedExperts.is_supported_config = staticmethod(lambda *_: (True, None))
    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(flash_attention_blocks)
    CPUMLAImpl.__init__ = keeping_dcp(CPUMLAImpl.__init__)
    for name in ("_check_enough_kv_cache_memory", "_auto_fit_max_model_len"):
        setattr(kv_cache_utils, name, for_memory(getattr(kv_cache_utils, name)))


def flash_attention_blocks(kv_cache_spec: KVCacheSpec | None = None) -> list[MultipleOf]:  # noqa: ARG001
    """The block sizes FlashAttention runs; the CPU's multiples of 32 would widen window layers."""
    return [MultipleOf(16)]


def on_cpu(work: Callable[P, T]) -> Callable[P, T]:
    """The function with its tensors on the CPU: those on the meta device cannot be read back."""

    @functools.wraps(work)
    def on_cpu_work(*words: P.args, **named: P.kwargs) -> T:
        with torch.device("cpu"):
            return work(*words, **named)

    return on_cpu_work


def keeping_dcp(
    init: Callable[Concatenate[CPUMLAImpl, P], None],
) -> Callable[Concatenate[CPUMLAImpl, P], None]:
    """The initialiser without its reset of the DCP width, from which layers see what to refuse."""

    @functools.wraps(init)
    def keeping_init(self: CPUMLAImpl, /, *words: P.args, **named: P.kwargs) -> None:
        width = self.dcp_world_size
        init(self, *words, **named)
        self.dcp_world_size = width

    return keeping_init


def for_memory(check: Callable[P, None]) -> Callable[P, None]:
    """The check with its ValueError turned into NoRoomError."""

    @functools.wraps(check)
    def named_check(*words: P.args, **named: P.kwargs) -> None:
        try:
            check(*words, **named)
        except ValueError as refusal:
            raise NoRoomError(str(refusal)) from refusal

    return named_check
