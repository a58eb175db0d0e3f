"""The questions of `verdicts.jsonl`: a grid of layouts, a scenario a rule, flags at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dice import Dice
from flag_values import EVERYTHING, FEATURES, LAUNCH, SIZES, Values, connector
from layouts import (
    DCP,
    DP,
    EP,
    PCP,
    PP,
    TP,
    Args,
    any_layout,
    heads_of,
    is_latent,
    is_moe,
    kv_heads_of,
    pairs_with_uneven_queries,
)
from shapes import Config, divisors

Models = Mapping[str, Config]

GRID_ROWS = 20  # of each model
SCENARIO_ROWS = 22
MIXED_ROWS = 2200
NIXL = (connector("NixlConnector"),)
LAUNCHER: Values = {"distributed_executor_backend": ("external_launcher",), PP: (2, 3)}
ELASTIC: Values = {"enable_elastic_ep": (True,), "enable_eplb": (True,), EP: (True,)}


def drafts(count: int) -> dict[str, object]:
    """Speculation from the prompt's own words."""
    return {"method": "ngram", "num_speculative_tokens": count}


def any_model(_: Config) -> bool:
    """Any model."""
    return True


def is_dense(config: Config) -> bool:
    """A model without experts."""
    return not is_moe(config)


def is_grouped_moe(config: Config) -> bool:
    """Experts, but no latent attention: the CPU build turns prefix caching off for that."""
    return is_moe(config) and not is_latent(config)


def has_many_heads(config: Config) -> bool:
    """Sixteen query heads, or a multiple, over at most two KV heads: DCP has room."""
    few = int(config.get("num_key_value_heads") or 64) <= 2
    return few and heads_of(config) % 8 == 0 and not is_latent(config)


