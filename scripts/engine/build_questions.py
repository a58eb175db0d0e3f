"""The questions of `builds.jsonl`: clean layouts of every model, tight budgets, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from dice import Dice
from layouts import (
    DCP,
    DP,
    EP,
    EXPERT_COUNTS,
    PCP,
    PP,
    TP,
    Args,
    clean_layout,
    clean_widths,
    heads_of,
    is_latent,
    is_moe,
    kv_heads_of,
)
from shapes import Config, divisors

Models = Mapping[str, Config]
Break = Callable[[Dice, Config], Args | None]

CLEAN_ROWS = 4  # of each model
TIGHT_MODELS = 60
REFUSED_ROWS = 22  # at least, of each kind, where so many models can be broken so
BUDGETS = (1 << 34, 1 << 32, 10**9, 1 << 28, 123_456_789)
BLOCK = 16
SIZES: Args = {"block_size": BLOCK, "max_num_batched_tokens": 2048, "max_num_seqs": 16}


def build_questions(models: Models) -> Iterator[tuple[str, Args, int]]:
    """Every question, as a model's name, arguments and the KV bytes of a rank."""
    for name, config in models.items():
        for number in range(CLEAN_ROWS):
            dice = Dice(f"clean {name} {number}")
            yield name, clean_layout(dice, config) | settings(dice, config), dice.pick(BUDGETS)
    full = [name for name, config in models.items() if is_full(config)]
    for number in range(TIGHT_MODELS):
        dice = Dice(f"tight {number}")
        name = dice.pick(full)
        yield from tight(dice, name, models[name])
    for kind in BREAKS:
        yield from refused(kind, models)


