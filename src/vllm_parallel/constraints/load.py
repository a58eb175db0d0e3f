"""Rules that workers meet: while layers are built, a back end is chosen, the cache is planned."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

from vllm_parallel.constraints.balancing import counted_engines, local_engines, names_engine
from vllm_parallel.constraints.caches import (
    BACKEND_RULES,
    GROUP_RULES,
    STAGE_RULES,
    smallest_block,
)
from vllm_parallel.constraints.constraint import Constraint, Known, RuleRow, Stage, Test, divisors
from vllm_parallel.constraints.mixers import MIXER_RULES
from vllm_parallel.constraints.sparse import SPARSE_RULES
from vllm_parallel.constraints.towers import LATE_TOWER_RULES, TOWER_RULES
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import pipeline_bounds
from vllm_parallel.model import DenseMlp, Experts, GroupedQueryAttention, LatentAttention
from vllm_parallel.units import round_up
from vllm_parallel.weight import VOCABULARY_MULTIPLE

PCP_MANAGER: Final = "vllm/v1/worker/gpu/pcp_manager.py, PCPManager.validate_config"
MAX_REDUNDANT_EXPERTS: Final = 1023
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
    return RankHeads(d.model.heads // tp, max(1, d.model.kv_heads // tp))


def uneven_queries(d: Deployment, attention: GroupedQueryAttention) -> bool:
    """Whether a rank's query heads cannot be dealt to its KV heads."""
    tp = d.layout.tp
    return attention.heads // tp % max(1, attention.kv_heads // tp) != 0


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


def expert_width_uneven(d: Deployment) -> bool:
    """Whether the slices of an expert would not be equal."""
    experts = d.model.experts
    if experts is None or d.layout.expert_parallel:
        return False
    return experts.intermediate % d.layout.expert_width != 0


def stage_without_experts(d: Deployment) -> bool:
    """Whether some pipeline stage would hold no MoE layer."""
    if d.model.traits.experts_required is None:
        return False
    moe = {n for n, kind in enumerate(d.model.kinds) if isinstance(kind.mlp, Experts)}
    bounds = pairwise(pipeline_bounds(d.model.layers, d.layout.pp))
    return any(moe.isdisjoint(d.model.pattern[start:stop]) for start, stop in bounds)


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


def physical_experts(d: Deployment) -> int:
    """Experts of a layer, redundant ones included."""
    experts = d.model.experts
    return (experts.count if experts else 0) + d.redundant_experts


def interleave(d: Deployment) -> int:
    """Neighbouring tokens that stay on one DCP rank.

    The older `--dcp-kv-cache-interleave-size` takes over only on workers with a KV connector,
    after the check.
    """
    given = d.settings.context.interleave
    return 1 if given is None else given


def deals_blocks(d: Deployment) -> bool:
    """Whether block and interleave are compared; NIXL aligns them by itself."""
    return d.layout.dcp > 1 and d.settings.kv_connector != "NixlConnector"


def interleave_cuts_block(d: Deployment) -> bool:
    """Whether a block is no multiple of the interleave; negative divisors pass in vLLM."""
    size = interleave(d)
    if not deals_blocks(d) or size == 0:
        return False
    block = smallest_block(d)
    return size > block or block % size != 0


class BlockAndInterleave(NamedTuple):
    """The two numbers that have to divide."""

    block_size: int
    interleave: int


def kv_widths(d: Deployment) -> list[int]:
    """Every tp that splits or copies the KV heads evenly."""
    heads, kv_heads = d.model.heads, d.model.kv_heads
    return [tp for tp in divisors(heads) if kv_heads % tp == 0 or tp % kv_heads == 0]


class NodeGroups(NamedTuple):
    """Groups of nodes, and the engines that each runs."""

    groups: int
    local: int


def node_groups(d: Deployment) -> int:
    """Groups of nodes that each run `--data-parallel-size-local` engines."""
    local = counted_engines(d)
    return d.layout.dp // local if local else 1


def node_groups_uneven(d: Deployment) -> bool:
    """Whether the nodes cannot be dealt to the groups; an external balancer does not deal."""
    groups = node_groups(d)
    return not names_engine(d) and groups > 0 and d.settings.nodes.nnodes % groups != 0


def with_pcp(test: Test) -> Test:
    """A test that only prefill-context parallelism brings."""
    return lambda d: d.layout.pcp > 1 and test(d)


load_rule: RuleRow = partial(Constraint, stage=Stage.LOAD)
# vLLM dies without a sentence of its own; the words are ours.
bare_assert: RuleRow = partial(load_rule, known=Known.RECORDED, bare=True)
pcp_rule: RuleRow = partial(load_rule, known=Known.READ, source=PCP_MANAGER)

