"""Rules of the command before a config is made: vLLM's `serve.py`, `dp_supervisor.py`."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case

SUPERVISED: Final[dict[str, object]] = {
    "dp": 4,
    "data_parallel_size_local": 2,
    "data_parallel_multi_port_external_lb": True,
}
HALVES: Final[dict[str, object]] = {"dp": 4, "data_parallel_size_local": 2}
MULTI_PORT: Final = "Error: --data-parallel-multi-port-external-lb "

FLAG_CASES: Final = (
    Case(
        rule="multi-port-api-servers",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"api_server_count": 2},
        passes=(SUPERVISED, SUPERVISED | {"api_server_count": 1}),
        says=MULTI_PORT + "currently requires --api-server-count=1",
        fix="drop --api-server-count",
    ),
    Case(
        rule="multi-port-rank",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"data_parallel_rank": 0},
        passes=(SUPERVISED,),
        says=MULTI_PORT + "manages child --data-parallel-rank values internally",
        fix="drop --data-parallel-rank",
    ),
    *(
        Case(
            rule="multi-port-alone",
            model="mixtral-8x7b",
            fails=SUPERVISED | {f"data_parallel_{mode}_lb": True},
            passes=(SUPERVISED,),
            says=MULTI_PORT + "cannot be combined with --data-parallel-external-lb or "
            "--data-parallel-hybrid-lb",
            fix="choose one load-balancing mode",
        )
        for mode in ("external", "hybrid")
    ),
    Case(
        rule="multi-port-dp",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"dp": 1},
        passes=(SUPERVISED | {"dp": 2},),
        says=MULTI_PORT + "requires --data-parallel-size > 1",
        fix="raise --data-parallel-size",
    ),
    *(
        Case(
            rule="multi-port-local",
            model="mixtral-8x7b",
            fails=SUPERVISED | {"data_parallel_size_local": local},
            passes=(SUPERVISED | {"data_parallel_size_local": 2},),
            says=MULTI_PORT + "requires --data-parallel-size-local >= 2",
            fix="give --data-parallel-size-local the engines of this node",
        )
        for local in (None, 0, 1)
    ),
    Case(
        rule="multi-port-local-at-most-dp",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"data_parallel_size_local": 5},
        passes=(SUPERVISED | {"data_parallel_size_local": 4},),
        says="Error: --data-parallel-size-local cannot exceed --data-parallel-size",
        fix="use a --data-parallel-size-local of at most 4",
    ),
    Case(
        rule="multi-port-local-divides-dp",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"data_parallel_size_local": 3},
        passes=(SUPERVISED, SUPERVISED | {"data_parallel_size_local": 4}),
        says="Error: --data-parallel-size must be divisible by --data-parallel-size-local",
        fix="use a --data-parallel-size-local that divides 4",
    ),
    Case(
        rule="multi-port-ranks-in-range",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"data_parallel_start_rank": 3},
        passes=(SUPERVISED | {"data_parallel_start_rank": 2},),
        says="Error: multi-port supervised ranks would exceed --data-parallel-size",
        fix="lower --data-parallel-start-rank or --data-parallel-size-local",
    ),
    Case(
        rule="multi-port-ranks-in-range",
        model="mixtral-8x7b",
        fails=SUPERVISED | {"node_rank": 2},
        passes=(SUPERVISED | {"node_rank": 1}, SUPERVISED | {"node_rank": 0}),
        says="Error: multi-port supervised ranks would exceed --data-parallel-size",
        fix="lower --data-parallel-start-rank or --data-parallel-size-local",
    ),
    Case(
        rule="headless-local-engines",
        model="mixtral-8x7b",
        fails={"dp": 2, "headless": True, "data_parallel_size_local": 0},
        passes=(
            {"dp": 2, "headless": True, "data_parallel_size_local": 1},
            {"dp": 2, "data_parallel_size_local": 0},
            {"dp": 2, "headless": True},
        ),
        says="data_parallel_size_local must be > 0 in headless mode",
        fix="give --data-parallel-size-local the engines of this node",
    ),
    Case(
        rule="headless-api-servers",
        model="llama-3.1-8b",
        fails={"headless": True, "api_server_count": 3},
        passes=(
            {"headless": True},
            {"headless": True, "api_server_count": 0},
            {"api_server_count": 3},
        ),
        says="--api-server-count=3 cannot be used with --headless (no API servers are started in "
        "headless mode).",
        fix="drop --api-server-count on headless nodes",
    ),
    *(
        Case(
            rule="one-lb-mode",
            model="mixtral-8x7b",
            fails=HALVES | modes,
            passes=(
                HALVES | {"data_parallel_hybrid_lb": True},
                HALVES | {"data_parallel_start_rank": 2},
                HALVES | {"data_parallel_hybrid_lb": True, "data_parallel_start_rank": 2},
                SUPERVISED | {"data_parallel_start_rank": 2},
            ),
            says="Cannot use more than one data parallel load balancing mode. Choose one of: "
            "--data-parallel-multi-port-external-lb, --data-parallel-external-lb (or "
            "--data-parallel-rank), --data-parallel-hybrid-lb (or --data-parallel-start-rank).",
            fix="keep the flags of one mode",
        )
        for modes in (
            {"data_parallel_rank": 0, "data_parallel_start_rank": 0},
            {"data_parallel_external_lb": True, "data_parallel_hybrid_lb": True},
            {"data_parallel_external_lb": True, "data_parallel_start_rank": 1},
        )
    ),
)