def refused(kind: str, models: Models) -> Iterator[tuple[str, Args, int]]:
    """Layouts that break one rule of the workers, of the models that can."""
    found = []
    for name, number in product(models, range(3)):
        dice = Dice(f"{kind} {name} {number}")
        args = BREAKS[kind](dice, models[name])
        if args:
            found.append((name, args | SIZES, dice.pick(BUDGETS)))
    yield from found[:: max(len(found) // REFUSED_ROWS, 1)]


def settings(dice: Dice, config: Config) -> Args:
    """Arguments beside the widths, those that decide sizes always given."""
    args: Args = {
        "block_size": dice.pick((BLOCK, BLOCK, BLOCK, 32, 64)),
        "max_num_batched_tokens": dice.pick((512, 2048, 8192)),
        "max_num_seqs": 16,
    }
    if dice.chance(0.5):
        args["max_model_len"] = dice.pick((-1, -1, 1000, 1024, 2001, 2048))
    rare = {
        "dtype": ("float16", "float32"),
        "kv_cache_dtype": ("bfloat16",) if is_latent(config) else ("fp8", "fp8_e4m3", "bfloat16"),
        "cp_kv_cache_interleave_size": (4, BLOCK),
        "num_gpu_blocks_override": (300, 5000),
        "all2all_backend": ("naive", "flashinfer_nvlink_two_sided"),
        "expert_placement_strategy": ("round_robin",),
        "dcp_q_replicate": (True,),
    }
    return args | {name: dice.pick(rare[name]) for name in dice.some(list(rare), 0.08)}


def is_full(config: Config) -> bool:
    """Every layer full attention, so that the bytes of a block are plain arithmetic."""
    return not (config.get("sliding_window") or "attention_chunk_size" in config)


def block_bytes(config: Config, args: Args) -> int:
    """Bytes of one block on the stage with most layers, under plain full attention in BF16."""
    tp, pp = int(args.get(TP, 1)), int(args.get(PP, 1))
    layers = -(-int(config["num_hidden_layers"]) // pp)
    if is_latent(config):
        return layers * BLOCK * 2 * (int(config["kv_lora_rank"]) + int(config["qk_rope_head_dim"]))
    heads = max(kv_heads_of(config) // tp, 1)
    dim = config.get("head_dim") or int(config["hidden_size"]) // int(config["num_attention_heads"])
    return layers * BLOCK * 2 * 2 * heads * int(dim)


def tight(dice: Dice, name: str, config: Config) -> Iterator[tuple[str, Args, int]]:
    """One request of 2048 tokens wants 128 blocks and the null block: budgets just around that."""
    widths = {key: dice.pick((1, 2)) for key in dice.some((PP, DP), 0.5)}
    length = dice.pick((2048, 2048, 2033, -1, -1))
    args = widths | SIZES | {"max_model_len": length}
    block = block_bytes(config, args)
    for blocks in (128, 129) if length > 0 else (1, 2, dice.pick((3, 40, 128))):
        yield name, args, blocks * block + dice.pick((0, 0, -1, 1))


def uneven(what: str) -> Break:
    """A tp that divides all but this."""

    def broken(dice: Dice, config: Config) -> Args | None:
        widths = clean_widths(config, but=what)
        return {TP: dice.pick(widths), PP: dice.pick((1, 2))} if widths else None

    return broken


def uneven_experts(dice: Dice, config: Config) -> Args | None:
    """Slices of experts that come out uneven, most of them."""
    if not is_moe(config):
        return None
    return {TP: dice.pick(clean_widths(config)), DP: dice.pick((5, 7, 11))}


def few_experts(dice: Dice, config: Config) -> Args | None:
    """More tensor-parallel ranks than experts; families but one take it."""
    count = next((config[key] for key in EXPERT_COUNTS if config.get(key)), 0)
    widths = [tp for tp in clean_widths(config) if 0 < count < tp]
    return {TP: dice.pick(widths), EP: True} if widths else None


def empty_stages(dice: Dice, config: Config) -> Args:
    """More stages than layers."""
    return {PP: int(config["num_hidden_layers"]) + dice.pick((1, 2))}


def uneven_world(dice: Dice, config: Config) -> Args | None:
    """A number of ranks that gpt-oss does not take, though each cut is even."""
    if "swiglu_limit" not in config:
        return None
    return {DP: dice.pick((7, 11, 13)), EP: True, TP: dice.pick(clean_widths(config))}


def pcp_of_heads(dice: Dice, config: Config) -> Args | None:
    """Prefill-context parallelism without latent attention."""
    if is_latent(config):
        return None
    return {TP: dice.pick(clean_widths(config)), PCP: dice.pick((2, 3))}


def pcp_with_dcp(dice: Dice, config: Config) -> Args | None:
    """Both kinds of context parallelism over dense latent attention."""
    if not is_latent(config):
        return None
    tp, pcp = dice.pick(clean_widths(config)), dice.pick((2, 3))
    return {TP: tp, PCP: pcp, DCP: dice.pick((pcp, tp * pcp))}


def uneven_interleave(dice: Dice, config: Config) -> Args | None:
    """Blocks that the interleave cuts."""
    pairs = dcp_pairs(config) if is_full(config) else []
    if not pairs:
        return None
    tp, dcp = dice.pick(pairs)
    return {TP: tp, DCP: dcp, "cp_kv_cache_interleave_size": dice.pick((3, 5, 32, 0))}


def dcp_of_windows(dice: Dice, config: Config) -> Args | None:
    """Decode-context parallelism over windowed layers."""
    pairs = [] if is_full(config) else dcp_pairs(config)
    return dict(zip((TP, DCP), dice.pick(pairs), strict=True)) if pairs else None


BREAKS: dict[str, Break] = {
    **{what: uneven(what) for what in ("vocabulary", "kv heads", "mlp", "shared experts")},
    "expert width": uneven_experts,
    "few experts": few_experts,
    "stages": empty_stages,
    "world": uneven_world,
    "pcp": pcp_of_heads,
    "pcp with dcp": pcp_with_dcp,
    "interleave": uneven_interleave,
    "windows": dcp_of_windows,
}


def dcp_pairs(config: Config) -> list[tuple[int, int]]:
    """Every clean tp with a dcp above 1; none where only the scheduler would refuse it."""
    kv, queries = kv_heads_of(config), heads_of(config) // kv_heads_of(config)
    most = {tp: tp if is_latent(config) else tp // kv for tp in clean_widths(config)}
    found = [(tp, dcp) for tp in most for dcp in divisors(tp) if 1 < dcp <= most[tp]]
    even = [(tp, dcp) for tp, dcp in found if is_latent(config) or queries % dcp == 0]
    return [] if "attention_chunk_size" in config else even
