"""Deployments that break several rules at once, in the order of the facts, 2.2 (A to H)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.constraints.asked import Args, latent, llama, sparse, without_pipeline
from vllm_parallel.model import ModelConfig


@dataclass(frozen=True, slots=True)
class Order:
    """Rules that are broken, in the order in which vLLM would tell them."""

    names: str
    model: str | ModelConfig
    args: Args

    def __str__(self) -> str:
        return self.names


def order(names: str, model: str | ModelConfig, **args: object) -> Order:
    return Order(names, model, args)


SUPERVISED: Final = {"data_parallel_multi_port_external_lb": True}
NIXL: Final = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
ROUTED: Final = {"enable_return_routed_experts": True}

ORDERS: Final = (
    # A: the supervisor, before B, the command.
    order(
        "multi-port-api-servers multi-port-rank multi-port-alone multi-port-dp multi-port-local",
        "mixtral-8x7b", **SUPERVISED, api_server_count=3, data_parallel_rank=0,
        data_parallel_external_lb=True,
    ),
    order(
        "multi-port-local-at-most-dp multi-port-local-divides-dp",
        "mixtral-8x7b", **SUPERVISED, dp=2, data_parallel_size_local=3,
    ),
    order(
        "multi-port-api-servers headless-api-servers",
        "mixtral-8x7b", **SUPERVISED, dp=2, data_parallel_size_local=2, api_server_count=2,
        headless=True,
    ),
    order(
        "headless-api-servers one-lb-mode",
        "mixtral-8x7b", headless=True, api_server_count=2, dp=2, data_parallel_rank=0,
        data_parallel_start_rank=0,
    ),
    # B before C to E.
    order(
        "one-lb-mode max-model-len-derived heads-divide-by-tp",
        "mixtral-8x7b", tp=3, dp=2, data_parallel_rank=0, data_parallel_start_rank=0,
        max_model_len=32769,
    ),
    # C: EPLB, the model, the executor, the cache, the launch.
    order(
        "eplb-config-window-size-minimum",
        "llama-3.1-8b", eplb_config={"window_size": 0}, dtype="fp8", max_model_len=0, tp=0,
    ),
    order(
        "dtype-words",
        "llama-3.1-8b", dtype="fp8", max_model_len=0, block_size=0,
    ),
    order(
        "max-model-len-positive",
        "llama-3.1-8b", max_model_len=0, block_size=0, tp=0,
    ),
    order(
        "max-model-len-derived pp-executor block-size-minimum",
        "llama-3.1-8b", max_model_len=131073, pp=2, distributed_executor_backend="uni",
        block_size=0,
    ),
    order(
        "max-model-len-derived tp-divides-by-dcp heads-divide-by-tp",
        "llama-3.1-8b", max_model_len=131073, tp=3, dcp=2,
    ),
    order(
        "pp-executor gpu-memory-utilization-maximum",
        "llama-3.1-8b", pp=2, distributed_executor_backend="uni", gpu_memory_utilization=1.5,
        nnodes=3,
    ),
    order(
        "kv-cache-dtype-words",
        "llama-3.1-8b", kv_cache_dtype="int8", nnodes=3, tp=4, dp=0,
    ),
    order(
        "headless-hybrid-lb nnodes-dp-backend nnodes-divide-world",
        "mixtral-8x7b", tp=4, dp=4, headless=True, data_parallel_hybrid_lb=True, nnodes=3,
        data_parallel_backend="ray",
    ),
    order(
        "one-lb-mode hybrid-or-external-lb nnodes-dp-backend nnodes-divide-world "
        "node-rank-in-range",
        "mixtral-8x7b", tp=4, nnodes=3, node_rank=3, data_parallel_backend="ray",
        data_parallel_hybrid_lb=True, data_parallel_external_lb=True,
    ),
    order(
        "node-rank-in-range nodes-without-ranks tensor-parallel-size-minimum",
        "llama-3.1-8b", tp=0, nnodes=2, node_rank=2,
    ),
    order(
        "external-rank-from-node external-lb-needs-experts",
        "llama-3.1-8b", pp=3, dp=2, nnodes=3, data_parallel_external_lb=True,
    ),
    order(
        "external-lb-needs-experts external-lb-needs-rank external-lb-local-size dp-backend",
        "llama-3.1-8b", dp=2, data_parallel_external_lb=True, data_parallel_size_local=2,
        data_parallel_backend="gloo",
    ),
    order(
        "hybrid-lb-local-size dp-backend pipeline-parallel-size-minimum",
        "mixtral-8x7b", pp=0, data_parallel_hybrid_lb=True, data_parallel_backend="gloo",
    ),
    # D: bounds in the order of the fields, then the widths against each other.
    order(
        "pipeline-parallel-size-minimum",
        "mixtral-8x7b", pp=0, tp=0, dcp=0,
    ),
    order(
        "expert-placement-strategy-words",
        "mixtral-8x7b", expert_placement_strategy="ring", all2all_backend="nccl", dcp=0,
    ),
    order(
        "node-rank-minimum",
        "mixtral-8x7b", node_rank=-1, nnodes=0, dcp=0,
    ),
    order(
        "decode-context-parallel-size-minimum",
        "mixtral-8x7b", dcp=0, enable_elastic_ep=True, dp=2, max_num_seqs=0,
    ),
    order(
        "elastic-ep-needs-eplb elastic-ep-without-pp elastic-ep-internal-lb dp-rank-in-range",
        "mixtral-8x7b", enable_elastic_ep=True, pp=2, dp=2, data_parallel_rank=2,
    ),
    order(
        "dp-rank-in-range replica-fits-node tp-divides-by-dcp",
        "mixtral-8x7b", tp=16, dcp=3, data_parallel_start_rank=2, data_parallel_size_local=0,
        gpus_per_node=8,
    ),
    order(
        "replica-fits-node tp-divides-by-dcp heads-divide-by-tp",
        "llama-3.1-70b", tp=12, dcp=5, gpus_per_node=8,
    ),
    order(
        "nnodes-executor eplb-needs-ep tp-divides-by-dcp",
        "mixtral-8x7b", tp=4, dcp=3, nnodes=2, distributed_executor_backend="ray",
        enable_eplb=True,
    ),
    order(
        "dp-local-size eplb-needs-ep eplb-needs-ranks tp-divides-by-dcp",
        "mixtral-8x7b", data_parallel_size_local=2, enable_eplb=True, dcp=2,
    ),
    order(
        "external-lb-needs-dp redundant-experts-need-eplb tp-divides-by-dcp",
        "mixtral-8x7b", data_parallel_rank=0, eplb_config={"num_redundant_experts": 2}, dcp=2,
    ),
    order(
        "redundant-experts-need-eplb dcp-spans-pcp dbo-thresholds",
        "deepseek-v3", tp=8, pcp=2, dcp=4, eplb_config={"num_redundant_experts": 2},
        enable_dbo=True, dbo_decode_token_threshold=0,
    ),
    order(
        "tp-divides-by-dcp dbo-thresholds max-num-seqs-minimum",
        "mixtral-8x7b", tp=8, dcp=3, enable_dbo=True, dbo_prefill_token_threshold=0,
        max_num_seqs=0,
    ),
    # D before the KV heads of E; the scheduler between them.
    order(
        "tp-divides-by-dcp dcp-needs-tp-above-kv-heads dcp-at-most-copies queries-divide-by-dcp",
        "llama-3.1-70b", tp=8, dcp=3,
    ),
    order(
        "tp-divides-by-dcp batched-tokens-hold-seqs heads-divide-by-tp",
        "llama-3.1-70b", tp=3, dcp=2, max_num_batched_tokens=8, max_num_seqs=9,
    ),
    order(
        "max-num-batched-tokens-minimum",
        "llama-3.1-8b", max_num_batched_tokens=0, max_num_seqs=0, tp=3,
    ),
    order(
        "batched-tokens-hold-max-model-len batched-tokens-hold-seqs heads-divide-by-tp",
        "llama-3.1-8b", tp=3, enable_chunked_prefill=False, max_num_batched_tokens=8,
        max_num_seqs=9,
    ),
    # E: the model against the layout, then one feature against another.
    order(
        "heads-divide-by-tp ep-needs-experts pp-supported vocabulary-divides-by-tp",
        without_pipeline(), tp=5, ep=True, pp=2,
    ),
    order(
        "ep-needs-experts dcp-needs-tp-above-kv-heads executor-known",
        "llama-3.1-70b", tp=8, dcp=2, ep=True, distributed_executor_backend="swarm",
    ),
    order(
        "dcp-at-most-copies queries-divide-by-dcp nixl-dcp-width nixl-dcp-needs-mla",
        llama("three-queries", num_attention_heads=24, hidden_size=3072), tp=24, dcp=4,
        kv_transfer_config=NIXL,
    ),
    order(
        "dcp-needs-tp-above-kv-heads routed-experts-need-moe dcp-without-windows",
        "mistral-sw-7b", **ROUTED, tp=4, dcp=2,
    ),
    order(
        "routed-experts-need-moe routed-experts-need-prefix-caching routed-experts-without-pp "
        "routed-experts-without-pd",
        "llama-3.1-8b", **ROUTED, pp=2, enable_prefix_caching=False, kv_transfer_config=NIXL,
    ),
    order(
        "routed-experts-without-pp routed-experts-without-context-parallelism mla-pcp-with-dcp",
        "deepseek-v3", **ROUTED, pp=2, pcp=2, dcp=2,
    ),
    order(
        "moonep-without-eplb moonep-linear-placement dbo-backend",
        "mixtral-8x7b", dp=2, ep=True, enable_eplb=True, enable_dbo=True, all2all_backend="moonep",
        expert_placement_strategy="round_robin",
    ),
    # The config of the layout before that of a draft, the scheduler before the KV transfer: asked.
    order(
        "redundant-experts-need-eplb speculative-config-num-speculative-tokens-minimum",
        "mixtral-8x7b", dp=2, eplb_config={"num_redundant_experts": 4},
        speculative_config={"method": "ngram", "num_speculative_tokens": 0},
    ),
    order(
        "max-num-seqs-minimum",
        "mixtral-8x7b", max_num_seqs=0, kv_transfer_config=NIXL | {"kv_role": "bad"},
    ),
    # The command counts a headless node's engines before a worker builds layers.
    order(
        "headless-local-engines expert-width-divides",
        "mixtral-8x7b", dp=3, headless=True, data_parallel_size_local=0,
    ),
    # E before F: the config refuses before a worker does.
    order(
        "heads-divide-by-tp dp-fits-node vocabulary-divides-by-tp kv-heads-divide-by-tp",
        "llama-3.1-8b", tp=5, dp=2, gpus_per_node=8,
    ),
    order(
        "dbo-backend expert-width-divides stages-at-most-layers",
        "mixtral-8x7b", dp=3, pp=33, enable_dbo=True,
    ),
    # F: layers as they are built; G: the PCP manager; H: empty stages, then the block.
    order(
        "vocabulary-divides-by-tp kv-heads-divide-by-tp pcp-attention-backend mlp-divides-by-tp",
        llama("odd", vocab_size=32000, intermediate_size=1000), tp=6, pcp=2,
    ),
    order(
        "mlp-divides-by-tp eplb-even-experts pcp-without-lora",
        latent("odd-shared", moe_intermediate_size=72), tp=16, pcp=3, ep=True, enable_eplb=True,
        enable_lora=True,
    ),
    order(
        "mla-pcp-with-dcp pcp-without-lora pcp-speculative-method pcp-dcp-backend "
        "interleave-divides-block",
        "deepseek-v3", tp=8, pcp=2, dcp=2, dcp_comm_backend="a2a", enable_lora=True,
        speculative_config={"method": "ngram"}, cp_kv_cache_interleave_size=3,
    ),
    order(
        "pcp-without-lora pcp-speculative-method pcp-cuda-graphs stages-at-most-layers",
        sparse(), tp=8, pcp=2, pp=9, enable_lora=True, speculative_config={"method": "eagle"},
    ),
    order(
        "stages-at-most-layers interleave-divides-block",
        "llama-3.1-70b", tp=16, dcp=2, cp_kv_cache_interleave_size=3, pp=81,
    ),
)  # fmt: skip
