"""Values of vLLM's arguments beside the widths, good and bad, to be thrown together."""

from __future__ import annotations

from typing import Any

Values = dict[str, tuple[Any, ...]]


def connector(name: str) -> dict[str, str]:
    """A KV transfer through this connector."""
    return {"kv_connector": name, "kv_role": "kv_both"}


# Ray is not installed beside the engine, so it is named only where another rule comes first.
LAUNCH: Values = {
    "nnodes": (1, 2, 2, 2, 3, 4, 4, 0),
    "node_rank": (0, 1, 3, 5, -1),
    "data_parallel_rank": (0, 1, 2, 5, -1),
    "data_parallel_start_rank": (0, 1, 4, -1),
    "data_parallel_size_local": (0, 1, 2, 4, 9, -1),
    "data_parallel_backend": ("mp", "mp", "pack"),
    "data_parallel_external_lb": (True, False),
    "data_parallel_hybrid_lb": (True, False),
    "distributed_executor_backend": ("mp", "uni"),
}
SIZES: Values = {
    "block_size": (0, 1, 16, 17, 32, -1),
    "max_model_len": (0, -1, -2, 1, 1024, 2048),
    "max_num_seqs": (0, 1, 16, 256, -3),
    "max_num_batched_tokens": (0, 1, 64, 2048, 8192),
    "gpu_memory_utilization": (0.0, 1.5, -0.1, 1.0, 0.9),
    "kv_cache_dtype": ("auto", "fp8", "int8", "bfloat16", "fp8_e4m3"),
    "dtype": ("bfloat16", "float16", "half", "float32", "float8", "int8"),
    "eplb_config": (
        {"num_redundant_experts": 2},
        {"num_redundant_experts": -1},
        {"window_size": 0},
        {"step_interval": -1},
        {"policy": "greedy"},
        {"window_size": 500},
    ),
}
FEATURES: Values = {
    "enable_return_routed_experts": (True,),
    "enable_prefix_caching": (True, False),
    "kv_transfer_config": (connector("NixlConnector"), connector("ExampleConnector")),
    "all2all_backend": (
        "naive",
        "pplx",
        "deepep_low_latency",
        "nccl",
        "moonep",
        "nixl_ep",
        "allgather_reducescatter",
    ),
    "expert_placement_strategy": ("linear", "round_robin", "random"),
    "dcp_comm_backend": ("ag_rs", "a2a", "ring"),
    "dcp_q_replicate": (True, False),
    "cp_kv_cache_interleave_size": (0, 1, 3, 16, -1),
    "dcp_kv_cache_interleave_size": (1, 4),
    "enable_dbo": (True,),
    "dbo_decode_token_threshold": (0, 1, 2, -1),
    "dbo_prefill_token_threshold": (1, 512, -1),
    "enable_elastic_ep": (True,),
}
EVERYTHING: Values = LAUNCH | SIZES | FEATURES
