"""Corners where rules meet: what vLLM said of them when it was asked, or where it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from tests.constraints.asked import Args, deployed
from vllm_parallel.constraints import check

NIXL: Final = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
ROUTED: Final = {"tp": 2, "enable_return_routed_experts": True}
ELASTIC: Final = {"ep": True, "enable_eplb": True, "enable_elastic_ep": True}
MOONEP: Final = {
    "dp": 2,
    "ep": True,
    "all2all_backend": "moonep",
    "expert_placement_strategy": "round_robin",
}
LINEAR: Final = (
    "The moonep all2all backend requires linear expert placement: its load-time all-gather assumes "
    "each rank holds a contiguous chunk of the global expert range. Got "
    "--expert-placement-strategy 'round_robin'."
)
INTERNAL: Final = (
    "Elastic EP is not compatible with data_parallel_external_lb or data_parallel_hybrid_lb. "
    "Elastic EP relies on a single API server and core client to coordinate scale up/down."
)


@dataclass(frozen=True, slots=True)
class Corner:
    """A deployment and what vLLM says of it; None if it starts. `known` is where that is from."""

    name: str
    model: str
    args: Args
    says: str | None
    known: str


CORNERS: Final = (
    Corner(
        "NIXL is asserted before the executor is looked up",
        "deepseek-v3",
        {
            "tp": 8,
            "dcp": 2,
            "kv_transfer_config": NIXL,
            "distributed_executor_backend": "swarm",
        },
        "decode_context_parallel_size=2 must be 1 or equal to the NIXL transfer parallel size=8.",
        "asked; config/vllm.py:1481",
    ),
    Corner(
        "moonep comes before routed experts",
        "mixtral-8x7b",
        ROUTED | MOONEP | {"pp": 2},
        LINEAR,
        "asked; config/vllm.py:2030",
    ),
    Corner(
        "DBO comes before routed experts",
        "llama-3.1-8b",
        {"enable_dbo": True, "all2all_backend": "moonep"} | ROUTED,
        "Microbatching currently only supports the deepep_low_latency, deepep_high_throughput, and "
        "nixl_ep all2all backends. moonep is not supported. To fix use "
        "--all2all-backend=deepep_low_latency, --all2all-backend=deepep_high_throughput, or "
        "--all2all-backend=nixl_ep and install the matching kernels.",
        "read; config/vllm.py:2106",
    ),
    Corner(
        "NVFP4 is looked at last",
        "deepseek-v3",
        MOONEP | {"tp": 8, "kv_cache_dtype": "nvfp4"},
        LINEAR,
        "asked; config/vllm.py:3285",
    ),
    Corner(
        "the local size that the nodes give",
        "mixtral-8x7b",
        {"dp": 4, "data_parallel_rank": 0, "nnodes": 2},
        "Invalid data-parallel launch options: an external data-parallel rank requires "
        "`--data-parallel-size-local 1`; got 2. Set it to 1 or omit it.",
        "asked; engine/arg_utils.py:2395",
    ),
    Corner(
        "PCP on the older runner",
        "deepseek-v3",
        {"pp": 2, "pcp": 2, "distributed_executor_backend": "external_launcher"},
        "Model Runner V1 does not support: prefill context parallel",
        "asked; config/vllm.py:2955",
    ),
    Corner(
        "DBO turns to the older runner too",
        "deepseek-v3",
        {"pcp": 2, "ep": True, "enable_dbo": True, "all2all_backend": "nixl_ep"},
        "Model Runner V1 does not support: prefill context parallel",
        "read; config/vllm.py:3085",
    ),
    Corner(
        "routed experts on the older runner",
        "mixtral-8x7b",
        ROUTED | {"pp": 2, "distributed_executor_backend": "external_launcher"},
        "AuxOutput Connector requires Model Runner V2; set VLLM_USE_V2_MODEL_RUNNER=1.",
        "asked; config/vllm.py:1147",
    ),
    Corner(
        "moonep takes bfloat16 only",
        "mixtral-8x7b",
        {"dp": 2, "ep": True, "all2all_backend": "moonep", "dtype": "float16"},
        "The moonep all2all backend currently supports BF16 models only; got dtype=torch.float16. "
        "Use a different --all2all-backend or --dtype bfloat16.",
        "asked; config/vllm.py:2044",
    ),
    Corner(
        "a start rank asks for the hybrid balancer",
        "mixtral-8x7b",
        ELASTIC | {"dp": 4, "data_parallel_start_rank": 0, "data_parallel_size_local": 2},
        INTERNAL,
        "asked; engine/arg_utils.py:2447",
    ),
    Corner(
        "a hybrid balancer on one node is dropped",
        "mixtral-8x7b",
        ELASTIC | {"dp": 2, "data_parallel_hybrid_lb": True, "data_parallel_size_local": 2},
        None,
        "asked; engine/arg_utils.py:2461",
    ),
    Corner(
        "a headless node takes no balancer from its start rank",
        "llama-3.1-8b",
        {"headless": True, "data_parallel_start_rank": 0, "data_parallel_size_local": 1},
        None,
        "read; engine/arg_utils.py:2447",
    ),
    Corner(
        "node groups of the local size that the nodes give",
        "llama-3.1-8b",
        {"tp": 2, "dp": 3, "nnodes": 2},
        "Invalid data parallel configuration: nnodes (2) must be divisible by the number of data "
        "parallel node groups (3 = data_parallel_size 3 / data_parallel_size_local 1)",
        "asked; config/parallel.py:823",
    ),
    Corner(
        "a role without a connector",
        "llama-3.1-8b",
        {"kv_transfer_config": {"kv_role": "kv_both"}},
        "Connector name is not set in KVTransferConfig",
        "asked; distributed/kv_transfer/kv_connector/factory.py:102",
    ),
    Corner(
        "the supervisor counts ranks from the start rank",
        "mixtral-8x7b",
        {
            "dp": 4,
            "data_parallel_size_local": 2,
            "data_parallel_start_rank": 3,
            "data_parallel_multi_port_external_lb": True,
        },
        "Error: multi-port supervised ranks would exceed --data-parallel-size",
        "read; entrypoints/launchers/dp_supervisor.py:95",
    ),
    Corner(
        "a headless node has engines",
        "mixtral-8x7b",
        {"dp": 2, "headless": True, "data_parallel_size_local": 0},
        "data_parallel_size_local must be > 0 in headless mode",
        "read; entrypoints/cli/serve.py:203",
    ),
)


@pytest.mark.parametrize("row", CORNERS, ids=[row.name for row in CORNERS])
def test_as_vllm_says(row: Corner) -> None:
    refusal = check(deployed(row.model, row.args))
    assert (None if refusal is None else refusal.message) == row.says


NGRAM: Final = {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 4}


@pytest.mark.parametrize(
    "late",
    [
        {"max_num_seqs": 0},
        {"scheduling_policy": "lifo"},
        {"kv_transfer_config": {"kv_connector": "NixlConnector"}},
    ],
)
def test_a_draft_brings_the_heads_forward(late: Args) -> None:
    """Asked; config/speculative.py:1849 holds the model against the layout before the scheduler."""
    refusal = check(deployed("llama-3.1-8b", {"tp": 3, "speculative_config": NGRAM} | dict(late)))
    assert refusal is not None
    assert refusal.name == "heads-divide-by-tp"
