"""What vLLM has to be told on its stand-in for CUDA, and what a question changes of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vllm.distributed import get_ep_group
from vllm.model_executor.layers.fused_moe import all2all_utils
from vllm.platforms import current_platform
from vllm.v1.attention.ops import cp_common
from vllm.vllm_flash_attn import flash_attn_interface

from absent import Absent
from cuda_device import GPU
from questions import Question, QuestionError, Row
from standins import prepare_vllm

MANY = 1 << 20  # GPUs, where those of a node are not counted


def prepare_cuda() -> None:
    """Replaces the functions of vLLM that would use the GPU."""
    prepare_vllm()
    # Multicast between GPUs is probed by using it.
    cp_common.symm_mem_available = False
    all2all_utils.get_ep_all2all_manager = Dispatcher


class Dispatcher(Absent):
    """Sends tokens to experts; once loaded, these ask it how many ranks there are."""

    def __init__(self) -> None:
        super().__init__("all2all")
        self.world_size = get_ep_group().world_size


def on_gpu(
    answer: Callable[[Question, Path], list[Row]],
) -> Callable[[Question, Path], list[Row]]:
    """The answer with the GPUs that the question has."""

    def on_gpu_answer(question: Question, root: Path) -> list[Row]:
        if question.gpu not in (None, GPU):
            raise QuestionError(f"gpu {question.gpu!r}; the stand-in is for {GPU} only")
        current_platform.gpus = question.gpus_per_node or MANY
        # The Gemma-4 kind has heads too wide for FlashAttention 3 and is served with 4.
        kind = str(question.config.get("model_type", ""))
        flash_attn_interface.FA4_AVAILABLE = kind.startswith("gemma4")
        return [{"gpu": GPU} | row for row in answer(question, root)]

    return on_gpu_answer
