"""Rules of the launch command: load balancers, nodes, headless starts."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.constraints.balancing import (
    counted_engines,
    infers_rank,
    local_engines,
    names_engine,
)
from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    RuleRow,
    Stage,
    Test,
    config_rule,
)
from vllm_parallel.deployment import Deployment

SERVE: Final = "vllm/entrypoints/cli/serve.py, ServeSubcommand.cmd"
SUPERVISOR: Final = (
    "vllm/entrypoints/launchers/dp_supervisor.py, validate_multi_port_external_lb_args"
)
ENGINE_ARGS: Final = "vllm/engine/arg_utils.py, create_engine_config"
INVALID: Final = "Invalid data-parallel launch options: "
MULTI_PORT: Final = "Error: --data-parallel-multi-port-external-lb "
EXECUTORS_WITH_PP: Final = (None, "ray", "mp", "external_launcher")


def modes(d: Deployment) -> int:
    """Load-balancing modes that the flags ask for."""
    balancing = d.settings.balancing
    starts = balancing.start_rank is not None and not balancing.multi_port_external
    return sum((balancing.multi_port_external, names_engine(d), balancing.hybrid or starts))


def last_supervised_engine(d: Deployment) -> int:
    """One past the last engine that a supervisor on this node starts."""
    balancing, nodes = d.settings.balancing, d.settings.nodes
    local = balancing.size_local or 0
    start = nodes.node_rank * local if balancing.start_rank is None else balancing.start_rank
    return start + local


def supervised(test: Test) -> Test:
    """A test that only the supervisor of one server for each local engine makes."""
    return lambda d: d.settings.balancing.multi_port_external and test(d)


flag_rule: RuleRow = partial(Constraint, stage=Stage.FLAGS, known=Known.READ)
supervisor_rule: RuleRow = partial(flag_rule, source=SUPERVISOR)
launch_rule: RuleRow = partial(config_rule, source=ENGINE_ARGS, known=Known.RECORDED)

FLAG_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    supervisor_rule(
        name="multi-port-api-servers",
        broken=supervised(lambda d: d.settings.nodes.api_server_count not in (None, 1)),
        says=MULTI_PORT + "currently requires --api-server-count=1",
        fix="drop --api-server-count",
    ),
    supervisor_rule(
        name="multi-port-rank",
        broken=supervised(lambda d: d.settings.balancing.rank is not None),
        says=MULTI_PORT + "manages child --data-parallel-rank values internally",
        fix="drop --data-parallel-rank",
    ),
    supervisor_rule(
        name="multi-port-alone",
        broken=supervised(lambda d: d.settings.balancing.external or d.settings.balancing.hybrid),
        says=MULTI_PORT + "cannot be combined with --data-parallel-external-lb or "
        "--data-parallel-hybrid-lb",
        fix="choose one load-balancing mode",
    ),
    supervisor_rule(
        name="multi-port-dp",
        broken=supervised(lambda d: d.layout.dp < 2),
        says=MULTI_PORT + "requires --data-parallel-size > 1",
        fix="raise --data-parallel-size",
    ),
    supervisor_rule(
        name="multi-port-local",
        broken=supervised(lambda d: (d.settings.balancing.size_local or 0) < 2),
        says=MULTI_PORT + "requires --data-parallel-size-local >= 2",
        fix="give --data-parallel-size-local the engines of this node",
    ),
    supervisor_rule(
        name="multi-port-local-at-most-dp",
        broken=supervised(lambda d: (d.settings.balancing.size_local or 0) > d.layout.dp),
        says="Error: --data-parallel-size-local cannot exceed --data-parallel-size",
        fix="use a --data-parallel-size-local of at most {layout.dp}",
    ),
    supervisor_rule(
        name="multi-port-local-divides-dp",
        broken=supervised(lambda d: d.layout.dp % (d.settings.balancing.size_local or 1) != 0),
        says="Error: --data-parallel-size must be divisible by --data-parallel-size-local",
        fix="use a --data-parallel-size-local that divides {layout.dp}",
    ),
    supervisor_rule(
        name="multi-port-ranks-in-range",
        broken=supervised(lambda d: last_supervised_engine(d) > d.layout.dp),
        says="Error: multi-port supervised ranks would exceed --data-parallel-size",
        fix="lower --data-parallel-start-rank or --data-parallel-size-local",
    ),
    flag_rule(
        name="headless-api-servers",
        broken=lambda d: d.settings.nodes.headless and (d.settings.nodes.api_server_count or 0) > 0,
        says="--api-server-count={settings.nodes.api_server_count} cannot be used with --headless "
        "(no API servers are started in headless mode).",
        fix="drop --api-server-count on headless nodes",
        source=SERVE,
    ),
    flag_rule(
        name="one-lb-mode",
        broken=lambda d: modes(d) > 1,
        says="Cannot use more than one data parallel load balancing mode. Choose one of: "
        "--data-parallel-multi-port-external-lb, --data-parallel-external-lb (or "
        "--data-parallel-rank), --data-parallel-hybrid-lb (or --data-parallel-start-rank).",
        fix="keep the flags of one mode",
        source=SERVE,
    ),
)

# What a headless start tests once its engine config is made.
HEADLESS_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    flag_rule(
        name="headless-local-engines",
        broken=lambda d: d.settings.nodes.headless and local_engines(d) <= 0,
        says="data_parallel_size_local must be > 0 in headless mode",
        fix="give --data-parallel-size-local the engines of this node",
        source="vllm/entrypoints/cli/serve.py, run_headless",
    ),
)

# Tested before the cache config is made, the other launch rules after it.
EXECUTOR_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    launch_rule(
        name="pp-executor",
        broken=lambda d: d.layout.pp > 1 and d.settings.nodes.executor not in EXECUTORS_WITH_PP,
        says="Pipeline Parallelism without Ray distributed executor or multiprocessing executor or "
        "external launcher is not supported. We recommend to remove Pipeline Parallelism without "
        "Ray distributed executor or multiprocessing executor or external launcher from your "
        "config.",
        fix="use --distributed-executor-backend mp or ray",
    ),
)

LAUNCH_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    launch_rule(
        name="headless-hybrid-lb",
        broken=lambda d: d.settings.nodes.headless and d.settings.balancing.hybrid,
        says="data_parallel_hybrid_lb is not applicable in headless mode",
        fix="drop --data-parallel-hybrid-lb on headless nodes",
        known=Known.READ,
    ),
    launch_rule(
        name="hybrid-or-external-lb",
        broken=lambda d: d.settings.balancing.hybrid and d.settings.balancing.external,
        says=INVALID + "`--data-parallel-hybrid-lb` and `--data-parallel-external-lb` cannot be "
        "enabled together. Enable only one load-balancing mode.",
        fix="keep one of the two flags",
    ),
    launch_rule(
        name="nnodes-dp-backend",
        broken=lambda d: d.settings.nodes.nnodes > 1 and d.settings.balancing.backend != "mp",
        says=INVALID
        + "`--nnodes {settings.nodes.nnodes}` requires `--data-parallel-backend mp`; got "
        "`--data-parallel-backend {settings.balancing.backend}`. Use the MP backend or set "
        "`--nnodes 1`.",
        fix="drop --data-parallel-backend {settings.balancing.backend}",
    ),
    launch_rule(
        name="nnodes-divide-world",
        broken=lambda d: (
            d.settings.nodes.nnodes > 1 and d.layout.ranks % d.settings.nodes.nnodes != 0
        ),
        says=INVALID + "`--nnodes {settings.nodes.nnodes}` must evenly divide the total world size "
        "({layout.ranks}). Adjust `--nnodes`, `--data-parallel-size`, "
        "`--pipeline-parallel-size`, `--tensor-parallel-size`, or "
        "`--prefill-context-parallel-size`.",
        fix="use a number of nodes that divides {layout.ranks} ranks",
    ),
    launch_rule(
        name="node-rank-in-range",
        broken=lambda d: (
            d.settings.nodes.nnodes > 1
            and not 0 <= d.settings.nodes.node_rank < d.settings.nodes.nnodes
        ),
        says=INVALID + "`--node-rank` must be between 0 and {options}; got `--node-rank "
        "{settings.nodes.node_rank}`. Set it to this node's zero-based index.",
        options=lambda d: d.settings.nodes.nnodes - 1,
        fix="number the nodes from 0 to {options}",
    ),
    launch_rule(
        name="nodes-without-ranks",
        broken=lambda d: d.settings.nodes.nnodes > 1 and d.layout.world_size == 0,
        says="integer division or modulo by zero",
        fix="give every width at least 1",
    ),
    launch_rule(
        name="external-rank-from-node",
        broken=lambda d: infers_rank(d) and d.settings.nodes.nnodes % d.layout.dp != 0,
        says=INVALID
        + "`--node-rank` cannot unambiguously identify external data-parallel ranks when "
        "`--nnodes` is not divisible by `--data-parallel-size`. Set a unique "
        "`--data-parallel-rank` for each external-LB process.",
        fix="give --data-parallel-rank",
    ),
    launch_rule(
        name="external-lb-needs-experts",
        broken=lambda d: d.layout.dp > 1 and names_engine(d) and not d.model.is_moe,
        says="Non-MoE models do not support external data parallel mode. For external load "
        "balancing, launch independent vLLM instances without --data-parallel-* arguments.",
        fix="start {layout.dp} independent servers behind a load balancer",
    ),
    launch_rule(
        name="external-lb-needs-rank",
        broken=lambda d: (
            names_engine(d) and d.settings.balancing.rank is None and not infers_rank(d)
        ),
        says=INVALID + "`--data-parallel-external-lb` requires a data-parallel rank. Set "
        "`--data-parallel-rank`, or set `--data-parallel-size` greater than 1 and use `--nnodes` "
        "with `--node-rank` so the rank can be inferred.",
        fix="give --data-parallel-rank",
    ),
    launch_rule(
        name="external-lb-local-size",
        broken=lambda d: names_engine(d) and counted_engines(d) not in (1, None),
        says=INVALID
        + "an external data-parallel rank requires `--data-parallel-size-local 1`; got "
        "{options}. Set it to 1 or omit it.",
        options=counted_engines,
        fix="drop --data-parallel-size-local, or use as many nodes as engines",
    ),
    launch_rule(
        name="hybrid-lb-local-size",
        broken=lambda d: (
            not names_engine(d) and counted_engines(d) is None and d.settings.balancing.hybrid
        ),
        says=INVALID
        + "`--data-parallel-hybrid-lb` requires `--data-parallel-size-local`. Set it to "
        "the number of data-parallel ranks on this node.",
        fix="give --data-parallel-size-local",
    ),
    launch_rule(
        name="dp-backend",
        broken=lambda d: d.settings.balancing.backend not in ("mp", "ray"),
        says="('data_parallel_backend can only be ray or mp, got %s', "
        "'{settings.balancing.backend}')",
        fix="use --data-parallel-backend mp or ray",
    ),
)
