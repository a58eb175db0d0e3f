"""Rules of the launch options, worded as in vLLM's `engine/arg_utils.py`."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case

HALVES: Final[dict[str, object]] = {"dp": 4, "data_parallel_size_local": 2}
INVALID: Final = "Invalid data-parallel launch options: "

LAUNCH_CASES: Final = (
    Case(
        rule="pp-executor",
        model="llama-3.1-8b",
        fails={"pp": 2, "distributed_executor_backend": "uni"},
        passes=(
            {"pp": 2},
            {"pp": 2, "distributed_executor_backend": "mp"},
            {"pp": 2, "distributed_executor_backend": "ray"},
            {"pp": 2, "distributed_executor_backend": "external_launcher"},
            {"pp": 1, "distributed_executor_backend": "uni"},
        ),
        says="Pipeline Parallelism without Ray distributed executor or multiprocessing executor or "
        "external launcher is not supported. We recommend to remove Pipeline Parallelism without "
        "Ray distributed executor or multiprocessing executor or external launcher from your "
        "config.",
        fix="use --distributed-executor-backend mp or ray",
    ),
    Case(
        rule="headless-hybrid-lb",
        model="mixtral-8x7b",
        fails=HALVES | {"headless": True, "data_parallel_hybrid_lb": True},
        passes=(
            HALVES | {"headless": True},
            HALVES | {"data_parallel_hybrid_lb": True},
            HALVES | {"headless": True, "data_parallel_start_rank": 2},
        ),
        says="data_parallel_hybrid_lb is not applicable in headless mode",
        fix="drop --data-parallel-hybrid-lb on headless nodes",
    ),
    Case(
        rule="hybrid-or-external-lb",
        model="mixtral-8x7b",
        fails={
            "dp": 2,
            "data_parallel_rank": 0,
            "data_parallel_external_lb": True,
            "data_parallel_hybrid_lb": True,
        },
        passes=({"dp": 2, "data_parallel_rank": 0, "data_parallel_external_lb": True},),
        says=INVALID + "`--data-parallel-hybrid-lb` and `--data-parallel-external-lb` cannot be "
        "enabled together. Enable only one load-balancing mode.",
        fix="keep one of the two flags",
        behind="one-lb-mode",
    ),
    Case(
        rule="nnodes-dp-backend",
        model="llama-3.1-70b",
        fails={"tp": 16, "nnodes": 2, "data_parallel_backend": "ray"},
        passes=({"tp": 16, "nnodes": 2}, {"tp": 16, "data_parallel_backend": "ray"}),
        says=INVALID + "`--nnodes 2` requires `--data-parallel-backend mp`; got "
        "`--data-parallel-backend ray`. Use the MP backend or set `--nnodes 1`.",
        fix="drop --data-parallel-backend ray",
    ),
    Case(
        rule="nnodes-divide-world",
        model="llama-3.1-70b",
        fails={"tp": 8, "pp": 2, "nnodes": 3},
        passes=({"tp": 8, "pp": 2, "nnodes": 2}, {"tp": 8, "pp": 2, "nnodes": 16}),
        says=INVALID + "`--nnodes 3` must evenly divide the total world size (16). Adjust "
        "`--nnodes`, `--data-parallel-size`, `--pipeline-parallel-size`, "
        "`--tensor-parallel-size`, or `--prefill-context-parallel-size`.",
        fix="use a number of nodes that divides 16 ranks",
    ),
    *(
        Case(
            rule="node-rank-in-range",
            model="llama-3.1-70b",
            fails={"tp": 16, "nnodes": 4, "node_rank": node},
            passes=(
                {"tp": 16, "nnodes": 4, "node_rank": 0},
                {"tp": 16, "nnodes": 4, "node_rank": 3},
                {"tp": 16, "nnodes": 1, "node_rank": 4},
            ),
            says=INVALID + "`--node-rank` must be between 0 and 3; got "
            f"`--node-rank {node}`. Set it to this node's zero-based index.",
            fix="number the nodes from 0 to 3",
        )
        for node in (4, -1)
    ),
    Case(
        rule="nodes-without-ranks",
        model="llama-3.1-70b",
        fails={"tp": 0, "nnodes": 2},
        passes=({"tp": 2, "nnodes": 2},),
        says="integer division or modulo by zero",
        fix="give every width at least 1",
    ),
    Case(
        rule="external-rank-from-node",
        model="mixtral-8x7b",
        fails={"pp": 3, "dp": 2, "nnodes": 3, "data_parallel_external_lb": True},
        passes=(
            {"pp": 2, "dp": 2, "nnodes": 2, "data_parallel_external_lb": True},
            {"pp": 2, "dp": 2, "nnodes": 4, "node_rank": 3, "data_parallel_external_lb": True},
            {"pp": 3, "dp": 2, "nnodes": 3, "data_parallel_rank": 1},
        ),
        says=INVALID + "`--node-rank` cannot unambiguously identify external data-parallel ranks "
        "when `--nnodes` is not divisible by `--data-parallel-size`. Set a unique "
        "`--data-parallel-rank` for each external-LB process.",
        fix="give --data-parallel-rank",
    ),
    *(
        Case(
            rule="external-lb-needs-experts",
            model="llama-3.1-8b",
            fails={"dp": 2, **named},
            passes=({"dp": 2},),
            passing_model="llama-3.1-8b",
            says="Non-MoE models do not support external data parallel mode. For external load "
            "balancing, launch independent vLLM instances without --data-parallel-* arguments.",
            fix="start 2 independent servers behind a load balancer",
        )
        for named in ({"data_parallel_rank": 1}, {"data_parallel_external_lb": True})
    ),
    Case(
        rule="external-lb-needs-rank",
        model="mixtral-8x7b",
        fails={"dp": 2, "data_parallel_external_lb": True},
        passes=(
            {"dp": 2, "data_parallel_external_lb": True, "data_parallel_rank": 0},
            {"dp": 2, "data_parallel_external_lb": True, "nnodes": 2, "node_rank": 1},
        ),
        says=INVALID + "`--data-parallel-external-lb` requires a data-parallel rank. Set "
        "`--data-parallel-rank`, or set `--data-parallel-size` greater than 1 and use `--nnodes` "
        "with `--node-rank` so the rank can be inferred.",
        fix="give --data-parallel-rank",
    ),
    *(
        Case(
            rule="external-lb-local-size",
            model="mixtral-8x7b",
            fails={"dp": 2, "data_parallel_rank": 0, "data_parallel_size_local": local},
            passes=(
                {"dp": 2, "data_parallel_rank": 0, "data_parallel_size_local": 1},
                {"dp": 2, "data_parallel_rank": 0},
            ),
            says=INVALID + "an external data-parallel rank requires `--data-parallel-size-local "
            f"1`; got {local}. Set it to 1 or omit it.",
            fix="drop --data-parallel-size-local, or use as many nodes as engines",
        )
        for local in (2, 0)
    ),
    Case(
        rule="hybrid-lb-local-size",
        model="mixtral-8x7b",
        fails={"dp": 4, "data_parallel_hybrid_lb": True},
        passes=(
            {"dp": 4, "data_parallel_hybrid_lb": True, "data_parallel_size_local": 2},
            {"dp": 4, "data_parallel_hybrid_lb": True, "nnodes": 2},
        ),
        says=INVALID + "`--data-parallel-hybrid-lb` requires `--data-parallel-size-local`. Set it "
        "to the number of data-parallel ranks on this node.",
        fix="give --data-parallel-size-local",
    ),
    Case(
        rule="dp-backend",
        model="llama-3.1-8b",
        fails={"data_parallel_backend": "gloo"},
        passes=({"data_parallel_backend": "mp"}, {"data_parallel_backend": "ray"}),
        says="('data_parallel_backend can only be ray or mp, got %s', 'gloo')",
        fix="use --data-parallel-backend mp or ray",
    ),
)
