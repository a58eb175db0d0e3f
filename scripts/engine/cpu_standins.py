"""What the CPU build of vLLM has to be told to answer as it would on CUDA."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec

import vllm.config.vllm
import vllm.triton_utils
from vllm.model_executor.layers.fused_moe.experts.cpu_moe import CPUUnquantizedExperts
from vllm.v1.attention.backend import MultipleOf
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend
from vllm.v1.attention.backends.mla.cpu_mla import CPUMLAImpl
from vllm.v1.kv_cache_interface import KVCacheSpec

from standins import prepare_vllm

P = ParamSpec("P")


def prepare_cpu() -> None:
    """Replaces the functions that make the CPU differ from a GPU."""
    prepare_vllm()
    # CUDA's model runner, the only one with prefill-context parallelism, is chosen with Triton.
    vllm.config.vllm.HAS_TRITON = True
    # The placeholder vLLM puts in Triton's place lacks a function some layers call.
    vllm.triton_utils.triton.set_allocator = lambda _: None
    # The CPU's kernel wants widths that CUDA's does not; what is held is the same.
    CPUUnquantizedExperts.is_supported_config = staticmethod(lambda *_: (True, None))
    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(flash_attention_blocks)
    CPUMLAImpl.__init__ = keeping_dcp(CPUMLAImpl.__init__)


def flash_attention_blocks(kv_cache_spec: KVCacheSpec | None = None) -> list[MultipleOf]:  # noqa: ARG001
    """The block sizes FlashAttention runs; the CPU's multiples of 32 would widen window layers."""
    return [MultipleOf(16)]


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
