"""Rules that workers meet: while layers are built, a back end is chosen, the cache is planned."""

from __future__ import annotations

from typing import Final, NamedTuple

from vllm_parallel.block import (
    DenseMlp,
    Experts,
    GroupedQueryAttention,
    LatentAttention,
    rank_kv_heads,
)
from vllm_parallel.constraints.caches import BACKEND_RULES, GROUP_RULES, STAGE_RULES
from vllm_parallel.constraints.constraint import (
    NOT_DIVISIBLE,
    Constraint,
    Known,
    bare_assert,
    divisors,
    load_rule,
)
from vllm_parallel.constraints.context import (
    BOTH_CONTEXT_RULES,
    INTERLEAVE_RULES,
    PCP_BACKEND_RULES,
    PCP_RULES,
    WINDOW_RULES,
)
from vllm_parallel.constraints.experts import EXPERT_RULES, REDUNDANT_EXPERT_RULES
from vllm_parallel.constraints.mixers import MIXER_RULES
from vllm_parallel.constraints.nodes import NODE_RULES
from vllm_parallel.constraints.sparse import SPARSE_RULES
from vllm_parallel.constraints.towers import LATE_TOWER_RULES, TOWER_RULES
from vllm_parallel.deployment import Deployment
from vllm_parallel.units import round_up
from vllm_parallel.weight import VOCABULARY_MULTIPLE

PREFILL_DIMENSIONS: Final = ((128, 64, 128), (192, 64, 256), (64, 64, 128))
LAST_WITHOUT_OTHER_PREFILL: Final = 90  # compute capability 9.0


def padded_vocabulary(d: Deployment) -> int:
    """Rows of the embedding once padded."""
    return round_up(d.model.vocab, VOCABULARY_MULTIPLE)


def kv_heads_uneven(d: Deployment) -> bool:
    """Neither do the KV heads divide by tp, nor tp by the KV heads."""
    tp = d.layout.tp
    return any(a.kv_heads % tp if a.kv_heads >= tp else tp % a.kv_heads for a in d.model.grouped)


class RankHeads(NamedTuple):
    """Heads of one layer on one rank."""

    queries: int
    kv_heads: int


