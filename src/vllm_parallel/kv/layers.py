"""The back end of each layer, and the keys and values that it keeps."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import (
    Attention,
    Block,
    GroupedQueryAttention,
    LatentAttention,
    rank_kv_heads,
)
from vllm_parallel.deployment import HOPPER, Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.kv.backends import FP8, PLAIN, UNKNOWN_CHIP, Backend, Need
from vllm_parallel.kv.choice import NOT_NVIDIA, choose
from vllm_parallel.kv.paging import Paging
from vllm_parallel.kv.specs import KvKind, KvSpec
from vllm_parallel.kv.words import (
    DS_MLA_BYTES,
    cache_word,
    element_bytes,
    packed_bytes,
    served_word,
)
from vllm_parallel.model import ModelConfig

INDEX_GROUP: Final = 128  # elements of an indexer's key that share one fp32 scale
ON_ALL_CHIPS: Final = PLAIN | FP8 | {"fp8_e5m2"}
Slot = tuple[Block, bool]  # a kind of layer, and whether its cache is left as it is


def chip_of(deployment: Deployment) -> int:
    """Compute capability times ten, 0 of a GPU that is not NVIDIA's; without a GPU Hopper's."""
    gpu = deployment.cluster.gpu
    architecture = HOPPER if gpu is None else gpu.architecture
    return int(architecture) if architecture.isdigit() else UNKNOWN_CHIP


def widest_head(model: ModelConfig) -> int:
    """The head size that vLLM takes for the whole model.

    Source: vllm/config/model.py, get_head_size (v0.32.0)
    """
    return max((head_size(attention) for attention in model.attentions), default=0)


def head_size(attention: Attention) -> int:
    """Elements of one key, as its back end sees it."""
    if isinstance(attention, LatentAttention):
        return attention.latent_dim
    return attention.head_dim


def need_of(attention: Attention, deployment: Deployment, word: str) -> Need:
    """What a layer asks of its back end. A block size is held against a GPU that is named only."""
    layout, model = deployment.layout, deployment.model
    named = deployment.cluster.gpu is not None
    latent = attention if isinstance(attention, LatentAttention) else None
    grouped = attention if isinstance(attention, GroupedQueryAttention) else None
    return Need(
        chip=chip_of(deployment),
        head_size=head_size(attention),
        dtype=model.dtype,
        word=word,
        block_size=deployment.settings.block_size if named else None,
        widest=widest_head(model),
        latent=latent is not None,
        sparse=latent is not None and model.traits.sparse_attention,
        sinks=grouped is not None and grouped.sinks,
        windowed=grouped is not None and grouped.window is not None,
        dcp=layout.dcp > 1,
        pcp=layout.pcp > 1,
        heads=attention.heads // layout.tp,
        nope_dim=latent.nope_dim if latent else 0,
    )


def backend_of(
    attention: Attention, deployment: Deployment, *, skipped: bool = False
) -> Backend | None:
    """The back end of an attention layer, None where vLLM has none for it."""
    word = "auto" if skipped else cache_word(deployment)
    return choose(need_of(attention, deployment, word))


def backends_of(slots: tuple[Slot, ...], deployment: Deployment) -> list[Backend]:
    """The distinct back ends of layers, in their order; layers that have none are left out.

    Source: vllm/platforms/interface.py, _find_non_ssm_backends (v0.32.0)
    """
    found: dict[Backend, None] = {}
    for block, skipped in slots:
        attention = block.attention
        if attention is None:
            continue
        if isinstance(attention, LatentAttention) and attention.indexer is not None:
            from vllm_parallel.kv.latent import INDEXER  # noqa: PLC0415  # sparse models pay

            found[INDEXER] = None
        backend = backend_of(attention, deployment, skipped=skipped)
        if backend is not None:
            found[backend] = None
    return list(found)


def head_bytes(head_dim: int, word: str, dtype: Dtype, backend: Backend | None) -> int:
    """Bytes of one token's key and value in one head, as this back end stores them."""
    if backend is not None and word in backend.packs:
        return packed_bytes(word, head_dim, head_dim)
    return 2 * head_dim * element_bytes(word, dtype)


def attention_spec(
    attention: Attention, deployment: Deployment, paging: Paging, *, skipped: bool
) -> KvSpec:
    """The keys and values of a layer, KV heads cut over tp but never below one.

    Source: vllm/model_executor/layers/attention/attention.py, get_kv_cache_spec (v0.32.0)
    """
    backend = backend_of(attention, deployment, skipped=skipped)
    word = served_word("auto" if skipped else cache_word(deployment), backend)
    if backend is NOT_NVIDIA and word not in ON_ALL_CHIPS:
        raise CatalogError(
            subject=f"--kv-cache-dtype {word}",
            problem="is not modelled on GPUs of this vendor",
            fix=f"modelled are {', '.join(sorted(ON_ALL_CHIPS))}",
        )
    if isinstance(attention, LatentAttention):
        return _latent_spec(attention, word, deployment.model.dtype, paging.block_size)
    a, block, padded = attention, paging.block_size, None
    heads = rank_kv_heads(a.kv_heads, deployment.layout.tp)
    held = head_bytes(a.head_dim, word, deployment.model.dtype, backend)
    if a.window and backend is not None:
        padded = paging.skipped_page
        budget = block if padded is None else padded // (heads * held)
        sizes = backend.kernel_sizes(a.head_dim, word, chip_of(deployment))
        block = backend.window_block(budget, sizes)
    return KvSpec(
        kind=KvKind.WINDOW if a.window else KvKind.CHUNK if a.chunk else KvKind.FULL,
        heads=heads,
        key_size=a.head_dim,
        value_size=a.head_dim,
        word=word,
        head_bytes=held,
        block_size=block,
        reach=a.window or a.chunk or 0,
        padded_bytes=padded,
    )


def _latent_spec(attention: LatentAttention, word: str, dtype: Dtype, block_size: int) -> KvSpec:
    """One vector a token, for keys and values at once.

    Source: vllm/model_executor/layers/attention/mla_attention.py, get_kv_cache_spec (v0.32.0)
    """
    size = attention.latent_dim
    return KvSpec(
        kind=KvKind.LATENT,
        heads=1,
        key_size=size,
        value_size=0,
        word=word,
        head_bytes=DS_MLA_BYTES.get(word, size * element_bytes(word, dtype)),
        block_size=block_size,
    )


def index_spec(head_dim: int, block_size: int) -> KvSpec:
    """The keys that an indexer keeps: bytes, and a scale for each group of them.

    Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV32IndexerCache (v0.32.0)
    """
    size = head_dim + head_dim // INDEX_GROUP * Dtype.FLOAT32.bytes
    return KvSpec(
        kind=KvKind.INDEX,
        heads=1,
        key_size=size,
        value_size=0,
        word="auto",
        head_bytes=size,
        block_size=block_size,
    )
