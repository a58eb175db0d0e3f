"""Rules of the parallel config alone: widths, expert balancing, nodes."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.constraints.balancing import (
    balanced_outside,
    balanced_partly,
    first_engine,
    gpus_in_reach,
    local_engines,
)
from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    RuleRow,
    config_rule,
    divisors,
)
from vllm_parallel.deployment import Deployment

SOURCE: Final = "vllm/config/parallel.py, ParallelConfig"
MICROBATCHES: Final = 2


def replica_outgrows_node(d: Deployment) -> bool:
    """One replica needs more GPUs than its nodes have, and no executor was named."""
    reach = gpus_in_reach(d)
    return (
        reach is not None
        and d.settings.nodes.executor is None
        and d.settings.nodes.nnodes == 1
        and d.layout.ranks > 1
        and d.layout.world_size > reach
    )


parallel_rule: RuleRow = partial(config_rule, source=SOURCE)

PARALLEL_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    parallel_rule(
        name="elastic-ep-needs-eplb",
        broken=lambda d: d.settings.experts.elastic and not d.settings.experts.eplb,
        says="Elastic EP is only supported with enable_eplb=True.",
        fix="add --enable-eplb, or drop --enable-elastic-ep",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="elastic-ep-without-pp",
        broken=lambda d: d.settings.experts.elastic and d.layout.pp > 1,
        says="Elastic EP is not supported with pipeline parallelism "
        "(pipeline_parallel_size={layout.pp}).",
        fix="use --pipeline-parallel-size 1, or drop --enable-elastic-ep",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="elastic-ep-internal-lb",
        broken=lambda d: d.settings.experts.elastic and (balanced_outside(d) or balanced_partly(d)),
        says="Elastic EP is not compatible with data_parallel_external_lb or "
        "data_parallel_hybrid_lb. Elastic EP relies on a single API server and core client to "
        "coordinate scale up/down.",
        fix="use internal load balancing with --enable-elastic-ep",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="dp-rank-in-range",
        broken=lambda d: (
            (d.layout.dp > 1 or local_engines(d) == 0) and not 0 <= first_engine(d) < d.layout.dp
        ),
        says="data_parallel_rank ({options}) must be in the range [0, {layout.dp})",
        options=first_engine,
        fix="number the engines from 0 to one less than --data-parallel-size {layout.dp}",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="replica-fits-node",
        broken=replica_outgrows_node,
        says="World size ({layout.world_size}) is larger than the number of available GPUs "
        "({cluster.gpus_per_node}) in this node. If this is intentional and you are using:\n"
        "- ray, set '--distributed-executor-backend ray'.\n"
        "- multiprocessing, set '--nnodes' appropriately.",
        fix="use at most {cluster.gpus_per_node} for tp x pp x pcp, or give --nnodes",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="nnodes-executor",
        broken=lambda d: (
            d.settings.nodes.nnodes > 1
            and d.settings.nodes.executor not in (None, "mp", "uni", "external_launcher")
        ),
        says="nnodes > 1 can only be set when distributed executor backend is mp, uni or "
        "external_launcher.",
        fix="drop --distributed-executor-backend {settings.nodes.executor}, or --nnodes",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="dp-local-size",
        broken=lambda d: local_engines(d) > d.layout.dp,
        says="data_parallel_size_local ({options}) must be <= data_parallel_size ({layout.dp})",
        options=local_engines,
        fix="use a --data-parallel-size-local of at most {layout.dp}",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="external-lb-needs-dp",
        broken=lambda d: d.layout.dp <= 1 and balanced_outside(d),
        says="data_parallel_external_lb can only be set when data_parallel_size > 1",
        fix="give a --data-parallel-size of 2 or more, or drop the external load balancer",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="eplb-needs-ep",
        broken=lambda d: d.settings.experts.eplb and not d.layout.expert_parallel,
        says="enable_expert_parallel must be True to use EPLB.",
        fix="add --enable-expert-parallel, or drop --enable-eplb",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="eplb-needs-ranks",
        broken=lambda d: d.settings.experts.eplb and d.layout.expert_width <= 1,
        says="EPLB requires tensor, prefill-context, or data parallelism, but got "
        "TP={layout.tp}, PCP={layout.pcp}, DP={layout.dp}.",
        fix="raise --tensor-parallel-size or --data-parallel-size, or drop --enable-eplb",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="redundant-experts-need-eplb",
        broken=lambda d: d.settings.experts.redundant_experts != 0 and not d.settings.experts.eplb,
        says="num_redundant_experts is set to {settings.experts.redundant_experts} but EPLB is "
        "not enabled. Either enable EPLB or unset num_redundant_experts.",
        fix="add --enable-eplb, or drop num_redundant_experts from --eplb-config",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="tp-divides-by-dcp",
        broken=lambda d: d.layout.pcp == 1 and d.layout.tp % d.layout.dcp != 0,
        says="tp_size={layout.tp} must be divisible by dcp_size={layout.dcp}.",
        options=lambda d: divisors(d.layout.tp),
        fix="use a --decode-context-parallel-size of {options}",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="dcp-spans-pcp",
        broken=lambda d: (
            d.layout.pcp > 1 and d.layout.dcp not in (1, d.layout.pcp, d.layout.tp * d.layout.pcp)
        ),
        says="When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full "
        "TP x PCP axis. Got TP={layout.tp}, PCP={layout.pcp}, DCP={layout.dcp}; valid DCP sizes "
        "are {layout.dcp_choices}.",
        options=lambda d: d.layout.dcp_choices,
        fix="use a --decode-context-parallel-size of {options}",
        known=Known.RECORDED,
    ),
    parallel_rule(
        name="dbo-thresholds",
        broken=lambda d: (
            d.settings.experts.dual_batch_overlap
            and min(d.settings.experts.dbo_decode_tokens, d.settings.experts.dbo_prefill_tokens)
            < MICROBATCHES
        ),
        says="dbo_decode_token_threshold and dbo_prefill_token_threshold must be at least the "
        f"number of microbatches ({MICROBATCHES}).",
        fix="raise both --dbo-*-token-threshold to 2 or more",
        source="vllm/config/parallel.py, _verify_args",
        known=Known.RECORDED,
    ),
)
