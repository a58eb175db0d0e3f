"""The widths that cut the weights of one rank."""

from __future__ import annotations

from typing import Final

from vllm_parallel.deployment import BATCHED_BACKENDS, Deployment
from vllm_parallel.layout import experts_on
from vllm_parallel.ranks import Rank
from vllm_parallel.weight import Cut

HOPPER: Final = "90"
TRITON_TILE: Final = (64, 1)  # width and hidden size
MARLIN_TILE: Final = (128, 256)  # and that of TRT-LLM's kernels on Blackwell


def cut_of(deployment: Deployment, rank: Rank) -> Cut:
    """The widths that cut a rank's weights.

    Source: vllm/model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig.make (v0.32.0)
    """
    layout, model = deployment.layout, deployment.model
    queries = layout.tp // layout.dcp if deployment.replicates_queries else None
    dealt = deployment.deals_inputs
    if model.experts is None:
        return Cut(tp=layout.tp, query_slices=queries, copies_towers=dealt)
    local = local_experts(deployment, rank)
    shared = model.traits.sequence_parallel_experts and deployment.sequence_parallel_experts
    return Cut(
        tp=layout.tp,
        query_slices=queries,
        expert_slices=layout.expert_width if local is None else 1,
        local_experts=local,
        redundant_experts=deployment.redundant_experts,
        copies_shared=shared,
        copies_dense=shared and layout.pp == 1,
        copies_towers=dealt,
        expert_tile=expert_tile(deployment),
    )


def local_experts(deployment: Deployment, rank: Rank) -> int | None:
    """Whole experts of each layer on a rank, None where every rank holds slices of all.

    Ranks that agree on this and on the stage hold the same bytes.
    """
    layout, experts = deployment.layout, deployment.model.experts
    if experts is None or not layout.expert_parallel or layout.expert_width == 1:
        return None
    physical = experts.count + deployment.redundant_experts
    return experts_on(physical, layout.expert_width, rank.expert_rank(layout))


def expert_tile(deployment: Deployment) -> tuple[int, int]:
    """What the GPU's mxfp4 kernel pads the width and the hidden size of experts to.

    On Hopper gpt-oss runs on Triton's, unless experts take fixed batches from each rank.

    Source: vllm/model_executor/layers/fused_moe/oracle/mxfp4.py, select_mxfp4_moe_backend
    (v0.32.0)
    """
    gpu, quantisation = deployment.cluster.gpu, deployment.model.quantisation
    hopper = gpu is None or gpu.architecture == HOPPER
    gpt_oss = quantisation is not None and quantisation.method == "gpt_oss_mxfp4"
    layout, all2all = deployment.layout, deployment.settings.experts.all2all_backend
    batched = layout.dp > 1 and layout.expert_parallel and all2all in BATCHED_BACKENDS
    return TRITON_TILE if gpt_oss and hopper and not batched else MARLIN_TILE
