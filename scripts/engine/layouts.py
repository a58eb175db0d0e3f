"""Layouts to ask about: any, clean ones that should build, and every one of up to 16 ranks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from dice import Dice
from shapes import Config, divisors

Args = dict[str, Any]

TP = "tensor_parallel_size"
PP = "pipeline_parallel_size"
DP = "data_parallel_size"
PCP = "prefill_context_parallel_size"
DCP = "decode_context_parallel_size"
EP = "enable_expert_parallel"
WIDTHS = (TP, PP, DP, PCP, DCP)
DEFAULTS: Args = {**dict.fromkeys(WIDTHS, 1), EP: False}
EXPERT_COUNTS = ("num_experts", "n_routed_experts", "num_local_experts")


def is_moe(config: Config) -> bool:
    """Whether the config names a number of experts."""
    return any(config.get(key) for key in EXPERT_COUNTS)


def is_latent(config: Config) -> bool:
    """Whether the config describes latent attention."""
    return "kv_lora_rank" in config


def heads_of(config: Config) -> int:
    """Query heads of a layer."""
    return int(config["num_attention_heads"])


def kv_heads_of(config: Config) -> int:
    """KV heads of a layer; latent attention counts as one."""
    return 1 if is_latent(config) else int(config.get("num_key_value_heads") or heads_of(config))


def without_defaults(args: Args) -> Args:
    """The arguments that say something."""
    return {name: value for name, value in args.items() if DEFAULTS.get(name) != value}


def any_layout(dice: Dice, config: Config) -> Args:
    """Widths that may be refused, each alone or together; seldom one that is no width at all."""
    heads = heads_of(config)
    tp = dice.pick((1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12, 16, *divisors(heads)))
    pcp = dice.pick((1, 1, 1, 1, 2, 2, 3, 4))
    dcps = (1, 1, 1, 1, 2, 3, 4, pcp, tp, tp * pcp, max(tp // 2, 1), max(tp // 4, 1))
    args: Args = {
        TP: tp,
        PP: dice.pick((1, 1, 1, 2, 3, 4, 5, 7)),
        DP: dice.pick((1, 1, 1, 2, 3, 4, 8)),
        PCP: pcp,
        DCP: dice.pick(dcps),
        EP: dice.chance(0.4),
    }
    if dice.chance(0.03):
        args[dice.pick(WIDTHS)] = dice.pick((0, -1))
    return without_defaults(args)


def cuts(config: Config) -> dict[str, int]:
    """The numbers that tp has to divide, as far as a glance at the config tells."""
    dense = int(config.get("intermediate_size_mlp") or config["intermediate_size"])
    shared = int(config.get("n_shared_experts") or 0) * int(
        config.get("moe_intermediate_size") or 0
    )
    return {
        "heads": heads_of(config),
        "vocabulary": -(-int(config["vocab_size"]) // 64) * 64,
        "mlp": dense,
        "shared experts": shared,
    }


def cuts_kv_heads(config: Config, tp: int) -> bool:
    """Whether tp divides the KV heads or is a multiple of them; gpt-oss has no copies."""
    kv = kv_heads_of(config)
    return kv % tp == 0 or (tp % kv == 0 and "swiglu_limit" not in config)


def clean_widths(config: Config, *, but: str = "") -> list[int]:
    """Every tp up to 16 that cuts everything evenly but this one thing."""
    even = [
        {what for what, number in (cuts(config) | {"kv heads": 0}).items() if number % tp}
        | (set() if cuts_kv_heads(config, tp) else {"kv heads"})
        for tp in range(1, 17)
    ]
    return [tp for tp, uneven in enumerate(even, start=1) if uneven == ({but} if but else set())]


def clean_layout(dice: Dice, config: Config) -> Args:
    """Widths that should build, uneven stages and experts included."""
    latent = is_latent(config)
    tp = dice.pick(clean_widths(config))
    dp = dice.pick((1, 1, 1, 2, 2, 3, 4))
    pcp = dice.pick((1, 1, 2, 2, 3, 4)) if latent else 1
    pp = dice.pick((1, 1, 1, 2, 2, 3, 4, 5))
    args: Args = {TP: tp, PP: min(pp, int(config["num_hidden_layers"])), DP: dp, PCP: pcp}
    if is_moe(config):
        width = int(config.get("moe_intermediate_size") or config["intermediate_size"])
        args[EP] = width % (tp * dp * pcp) != 0 or dice.chance(0.5)
    windows = config.get("sliding_window") or "attention_chunk_size" in config
    if pcp == 1 and not windows:
        most = tp if latent else max(tp // kv_heads_of(config), 1)
        args[DCP] = dice.pick([dcp for dcp in divisors(tp) if dcp <= most])
    return without_defaults(args)


def pairs_with_uneven_queries(config: Config) -> list[tuple[int, int]]:
    """Every tp and dcp that only the queries of a KV head keep apart."""
    heads, kv = heads_of(config), kv_heads_of(config)
    return [
        (tp, dcp)
        for tp in divisors(heads)
        for dcp in divisors(tp)
        if not is_latent(config) and tp > kv and dcp <= tp // kv and heads // kv % dcp != 0
    ]


def small_layouts(most: int, *, grouped: bool) -> Iterator[Args]:
    """Every layout of up to so many ranks that vLLM admits; dcp within tp for grouped heads."""
    for tp, pp, dp, pcp in product(range(1, most + 1), repeat=4):
        if tp * pp * dp * pcp <= most:
            dcps = divisors(tp) if pcp == 1 else sorted({1, pcp, tp * pcp})
            for dcp in dcps:
                if dcp <= tp or not grouped:
                    yield without_defaults({TP: tp, PP: pp, DP: dp, PCP: pcp, DCP: dcp})
