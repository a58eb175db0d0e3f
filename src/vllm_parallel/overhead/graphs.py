"""What capturing CUDA graphs takes, which 0.32.0 estimates and subtracts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.block import Experts, GroupedQueryAttention, LatentAttention
from vllm_parallel.deployment import BLACKWELL, HOPPER, Deployment
from vllm_parallel.overhead.coefficients import GraphCost
from vllm_parallel.shard import Shard
from vllm_parallel.term import Span
from vllm_parallel.units import ceil_div

LARGEST: Final = 512
LARGEST_ON_BLACKWELL: Final = 1024
LARGEST_OF_GPT_OSS: Final = 1024
GPT_OSS: Final = "GptOssForCausalLM"
MEASURED_SIZES: Final = 51  # batch sizes of the launches that GraphCost comes from
SPLITS: Final = 32
FP32: Final = 4


def capture_sizes(deployment: Deployment) -> tuple[int, ...]:
    """The batch sizes that graphs are captured for; none with `--enforce-eager`.

    Source: vllm/config/vllm.py, _set_cudagraph_sizes, and
    vllm/model_executor/models/config.py, GptOssForCausalLMConfig (v0.32.0)

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.settings import Settings
    >>> from vllm_parallel.layout import Layout
    >>> settings = Settings(max_num_seqs=12, max_num_batched_tokens=2048)
    >>> capture_sizes(Deployment(
    ...     model=load_model("llama-3.1-8b"), layout=Layout(), settings=settings))
    (1, 2, 4, 8, 12, 16, 24)
    """
    if deployment.settings.enforce_eager:
        return ()
    gpu = deployment.cluster.gpu
    blackwell = gpu is not None and gpu.architecture in BLACKWELL
    tokens = deployment.max_num_batched_tokens
    if deployment.model.architecture == GPT_OSS:  # whatever the sequences are
        return _sizes(LARGEST_OF_GPT_OSS, tokens, LARGEST_OF_GPT_OSS)
    default = LARGEST_ON_BLACKWELL if blackwell else LARGEST
    return _sizes(deployment.max_num_seqs, tokens, default)


@lru_cache(maxsize=64)
def _sizes(sequences: int, tokens: int, default: int) -> tuple[int, ...]:
    largest = min(2 * sequences, default, tokens)
    sizes = {1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16), sequences, tokens}
    return tuple(sorted(size for size in sizes if size <= largest))


def graph_bytes(shard: Shard, cost: GraphCost) -> Span:
    """Bytes of the graphs of a rank, and of what attention keeps for the largest."""
    sizes = capture_sizes(shard.deployment)
    if not sizes:
        return Span.exactly(0)
    kinds = shard.deployment.built.kinds
    layers = sum(
        count * (2 if isinstance(kinds[kind].mlp, Experts) else 1)
        for kind, count in shard.kinds.items()
    )
    ends = (
        (cost.base.least, cost.layer.least),
        (cost.base.likely, cost.layer.likely),
        (cost.base.most, cost.layer.most),
    )
    least, likely, most = (
        (base + layer * layers) * len(sizes) // MEASURED_SIZES for base, layer in ends
    )
    splits = attention_splits(shard, sizes[-1])
    return Span(least=least + splits, likely=likely + splits, most=most + splits)


def attention_splits(shard: Shard, largest: int) -> int:
    """The partial outputs of FlashAttention 3, up to 32 for each query head.

    Source: vllm/v1/attention/backends/flash_attn.py, FlashAttentionMetadataBuilder (v0.32.0)
    """
    deployment = shard.deployment
    gpu = deployment.cluster.gpu
    if gpu is not None and gpu.architecture != HOPPER:
        return 0
    widths = []
    for kind in shard.kinds:
        attention = deployment.built.kinds[kind].attention
        match attention:
            case GroupedQueryAttention(head_dim=width) | LatentAttention(kv_lora_rank=width):
                widths.append(ceil_div(attention.heads, shard.cut.tp) * width)
            case None:
                pass
    return largest * max(widths, default=0) * SPLITS * FP32
