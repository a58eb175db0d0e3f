"""What the CPU build would answer otherwise than CUDA: such a question gets an error instead."""

from __future__ import annotations

from vllm.config import VllmConfig
from vllm.platforms import current_platform

from children import Refusal
from questions import Question, QuestionError

ON_CUDA = bool(current_platform.is_cuda())  # or on its stand-in, which reaches everything

# Refusals in words of the CPU platform's own, or for want of kernels and packages.
CPU_WORDS = (
    "Expert parallelism load balancing is only supported on",
    "Sparse Attention is not supported on CPU",
    "MoE backend supports the deployment configuration",
    "failed to be inspected",
    "module 'triton' has no attribute",
)
PLAIN_CACHES = frozenset({"auto", "float16", "bfloat16"})
FP8_CACHES = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2"})


class OutOfReachError(QuestionError):
    """A question that only CUDA can answer."""


def check_refusal(question: Question, refusal: Refusal, *, quantized: bool = False) -> None:
    """Passes a refusal that CUDA would give too.

    Raises:
        OutOfReachError: It is the CPU's own, or may be.
    """
    if ON_CUDA:
        return
    # The CPU turns prefix caching off for MLA, then refuses what needs it.
    asked_off = question.args.get("enable_prefix_caching") is False
    own = refusal.message == "AuxOutput Connector requires prefix caching." and not asked_off
    own |= any(words in refusal.message for words in CPU_WORDS)
    # A quantised layer is refused by its kernel, and the CPU's kernels are not CUDA's.
    own |= quantized and refusal.stage == "load"
    if own:
        raise OutOfReachError(
            f"only CUDA can answer; the CPU build says at {refusal.stage}: {refusal.message}"
        )


def check_config(question: Question, config: VllmConfig) -> None:
    """Passes an accepted config that CUDA would accept and read alike.

    Raises:
        OutOfReachError: The CPU platform dropped what was to be checked, or has other back ends.
    """
    if ON_CUDA:
        return
    if question.args.get("enable_dbo"):
        raise OutOfReachError("only CUDA can answer: the CPU build ignores enable_dbo")
    cache = config.cache_config.cache_dtype
    if cache in PLAIN_CACHES or (cache in FP8_CACHES and not config.model_config.use_mla):
        return
    if question.ask == "build":
        raise OutOfReachError(f"only CUDA can answer: kv_cache_dtype {cache} decides the back end")
