"""Rules of caches: dtypes that no attention back end takes, states, layers that share a cache."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

from vllm_parallel.block import Attention, GroupedQueryAttention
from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    config_rule,
    load_rule,
)
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import UnevenSplitError
from vllm_parallel.kv import KvGroup, KvPlan
from vllm_parallel.kv.backends import TURBOQUANT
from vllm_parallel.kv.choice import choose
from vllm_parallel.kv.layers import need_of
from vllm_parallel.kv.memory import remembered
from vllm_parallel.kv.paging import DEFAULT_BLOCK
from vllm_parallel.kv.plan import slots_of
from vllm_parallel.kv.words import cache_word
from vllm_parallel.layout import pipeline_bounds

VLLM: Final = "vllm/config/vllm.py"
NO_PAGE_SIZE: Final = (
    "KV cache layout LBNHC cannot express this model's mixed page sizes ([]); a backend should "
    "declare block-outermost supported layouts (e.g. BLHNC), or set VLLM_KV_CACHE_LAYOUT=BLHNC."
)


class Without(NamedTuple):
    """A layer that no back end takes."""

    head_size: int
    word: str
    block_size: int | None


@remembered
def without_backend(d: Deployment) -> Attention | None:
    """The first attention that vLLM has no back end for.

    Without a named GPU only the cache dtype is held against Hopper's.
    """
    slots, numbers = slots_of(d)
    for number in dict.fromkeys(numbers):
        block, skipped = slots[number]
        if block.attention is None:
            continue
        need = need_of(block.attention, d, "auto" if skipped else cache_word(d))
        if d.cluster.gpu is None:
            need = need._replace(dtype=Dtype.BFLOAT16)
        if choose(need) is None:
            return block.attention
    return None


def chunks_in_turboquant(d: Deployment) -> bool:
    """Whether TurboQuant's back end is given a chunked layer that is left out of it."""
    if cache_word(d) not in TURBOQUANT or not any(a.chunk for a in d.model.grouped):
        return False
    slots, numbers = slots_of(d)
    left_out = [slots[number][0].attention for number in set(numbers) if slots[number][1]]
    return any(isinstance(a, GroupedQueryAttention) and a.chunk is not None for a in left_out)


def what_has_none(d: Deployment) -> Without | None:
    """What that attention asks for."""
    attention = without_backend(d)
    if attention is None:
        return None
    need = need_of(attention, d, cache_word(d))
    return Without(need.head_size, need.word, need.block_size)


def groups_of(d: Deployment) -> tuple[KvGroup, ...] | str:
    """The groups of layers, or why there are none; other rules say why a mixer is not cut."""
    try:
        return KvPlan.of(d).groups
    except UnevenSplitError:
        return ()


def refusal_to_group(d: Deployment) -> str | None:
    """Why the caches cannot be brought into groups; asked only where layers differ."""
    if len(d.model.kinds) == 1 and not d.model.mixers:
        return None
    groups = groups_of(d)
    return groups if isinstance(groups, str) else None


def smallest_block(d: Deployment) -> int:
    """Tokens of the smallest block among the groups of layers."""
    groups = groups_of(d)
    blocks = [] if isinstance(groups, str) else [group.spec.block_size for group in groups]
    return min(blocks, default=DEFAULT_BLOCK)


def refusal_of_empty_stage(d: Deployment) -> str | None:
    """What vLLM dies with where a stage has layers and none of them a cache."""
    if not 1 < d.layout.pp <= d.model.layers:
        return None
    groups = groups_of(d)
    plan = None if isinstance(groups, str) or not groups else KvPlan.of(d)
    if plan is None or all(plan.caches(stage) for stage in range(d.layout.pp)):
        return None
    return NO_PAGE_SIZE if len(groups) > 1 else "integer division or modulo by zero"


class Lender(NamedTuple):
    """A layer that reads a cache, and the layer that keeps it."""

    layer: int
    target: int