# One rule each: which models, and the arguments that break it, each value one of those given.
Scenario = tuple[Callable[[Config], bool], Values]
SCENARIOS: dict[str, Scenario] = {
    "heads": (any_model, {TP: (9, 11, 13, 18, 21)}),
    "experts for ep": (is_dense, {EP: (True,), DP: (1, 2)}),
    "dcp divides tp": (any_model, {TP: (2, 4, 6, 8), DCP: (3, 5, 16)}),
    "dcp beside pcp": (any_model, {TP: (2, 4), PCP: (2, 3), DCP: (5, 7, 4)}),
    "dcp above copies": (has_many_heads, {TP: (8,), DCP: (2, 4, 8)}),
    "pp executor": (
        any_model,
        {PP: (2, 3), "distributed_executor_backend": ("uni", "pool"), TP: (1, 2)},
    ),
    "executor": (any_model, {"distributed_executor_backend": ("pool", "nccl"), TP: (1, 2)}),
    "kv role": (
        any_model,
        {"kv_transfer_config": ({"kv_connector": "NixlConnector"},), DP: (0, 1, 2)},
    ),
    "kv role word": (
        any_model,
        {"kv_transfer_config": (connector("NixlConnector") | {"kv_role": "kv_none"},)},
    ),
    "nnodes and backend": (any_model, {"nnodes": (2, 4), "data_parallel_backend": ("ray",)}),
    "nnodes divide": (any_model, {"nnodes": (3, 5, 7), TP: (2, 4), DP: (1, 2)}),
    "node rank": (any_model, {"nnodes": (2, 4), "node_rank": (4, 7, -1), TP: (4, 8)}),
    "nnodes executor": (
        any_model,
        {"nnodes": (2,), TP: (2, 4), "distributed_executor_backend": ("ray",)},
    ),
    "rank from node": (
        is_moe,
        {"nnodes": (2,), DP: (4, 8), "data_parallel_external_lb": (True,), TP: (1, 2)},
    ),
    "external on dense": (is_dense, {DP: (2, 4), "data_parallel_rank": (0, 1)}),
    "external without rank": (is_moe, {DP: (1, 2, 4), "data_parallel_external_lb": (True,)}),
    "external local size": (
        is_moe,
        {DP: (4,), "data_parallel_rank": (0, 3), "data_parallel_size_local": (2, 4, 0)},
    ),
    "hybrid local size": (any_model, {DP: (1, 2, 4), "data_parallel_hybrid_lb": (True,)}),
    "two balancers": (
        any_model,
        {
            DP: (2, 4),
            "data_parallel_hybrid_lb": (True,),
            "data_parallel_external_lb": (True,),
        },
    ),
    "dp backend": (any_model, {DP: (1, 2), "data_parallel_backend": ("zmq", "gloo")}),
    "rank in range": (is_moe, {DP: (2, 4), "data_parallel_rank": (4, 5, 9)}),
    "start in range": (
        any_model,
        {DP: (2, 4), "data_parallel_start_rank": (4, 8), "data_parallel_size_local": (2,)},
    ),
    "start below zero": (
        any_model,
        {DP: (2, 4), "data_parallel_start_rank": (-1, -3), "data_parallel_size_local": (1, 2)},
    ),
    "nodes without ranks": (any_model, {"nnodes": (2, 4), TP: (0,), DP: (1, 2, 4)}),
    "local in dp": (any_model, {DP: (1, 2), "data_parallel_size_local": (3, 4, 9)}),
    "external needs dp": (is_moe, {DP: (1,), "data_parallel_rank": (0, 1), TP: (1, 2)}),
    "elastic": (any_model, {"enable_elastic_ep": (True,), DP: (1, 2), PP: (1, 2)}),
    "elastic pp": (is_moe, ELASTIC | {DP: (2, 4), PP: (2, 3)}),
    "elastic balancer": (is_moe, ELASTIC | {DP: (2, 4), "data_parallel_rank": (0, 1)}),
    "redundant": (
        any_model,
        {"eplb_config": ({"num_redundant_experts": 1}, {"num_redundant_experts": 32})},
    ),
    "dbo thresholds": (
        any_model,
        {
            "enable_dbo": (True,),
            "dbo_decode_token_threshold": (0, 1),
            "dbo_prefill_token_threshold": (1, 512),
        },
    ),
    "nixl dcp": (is_latent, {TP: (4, 8), DCP: (2,), "kv_transfer_config": NIXL}),
    "nvfp4": (is_latent, {"kv_cache_dtype": ("nvfp4",), TP: (1, 2)}),
    "routed dense": (is_dense, {"enable_return_routed_experts": (True,), PP: (1, 2)}),
    "routed prefix": (
        is_moe,
        {"enable_return_routed_experts": (True,), "enable_prefix_caching": (False,), PP: (1, 2)},
    ),
    "routed pp": (is_grouped_moe, {"enable_return_routed_experts": (True,), PP: (2, 3)}),
    "routed pcp": (is_grouped_moe, {"enable_return_routed_experts": (True,), PCP: (2, 4)}),
    "routed pd": (
        is_grouped_moe,
        {
            "enable_return_routed_experts": (True,),
            "kv_transfer_config": tuple(
                connector(name) for name in ("NixlConnector", "NixlPullConnector")
            ),
        },
    ),
    "moonep placement": (
        is_moe,
        {"all2all_backend": ("moonep",), "expert_placement_strategy": ("round_robin",)},
    ),
    "moonep dtype": (
        is_moe,
        {"all2all_backend": ("moonep",), "dtype": ("float16", "half", "float32"), TP: (1, 2)},
    ),
    "older runner": (any_model, LAUNCHER | {PCP: (2, 3), TP: (1, 2)}),
    "routed older runner": (
        is_grouped_moe,
        LAUNCHER | {"enable_return_routed_experts": (True,), TP: (1, 2)},
    ),
    "connector": (any_model, {"kv_transfer_config": ({"kv_role": "kv_both"},), TP: (1, 2)}),
    "drafts": (
        any_model,
        {"speculative_config": tuple(drafts(count) for count in (0, -1)), TP: (1, 2), DP: (1, 2)},
    ),
    "too long": (any_model, {"max_model_len": (131_073, 500_000, 10_000_000), TP: (1, 2)}),
    "unchunked": (
        any_model,
        {
            "enable_chunked_prefill": (False,),
            "max_model_len": (1025, 2048),
            "max_num_batched_tokens": (512, 1024, 2048),
            "max_num_seqs": (16,),
        },
    ),
    "seqs in tokens": (
        any_model,
        {"max_num_batched_tokens": (8, 64), "max_num_seqs": (65, 128, 256)},
    ),
}


