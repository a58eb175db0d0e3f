"""The states of mixers on pages of a stage, and the block of attention that fits them."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Final

from vllm_parallel.block import rank_kv_heads
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.kv.backends import TURBOQUANT, Backend
from vllm_parallel.kv.layers import head_bytes, widest_head
from vllm_parallel.kv.paging import DEFAULT_BLOCK, Paging
from vllm_parallel.kv.state import StateSpec
from vllm_parallel.kv.words import cache_word, element_bytes, packed_bytes, skipped_layers
from vllm_parallel.mixer import Mamba2, Mixer, StateFlags, States
from vllm_parallel.units import ceil_div, round_up

LATENT_STEP: Final = 128  # latent attention beside states: blocks are multiples of it


def state_bytes(deployment: Deployment) -> int:
    """Bytes of the largest state that a mixer of the model keeps on a rank."""
    return max(
        sum(state.bytes for state in states_of(mixer, deployment))
        for mixer in deployment.model.mixers
    )


def states_of(mixer: Mixer, deployment: Deployment) -> States:
    """The states of one layer on one rank, in the dtypes that are asked for."""
    caches = deployment.settings.caches
    flags = StateFlags(
        conv=_dtype(caches.mamba_cache_dtype) or deployment.model.dtype,
        temporal=_dtype(caches.mamba_ssm_cache_dtype),
        speculative_tokens=deployment.draft_tokens,
    )
    return mixer.states(deployment.layout.tp, flags)


def _dtype(word: str) -> Dtype | None:
    return None if word == "auto" else Dtype(word)


def state_spec(mixer: Mixer, deployment: Deployment, paging: Paging) -> StateSpec:
    """The states of a mixer, on pages of a stage.

    Source: vllm/model_executor/layers/mamba/abstract.py, get_kv_cache_spec (v0.32.0)
    """
    settings, drafts = deployment.settings, deployment.draft_tokens
    states = states_of(mixer, deployment)
    kept, block = 1 + drafts, settings.caches.mamba_block_size or deployment.max_model_len
    if deployment.prefix_caching:
        kept = 2 + drafts + isinstance(mixer, Mamba2)
        alone = settings.caches.mamba_block_size or settings.block_size or DEFAULT_BLOCK
        block = paging.block_size if paging.aligned else alone
    return StateSpec(
        states=tuple((state.shape, state.dtype) for state in states),
        state_bytes=sum(state.bytes for state in states),
        block_size=block,
        blocks_kept=kept,
        padded_bytes=paging.state_page,
    )


def token_bytes(deployment: Deployment, backend: Backend) -> int:
    """Bytes of one token in an attention layer, as the alignment with states counts them.

    Source: vllm/platforms/interface.py, _align_hybrid_block_size (v0.32.0)
    """
    model, word = deployment.model, cache_word(deployment)
    width = model.unread_head_dim or widest_head(model)
    if model.is_latent:
        return width * element_bytes(word, model.dtype)
    heads = rank_kv_heads(model.kv_heads, deployment.layout.tp)
    if word in TURBOQUANT:
        packed, plain = packed_bytes(word, width, width), 2 * width * model.dtype.bytes
        return heads * (lcm(packed, plain) if skipped_layers(deployment) else packed)
    return heads * head_bytes(width, word, model.dtype, backend)


def aligned(
    deployment: Deployment, backend: Backend, sizes: Sequence[tuple[int, ...]], block: int
) -> Paging:
    """The block, raised until a page of it holds a state, and the page that states are padded to.

    `sizes` are the kernel blocks of the back ends, those of the first, `backend`, in front.

    Source: vllm/platforms/interface.py, _align_hybrid_block_size (v0.32.0)
    """
    token, held = token_bytes(deployment, backend), state_bytes(deployment)
    step = max(min(sizes[0]), block)
    if deployment.model.is_latent:
        step = max(step, LATENT_STEP)
    needed = step * ceil_div(held, step * token)
    block = max(block, round_up(needed, lcm(*(min(each) for each in sizes))))
    page = block * token
    return Paging(block_size=block, state_page=None if page == held else page, aligned=True)
