"""Rules of the parallel config, worded as in vLLM's `config/parallel.py`."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case

BALANCED: Final = {"dp": 2, "ep": True, "enable_eplb": True}
ELASTIC: Final = BALANCED | {"enable_elastic_ep": True}

PARALLEL_CASES: Final = (
    Case(
        rule="elastic-ep-needs-eplb",
        model="mixtral-8x7b",
        fails={"dp": 2, "ep": True, "enable_elastic_ep": True},
        passes=(ELASTIC, {"dp": 2, "ep": True}),
        says="Elastic EP is only supported with enable_eplb=True.",
        fix="add --enable-eplb, or drop --enable-elastic-ep",
    ),
    Case(
        rule="elastic-ep-without-pp",
        model="mixtral-8x7b",
        fails=ELASTIC | {"pp": 4},
        passes=(ELASTIC, BALANCED | {"pp": 4}),
        says="Elastic EP is not supported with pipeline parallelism (pipeline_parallel_size=4).",
        fix="use --pipeline-parallel-size 1, or drop --enable-elastic-ep",
    ),
    *(
        Case(
            rule="elastic-ep-internal-lb",
            model="mixtral-8x7b",
            fails=ELASTIC | {"dp": 4} | outside,
            passes=(ELASTIC | {"dp": 4}, BALANCED | {"dp": 4} | outside),
            says="Elastic EP is not compatible with data_parallel_external_lb or "
            "data_parallel_hybrid_lb. Elastic EP relies on a single API server and core client to "
            "coordinate scale up/down.",
            fix="use internal load balancing with --enable-elastic-ep",
        )
        for outside in (
            {"data_parallel_rank": 0},
            {"data_parallel_hybrid_lb": True, "data_parallel_size_local": 2},
            {"data_parallel_start_rank": 1, "data_parallel_size_local": 1},
        )
    ),
    Case(
        rule="dp-rank-in-range",
        model="mixtral-8x7b",
        fails={"dp": 2, "data_parallel_rank": 2},
        passes=({"dp": 2, "data_parallel_rank": 1}, {"dp": 2, "data_parallel_rank": 0}),
        says="data_parallel_rank (2) must be in the range [0, 2)",
        fix="number the engines from 0 to one less than --data-parallel-size 2",
    ),
    Case(
        rule="dp-rank-in-range",
        model="mixtral-8x7b",
        fails={"dp": 4, "data_parallel_start_rank": 4, "data_parallel_size_local": 2},
        passes=(
            {"dp": 4, "data_parallel_start_rank": 2, "data_parallel_size_local": 2},
            {"dp": 4, "data_parallel_start_rank": 4},  # dropped where no engines are counted
        ),
        says="data_parallel_rank (4) must be in the range [0, 4)",
        fix="number the engines from 0 to one less than --data-parallel-size 4",
    ),
    Case(
        rule="dp-rank-in-range",
        model="mixtral-8x7b",
        fails={"dp": 1, "data_parallel_start_rank": 1, "data_parallel_size_local": 0},
        passes=({"dp": 1, "data_parallel_start_rank": 0, "data_parallel_size_local": 0},),
        says="data_parallel_rank (1) must be in the range [0, 1)",
        fix="number the engines from 0 to one less than --data-parallel-size 1",
    ),
    Case(
        rule="replica-fits-node",
        model="llama-3.1-70b",
        fails={"tp": 8, "pp": 2, "gpus_per_node": 8},
        passes=(
            {"tp": 8, "gpus_per_node": 8},
            {"tp": 8, "pp": 2},
            {"tp": 8, "pp": 2, "gpus_per_node": 16},
            {"tp": 8, "pp": 2, "gpus_per_node": 8, "nodes": 2},
            {"tp": 8, "pp": 2, "gpus_per_node": 4, "nodes": 4},
            {"tp": 8, "pp": 2, "gpus_per_node": 8, "nnodes": 2},
            {"tp": 8, "pp": 2, "gpus_per_node": 8, "distributed_executor_backend": "ray"},
        ),
        says="World size (16) is larger than the number of available GPUs (8) in this node. If "
        "this is intentional and you are using:\n"
        "- ray, set '--distributed-executor-backend ray'.\n"
        "- multiprocessing, set '--nnodes' appropriately.",
        fix="use at most 8 for tp x pp x pcp, or give --nnodes",
    ),
    Case(
        rule="nnodes-executor",
        model="llama-3.1-70b",
        fails={"tp": 16, "nnodes": 2, "distributed_executor_backend": "ray"},
        passes=(
            {"tp": 16, "nnodes": 2},
            {"tp": 16, "distributed_executor_backend": "ray"},
            {"tp": 16, "nnodes": 2, "distributed_executor_backend": "mp"},
            {"tp": 16, "nnodes": 2, "distributed_executor_backend": "uni"},
            {"tp": 16, "nnodes": 2, "distributed_executor_backend": "external_launcher"},
        ),
        says="nnodes > 1 can only be set when distributed executor backend is mp, uni or "
        "external_launcher.",
        fix="drop --distributed-executor-backend ray, or --nnodes",
    ),
    Case(
        rule="dp-local-size",
        model="mixtral-8x7b",
        fails={"dp": 2, "data_parallel_size_local": 3},
        passes=({"dp": 2, "data_parallel_size_local": 2},),
        says="data_parallel_size_local (3) must be <= data_parallel_size (2)",
        fix="use a --data-parallel-size-local of at most 2",
    ),
    *(
        Case(
            rule="external-lb-needs-dp",
            model="mixtral-8x7b",
            fails={"dp": 1} | outside,
            passes=({"dp": 2} | outside,),
            says="data_parallel_external_lb can only be set when data_parallel_size > 1",
            fix="give a --data-parallel-size of 2 or more, or drop the external load balancer",
        )
        for outside in (
            {"data_parallel_rank": 0},
            {"data_parallel_hybrid_lb": True, "data_parallel_size_local": 1},
            {"data_parallel_start_rank": 0, "data_parallel_size_local": 1},
        )
    ),
    Case(
        rule="eplb-needs-ep",
        model="mixtral-8x7b",
        fails={"tp": 2, "enable_eplb": True},
        passes=({"tp": 2, "ep": True, "enable_eplb": True}, {"tp": 2}),
        says="enable_expert_parallel must be True to use EPLB.",
        fix="add --enable-expert-parallel, or drop --enable-eplb",
    ),
    Case(
        rule="eplb-needs-ranks",
        model="mixtral-8x7b",
        fails={"pp": 4, "ep": True, "enable_eplb": True},
        passes=(
            {"tp": 2, "ep": True, "enable_eplb": True},
            {"dp": 2, "ep": True, "enable_eplb": True},
        ),
        says="EPLB requires tensor, prefill-context, or data parallelism, but got TP=1, PCP=1, "
        "DP=1.",
        fix="raise --tensor-parallel-size or --data-parallel-size, or drop --enable-eplb",
    ),
    Case(
        rule="redundant-experts-need-eplb",
        model="mixtral-8x7b",
        fails={"dp": 2, "ep": True, "eplb_config": {"num_redundant_experts": 8}},
        passes=(
            BALANCED | {"eplb_config": {"num_redundant_experts": 8}},
            {"dp": 2, "ep": True, "eplb_config": {"num_redundant_experts": 0}},
        ),
        says="num_redundant_experts is set to 8 but EPLB is not enabled. Either enable EPLB or "
        "unset num_redundant_experts.",
        fix="add --enable-eplb, or drop num_redundant_experts from --eplb-config",
    ),
    Case(
        rule="tp-divides-by-dcp",
        model="deepseek-v3",
        fails={"tp": 8, "dcp": 3},
        passes=tuple({"tp": 8, "dcp": dcp} for dcp in (1, 2, 4, 8)),
        says="tp_size=8 must be divisible by dcp_size=3.",
        fix="use a --decode-context-parallel-size of 1, 2, 4, 8",
    ),
    Case(
        rule="tp-divides-by-dcp",
        model="deepseek-v3",
        fails={"tp": 1, "dcp": 2},
        passes=({"tp": 2, "dcp": 2},),
        says="tp_size=1 must be divisible by dcp_size=2.",
        fix="use a --decode-context-parallel-size of 1",
    ),
    Case(
        rule="dcp-spans-pcp",
        model="deepseek-v3",
        fails={"tp": 8, "pcp": 2, "dcp": 4},
        passes=({"tp": 8, "pcp": 2, "dcp": 1},),
        says="When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full "
        "TP x PCP axis. Got TP=8, PCP=2, DCP=4; valid DCP sizes are [1, 2, 16].",
        fix="use a --decode-context-parallel-size of 1, 2, 16",
    ),
    Case(
        rule="dcp-spans-pcp",
        model="deepseek-v3",
        fails={"tp": 1, "pcp": 4, "dcp": 2},
        passes=({"tp": 1, "pcp": 4},),
        says="When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full "
        "TP x PCP axis. Got TP=1, PCP=4, DCP=2; valid DCP sizes are [1, 4].",
        fix="use a --decode-context-parallel-size of 1, 4",
    ),
    *(
        Case(
            rule="dbo-thresholds",
            model="mixtral-8x7b",
            fails={"dp": 2, "ep": True, "enable_dbo": True, "all2all_backend": "nixl_ep"} | low,
            passes=(
                {"dp": 2, "ep": True, "enable_dbo": True, "all2all_backend": "nixl_ep"},
                {
                    "dp": 2,
                    "ep": True,
                    "enable_dbo": True,
                    "all2all_backend": "nixl_ep",
                    "dbo_decode_token_threshold": 2,
                    "dbo_prefill_token_threshold": 2,
                },
                {"dp": 2, "ep": True, "all2all_backend": "nixl_ep"} | low,
            ),
            says="dbo_decode_token_threshold and dbo_prefill_token_threshold must be at least the "
            "number of microbatches (2).",
            fix="raise both --dbo-*-token-threshold to 2 or more",
        )
        for low in ({"dbo_decode_token_threshold": 1}, {"dbo_prefill_token_threshold": 0})
    ),
)