# One bad value at a time, whatever else there is.
BAD: Values = {
    "max_model_len": (0, -2, -5),
    "dtype": ("int8", "float8", "bf16"),
    "block_size": (0, -1),
    "gpu_memory_utilization": (0.0, -0.5, 1.01, 2.0),
    "kv_cache_dtype": ("int8", "fp4"),
    PP: (0, -1),
    TP: (0, -2),
    PCP: (0, -1),
    DP: (0, -1),
    DCP: (0, -1),
    "data_parallel_size_local": (-1, -2),
    "data_parallel_rank": (-1, -2),
    "all2all_backend": ("nccl", ""),
    "expert_placement_strategy": ("random", "Linear"),
    "dbo_decode_token_threshold": (-1,),
    "dbo_prefill_token_threshold": (-1,),
    "node_rank": (-1,),
    "nnodes": (0, -1),
    "dcp_comm_backend": ("ring", "nccl"),
    "max_num_batched_tokens": (0, -1),
    "max_num_seqs": (0, -1),
    "max_logprobs": (-2, -5),
    "scheduling_policy": ("lifo", "FCFS"),
    "eplb_config": (
        {"window_size": 0},
        {"window_size": -1},
        {"step_interval": 0},
        {"step_interval": -1},
        {"num_redundant_experts": -1},
        {"policy": "greedy"},
    ),
}


def verdict_questions(models: Models) -> Iterator[tuple[str, Args]]:
    """Every question, as a model's name and arguments; some come twice."""
    for name, config in models.items():
        for number in range(GRID_ROWS):
            yield name, any_layout(Dice(f"grid {name} {number}"), config)
    for title, (wants, values) in SCENARIOS.items():
        named = [name for name, config in models.items() if wants(config)]
        for number in range(SCENARIO_ROWS):
            dice = Dice(f"{title} {number}")
            yield dice.pick(named), {arg: dice.pick(options) for arg, options in values.items()}
    for arg, options in BAD.items():
        for number in range(SCENARIO_ROWS):
            dice = Dice(f"{arg} {number}")
            name = dice.pick(list(models))
            beside = any_layout(dice, models[name]) if dice.chance(0.5) else {}
            yield name, beside | {arg: dice.pick(options)}
    yield from paired(models)
    yield from mixed(models)


def paired(models: Models) -> Iterator[tuple[str, Args]]:
    """Layouts whose widths have to fit each other to break a rule."""
    for name, config in models.items():
        for tp, dcp in pairs_with_uneven_queries(config)[:4]:
            yield name, {TP: tp, DCP: dcp}
        if kv_heads_of(config) == 1 and not is_latent(config):
            for tp in divisors(heads_of(config))[1:4]:
                yield name, {TP: tp, DCP: tp, "kv_transfer_config": NIXL[0]}


def mixed(models: Models) -> Iterator[tuple[str, Args]]:
    """Flags of one kind at random, or one or two of every kind, over some layout."""
    for number in range(MIXED_ROWS):
        dice = Dice(f"mixed {number}")
        name = dice.pick(list(models))
        small = {DP: dice.pick((1, 2, 4)), TP: dice.pick((1, 2))}
        args = any_layout(dice, models[name]) if dice.chance(0.6) else small
        values, share = dice.pick(
            ((LAUNCH, 0.33), (SIZES, 0.3), (FEATURES, 0.25), (EVERYTHING, 0.07))
        )
        for arg in dice.some(list(values), share):
            args[arg] = dice.pick(values[arg])
        yield name, args