LOAD_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="dp-fits-node",
        broken=lambda d: (
            d.cluster.gpus_per_node is not None
            and d.cluster.nodes == 1
            and d.settings.nodes.nnodes == 1
            and d.settings.nodes.executor not in ("ray", "external_launcher")
            and d.settings.balancing.backend != "ray"
            and d.settings.balancing.size_local is None
            and d.settings.balancing.rank is None
            and d.layout.ranks > d.cluster.gpus_per_node
        ),
        says="DP adjusted local rank {cluster.gpus_per_node} is out of bounds for "
        "{cluster.gpus_per_node} devices.",
        fix="use at most {cluster.gpus_per_node} for tp x pp x pcp x dp on one node",
        source="vllm/v1/worker/gpu_worker.py, init_device",
        known=Known.READ,
    ),
    load_rule(
        name="nodes-divide-by-engines",
        broken=lambda d: d.settings.nodes.nnodes > 1 and node_groups_uneven(d),
        says="Invalid data parallel configuration: nnodes ({settings.nodes.nnodes}) must be "
        "divisible by the number of data parallel node groups ({options.groups} = "
        "data_parallel_size {layout.dp} / data_parallel_size_local {options.local})",
        options=lambda d: NodeGroups(node_groups(d), local_engines(d)),
        fix="use a --data-parallel-size-local that fills whole nodes",
        source="vllm/config/parallel.py, nnodes_within_dp",
        known=Known.READ,
    ),
    load_rule(
        name="nodes-have-engines",
        broken=lambda d: (
            d.settings.nodes.nnodes > 1 and not names_engine(d) and counted_engines(d) == 0
        ),
        says="integer division or modulo by zero",
        fix="give --data-parallel-size-local the engines of this node",
        source="vllm/config/parallel.py, nnodes_within_dp",
        known=Known.RAISED,
    ),
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
        says="{options} is not divisible by {layout.tp}",
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
    load_rule(
        name="pcp-attention-backend",
        broken=lambda d: d.layout.pcp > 1 and not d.model.is_latent,
        says="No valid attention backend found for cuda: PCP not supported",
        fix="use --prefill-context-parallel-size 1: {model.name} has no latent attention",
        source="vllm/platforms/cuda.py, get_attn_backend_cls",
        known=Known.RECORDED,
        bare=True,
    ),
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
    load_rule(
        name="mla-pcp-with-dcp",
        broken=lambda d: (
            d.layout.pcp > 1
            and d.layout.dcp > 1
            and d.model.is_latent
            and not d.model.traits.sparse_attention
        ),
        says="MLAAttention does not support PCP+DCP.",
        fix="use either -pcp or -dcp: both together need sparse attention",
        source="vllm/model_executor/layers/attention/mla_attention.py, MLAAttention",
        known=Known.RECORDED,
    ),
    *SPARSE_RULES,
    bare_assert(
        name="mlp-divides-by-tp",
        broken=lambda d: any(width % d.layout.tp for width in tensor_widths(d)),
        says="tp={layout.tp} does not divide the MLP width of {options}.",
        options=lambda d: next(w for w in tensor_widths(d) if w % d.layout.tp),
        fix="use a --tensor-parallel-size that divides {options}",
        source="vllm/model_executor/layers/linear.py, MergedColumnParallelLinear",
    ),
    bare_assert(
        name="world-divides-experts",
        broken=lambda d: (
            d.model.traits.world_divides_experts
            and d.model.experts is not None
            and d.model.experts.intermediate % d.layout.ranks != 0
        ),
        says="{layout.ranks} ranks do not divide the expert width of {model.experts.intermediate}.",
        fix="use a number of ranks that divides {model.experts.intermediate}",
        source="vllm/model_executor/models/gpt_oss.py, MLPBlock",
    ),
    load_rule(
        name="experts-at-least-tp",
        broken=lambda d: (
            d.model.traits.experts_at_least_tp
            and d.model.experts is not None
            and d.layout.tp > d.model.experts.count
        ),
        says="Tensor parallel size {layout.tp} is greater than the number of experts "
        "{model.experts.count}.",
        fix="use a --tensor-parallel-size of at most {model.experts.count}",
        source="vllm/model_executor/models/qwen3_moe.py, Qwen3MoeSparseMoeBlock",
        known=Known.RECORDED,
    ),
    load_rule(
        name="redundant-experts-refused",
        broken=lambda d: (
            d.model.traits.refuses_redundant_experts and d.settings.experts.redundant_experts > 0
        ),
        says="Redundant experts are only supported with EPLB.",
        fix="drop num_redundant_experts: the experts of {model.name} are built without EPLB",
        source="vllm/model_executor/layers/fused_moe/layer.py, FusedMoEFactory",
        known=Known.RECORDED,
    ),
    load_rule(
        name="eplb-even-experts",
        broken=lambda d: (
            d.settings.experts.eplb
            and d.model.traits.eplb
            and physical_experts(d) % d.layout.expert_width != 0
        ),
        says="EPLB currently only supports even distribution of experts across ranks. Got "
        "{options} experts and {layout.expert_width} EP ranks.",
        options=physical_experts,
        fix="add redundant experts until {layout.expert_width} divides their number",
        source="vllm/model_executor/layers/fused_moe/layer.py, FusedMoEFactory",
        known=Known.RECORDED,
    ),
    bare_assert(
        name="expert-width-divides",
        broken=expert_width_uneven,
        says="dp x pcp x tp = {layout.expert_width} does not divide the expert width of "
        "{model.experts.intermediate}.",
        options=lambda d: divisors(d.model.experts.intermediate) if d.model.experts else [],
        fix="add --enable-expert-parallel, or use a product of {options}",
        source="vllm/model_executor/layers/fused_moe/config.py, FusedMoEConfig.__post_init__",
    ),
    load_rule(
        name="stage-without-experts",
        broken=stage_without_experts,
        says="{model.traits.experts_required}",
        fix="use fewer pipeline stages, so that each holds a MoE layer",
        source="vllm/model_executor/models/glm4_moe.py, Glm4MoeForCausalLM",
        known=Known.RECORDED,
    ),
    *LATE_TOWER_RULES,
    bare_assert(
        name="redundant-experts-cap",
        broken=lambda d: d.settings.experts.redundant_experts > MAX_REDUNDANT_EXPERTS,
        says="{settings.experts.redundant_experts} redundant experts are more than "
        f"{MAX_REDUNDANT_EXPERTS}.",
        fix=f"use at most {MAX_REDUNDANT_EXPERTS}",
        source="vllm/distributed/eplb/eplb_state.py, EplbState",
        known=Known.READ,
    ),
    load_rule(
        name="dcp-without-windows",
        broken=lambda d: (
            d.layout.dcp > 1
            and d.model.has_windows
            and not d.settings.caches.disable_hybrid_kv_cache_manager
        ),
        says="DCP not support sliding window.",
        fix="use --decode-context-parallel-size 1: {model.name} has windowed layers",
        source="vllm/v1/kv_cache_interface.py, SlidingWindowSpec",
        known=Known.RECORDED,
        bare=True,
    ),
    *GROUP_RULES,
    pcp_rule(
        name="pcp-without-towers",
        broken=with_pcp(lambda d: bool(d.towers)),
        says="MRV2 PCP does not support MM inputs yet.",
        fix="add --language-model-only",
    ),
    pcp_rule(
        name="pcp-without-lora",
        broken=with_pcp(lambda d: d.settings.lora),
        says="MRV2 PCP does not support LoRA yet.",
        fix="drop --enable-lora",
    ),
    pcp_rule(
        name="pcp-speculative-method",
        broken=with_pcp(lambda d: d.settings.speculative_method not in (None, "mtp", "dspark")),
        says="MRV2 PCP only supports DSpark or single-module MTP speculative decoding.",
        fix="drop --speculative-config, or use its mtp method",
    ),
    pcp_rule(
        name="pcp-cuda-graphs",
        broken=with_pcp(
            lambda d: (
                d.model.traits.sparse_attention
                and d.layout.dcp == 1
                and not d.settings.enforce_eager
            )
        ),
        says="MRV2 sparse MLA PCP does not support CUDA graphs yet. Set -cc.cudagraph_mode=NONE.",
        fix="add --enforce-eager, or give -dcp the width of -pcp",
    ),
    pcp_rule(
        name="pcp-dcp-backend",
        broken=with_pcp(lambda d: d.layout.dcp > 1 and d.dcp_comm_backend != "ag_rs"),
        says="MRV2 PCP + DCP requires dcp_comm_backend='ag_rs'; got '{options}'.",
        options=lambda d: d.dcp_comm_backend,
        fix="use --dcp-comm-backend ag_rs",
    ),
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
    load_rule(
        name="interleave-not-zero",
        broken=lambda d: deals_blocks(d) and interleave(d) == 0,
        says="integer modulo by zero",
        fix="use a --cp-kv-cache-interleave-size of at least 1",
        source="vllm/config/vllm.py, validate_block_size",
        known=Known.RECORDED,
    ),
    load_rule(
        name="interleave-divides-block",
        broken=interleave_cuts_block,
        says="Block_size({options.block_size}) should be greater than or equal to and divisible "
        "by cp_kv_cache_interleave_size ({options.interleave}).",
        options=lambda d: BlockAndInterleave(smallest_block(d), interleave(d)),
        fix="use a --cp-kv-cache-interleave-size that divides the block of {options.block_size}",
        source="vllm/config/vllm.py, validate_block_size",
        known=Known.RECORDED,
    ),
)