def lender_elsewhere(d: Deployment) -> Lender | None:
    """The first layer whose cache is kept on another stage, with the layer that keeps it."""
    if d.layout.pp == 1 or not any(a.borrows_kv for a in d.model.grouped):
        return None
    keeps: dict[tuple[int | None, int | None], int] = {}
    starts = {
        n: start
        for start, stop in pairwise(pipeline_bounds(d.model.layers, d.layout.pp))
        for n in range(start, stop)
    }
    for layer, kind in enumerate(d.model.pattern):
        attention = d.model.kinds[kind].attention
        if not isinstance(attention, GroupedQueryAttention):
            continue
        sight = attention.window, attention.chunk
        if not attention.borrows_kv:
            keeps[sight] = layer
        elif sight in keeps and keeps[sight] < starts[layer]:
            return Lender(layer, keeps[sight])
    return None


# Tested as soon as the cache's config is made.
TURBOQUANT_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    config_rule(
        name="turboquant-finds-attention",
        broken=lambda d: (
            bool(d.model.mixers)
            and cache_word(d) in TURBOQUANT
            and all(kind.mixer for kind in d.model.kinds if kind.attention)
        ),
        says="TurboQuant KV cache requires identifiable full-attention layers, but none were found "
        "in the hybrid model config.",
        fix="use another --kv-cache-dtype: each layer of {model.name} has attention beside a mixer",
        source="vllm/model_executor/layers/quantization/turboquant/config.py, "
        "get_boundary_skip_layers",
        known=Known.RAISED,
    ),
)

STATE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    config_rule(
        name="mamba-block-needs-prefix-caching",
        broken=lambda d: (
            d.settings.caches.mamba_block_size not in (None, d.max_model_len)
            and not d.prefix_caching
        ),
        says="--mamba-block-size can only be set with --enable-prefix-caching",
        fix="drop --mamba-block-size",
        source=f"{VLLM}, validate_mamba_block_size",
        known=Known.RAISED,
    ),
)

BACKEND_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="attention-backend",
        broken=lambda d: without_backend(d) is not None,
        says="No valid attention backend found for cuda: head_size={options.head_size}, "
        "kv_cache_dtype={options.word}, block_size={options.block_size}",
        options=what_has_none,
        fix="use another --kv-cache-dtype, or no --block-size: {model.name} asks for what no "
        "kernel reads",
        source="vllm/platforms/cuda.py, get_attn_backend_cls",
        known=Known.RAISED,
        bare=True,
    ),
    load_rule(
        name="turboquant-without-chunks",
        broken=chunks_in_turboquant,
        says="Unknown TurboQuant cache dtype: 'auto'. Valid presets: turboquant_k8v4, "
        "turboquant_4bit_nc, turboquant_k3v4_nc, turboquant_3bit_nc",
        fix="use another --kv-cache-dtype: {model.name} has chunked layers at its ends",
        source="vllm/model_executor/layers/attention/chunked_local_attention.py",
        known=Known.RAISED,
    ),
    load_rule(
        name="shared-cache-on-its-stage",
        broken=lambda d: lender_elsewhere(d) is not None,
        says="Specified KV sharing target layer for model.layers.{options.layer}.self_attn.attn is "
        "not valid: target layer model.layers.{options.target}.self_attn.attn is not a valid "
        "Attention layer in the model.",
        options=lender_elsewhere,
        fix="use fewer pipeline stages: layer {options.layer} reads the cache of layer "
        "{options.target}",
        source="vllm/model_executor/layers/attention/attention.py, validate_kv_sharing_target",
        known=Known.RAISED,
        bare=True,  # the names of layers start with what is around the language model
    ),
)

GROUP_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="caches-in-groups",
        broken=lambda d: refusal_to_group(d) is not None,
        says="{options}",
        options=refusal_to_group,
        fix="drop --disable-hybrid-kv-cache-manager",
        source="vllm/v1/core/kv_cache_utils.py, get_kv_cache_groups",
        known=Known.RAISED,
    ),
)

# Tested once memory has been judged.
STAGE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="stages-with-caches",
        broken=lambda d: refusal_of_empty_stage(d) is not None,
        says="{options}",
        options=refusal_of_empty_stage,
        fix="use fewer pipeline stages, so that each has a layer with a cache",
        source="vllm/v1/core/kv_cache_utils.py, get_kv_cache_config_from_groups",
        known=Known.RAISED,
    ),
)