def rank_heads(d: Deployment) -> RankHeads:
    """The heads of the model's first attention on a rank."""
    tp = d.layout.tp
    return RankHeads(d.model.heads // tp, rank_kv_heads(d.model.kv_heads, tp))


def uneven_queries(d: Deployment, attention: GroupedQueryAttention) -> bool:
    """Whether a rank's query heads cannot be dealt to its KV heads."""
    tp = d.layout.tp
    return attention.heads // tp % rank_kv_heads(attention.kv_heads, tp) != 0


def copies_shared_experts(d: Deployment) -> bool:
    """Whether shared experts are whole on every rank."""
    return d.model.traits.sequence_parallel_experts and d.sequence_parallel_experts


def tensor_widths(d: Deployment) -> list[int]:
    """Widths that tp cuts: dense MLPs and shared experts, unless they are copied."""
    mlps = [kind.mlp for kind in d.model.kinds]
    copies = copies_shared_experts(d)
    dense = [
        mlp.intermediate
        for mlp in mlps
        if isinstance(mlp, DenseMlp)
        and not mlp.copied_uneven
        and not (mlp.with_tokens and copies and d.layout.pp == 1)
    ]
    shared = [mlp.shared_intermediate for mlp in mlps if isinstance(mlp, Experts)]
    return dense if copies else dense + [width for width in shared if width]


def lacks_prefill(d: Deployment) -> bool:
    """Whether an NVIDIA GPU up to Hopper has no prefill kernel for this latent attention."""
    attention, gpu = d.model.first_attention, d.cluster.gpu
    if not isinstance(attention, LatentAttention) or d.model.traits.sparse_attention:
        return False
    if gpu is None or not gpu.architecture.isdigit():
        return False
    dimensions = (attention.nope_dim, attention.rope_dim, attention.value_dim)
    old = int(gpu.architecture) <= LAST_WITHOUT_OTHER_PREFILL
    return old and dimensions not in PREFILL_DIMENSIONS


def kv_widths(d: Deployment) -> list[int]:
    """Every tp that splits or copies the KV heads evenly."""
    heads, kv_heads = d.model.heads, d.model.kv_heads
    return [tp for tp in divisors(heads) if kv_heads % tp == 0 or tp % kv_heads == 0]


LOAD_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    *NODE_RULES,
    *TOWER_RULES,
    load_rule(
        name="windows-on-all-layers",
        broken=lambda d: d.model.traits.window_from is not None,
        says="Sliding window for some but all layers is not supported. This model uses sliding "
        "window but `max_window_layers` = {model.traits.window_from} is less than "
        "`num_hidden_layers` = {model.layers}. Please open an issue to discuss this feature.",
        fix="set use_sliding_window to false in the config, with --max-model-len inside the window",
        source="vllm/model_executor/models/qwen2.py, Qwen2Model",
        known=Known.RECORDED,
    ),
    load_rule(
        name="vocabulary-divides-by-tp",
        broken=lambda d: padded_vocabulary(d) % d.layout.tp != 0,
        says=NOT_DIVISIBLE,
        options=padded_vocabulary,
        fix="use a --tensor-parallel-size that divides the padded vocabulary of {options}",
        source="vllm/distributed/utils.py, divide",
        known=Known.RECORDED,
    ),
    *MIXER_RULES,
    bare_assert(
        name="kv-heads-divide-by-tp",
        broken=kv_heads_uneven,
        says="tp={layout.tp} neither divides {model.kv_heads} KV heads nor is a multiple of them.",
        options=kv_widths,
        fix="use a --tensor-parallel-size of {options}",
        source="vllm/model_executor/layers/linear.py, QKVParallelLinear",
    ),
    load_rule(
        name="kv-heads-without-copies",
        broken=lambda d: any(
            not a.copies_kv_heads and d.layout.tp > a.kv_heads for a in d.model.grouped
        ),
        says="integer modulo by zero",
        options=lambda d: divisors(d.model.kv_heads),
        fix="use a --tensor-parallel-size of {options}: {model.name} keeps no copies of KV heads",
        source="vllm/model_executor/models/gpt_oss.py, OAIAttention",
        known=Known.RECORDED,
    ),
    load_rule(
        name="query-heads-divide-by-kv-heads",
        broken=lambda d: any(uneven_queries(d, a) for a in d.model.grouped),
        says="num_heads ({options.queries}) is not divisible by num_kv_heads ({options.kv_heads})",
        options=rank_heads,
        fix="{model.heads} query heads cannot share {model.kv_heads} KV heads evenly: check the "
        "config",
        source="vllm/model_executor/layers/attention/attention.py, Attention",
        known=Known.RECORDED,
    ),
    *PCP_BACKEND_RULES,
    *BACKEND_RULES,
    load_rule(
        name="mla-prefill-dimensions",
        broken=lacks_prefill,
        says="No valid MLA prefill backend found with MLAPrefillSelectorConfig(dtype=torch."
        "{model.dtype}, mla_dimensions=(qk_nope_head_dim={model.attention.nope_dim}, "
        "qk_rope_head_dim={model.attention.rope_dim}, v_head_dim={model.attention.value_dim}))",
        fix="run {model.name} on a Blackwell GPU: {cluster.gpu.label} has no kernel for its heads",
        source="vllm/platforms/interface.py, get_mla_prefill_backend_cls",
        known=Known.RAISED,
        bare=True,
    ),
    *BOTH_CONTEXT_RULES,
    *SPARSE_RULES,
    bare_assert(
        name="mlp-divides-by-tp",
        broken=lambda d: any(width % d.layout.tp for width in tensor_widths(d)),
        says="tp={layout.tp} does not divide the MLP width of {options}.",
        options=lambda d: next(w for w in tensor_widths(d) if w % d.layout.tp),
        fix="use a --tensor-parallel-size that divides {options}",
        source="vllm/model_executor/layers/linear.py, MergedColumnParallelLinear",
    ),
    *EXPERT_RULES,
    *LATE_TOWER_RULES,
    *REDUNDANT_EXPERT_RULES,
    *WINDOW_RULES,
    *GROUP_RULES,
    *PCP_RULES,
)

# Tested once memory has been judged: blocks are counted, then the block size is validated.
LATE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    bare_assert(
        name="stages-at-most-layers",
        broken=lambda d: d.layout.pp > d.model.layers,
        says="{layout.pp} pipeline stages for {model.layers} layers leave stages empty.",
        fix="use a --pipeline-parallel-size of at most {model.layers}",
        source="vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs",
    ),
    *STAGE_RULES,
    *INTERLEAVE_RULES,
)
