"""The questions of `deployed_builds.jsonl`: quantised, hybrid and memory-tight deployments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dice import Dice
from even_models import EVEN
from hybrid_models import HYBRIDS
from layouts import DCP, DP, EP, PCP, PP, TP, Args, heads_of, is_latent, is_moe, kv_heads_of
from quantisations import QUANTISATIONS, REFUSED
from shapes import Config, divisors

Row = dict[str, Any]

QUANTISED_ROWS = 10  # of each kind
REFUSED_ROWS = 2  # of each kind that vLLM refuses
CACHED_ROWS = 5  # of each dtype
HYBRID_ROWS = 6  # of each family
TIGHT_ROWS = 50
SPLIT_ROWS = 40
BALANCED_ROWS = 16
CACHE_DTYPES = (
    "float16",
    "bfloat16",
    "fp8",
    "fp8_e4m3",
    "fp8_ds_mla",
    "nvfp4_ds_mla",
    "fp8_per_token_head",
    "int8_per_token_head",
    "int4_per_token_head",
)
LENGTHS = (2048, 3001, 4096, 4097, 5000, 8192)


def deployed_questions() -> list[Row]:
    """Every question, without a budget."""
    return [*quantised(), *cached(), *hybrids(), *plain(), *split(), *balanced()]


def question(kind: str, name: str, config: Config, args: Args) -> Row:
    """A question about an invented model."""
    return {"kind": kind, "model": name, "config": config, "args": args}


def quantised() -> Iterator[Row]:
    """Each kind of quantisation, written onto models that it fits, most of them."""
    for kind, draw in QUANTISATIONS.items():
        for number in range(REFUSED_ROWS if kind in REFUSED else QUANTISED_ROWS):
            name = f"{kind}-{number:02}"
            dice = Dice(f"quantised {name}")
            families = EVEN | HYBRIDS if dice.chance(0.2) else EVEN
            family = "gpt-oss" if kind == "mxfp4" else dice.pick(list(families))
            config = families[family](dice) | {"quantization_config": draw(dice)}
            args = layout(dice, config) | sizes(dice)
            if kind == "fbgemm":
                args |= {"allow_deprecated_quantization": True}
            yield question("quant", f"{family}-{name}", config, args)


def cached() -> Iterator[Row]:
    """Each dtype of the cache, on plain and hybrid models, with blocks of several sizes."""
    families = EVEN | HYBRIDS
    latents = [family for family in families if family.startswith(("deepseek", "glm-dsa"))]
    for dtype in CACHE_DTYPES:
        for number in range(CACHED_ROWS):
            name = f"{dtype}-{number:02}"
            dice = Dice(f"cached {name}")
            only = latents if "mla" in dtype and dice.chance(0.8) else list(families)
            family = dice.pick(only)
            config = families[family](dice)
            args = layout(dice, config) | sizes(dice) | {"kv_cache_dtype": dtype}
            yield question("kv_dtype", f"{family}-{name}", config, args)


def hybrids() -> Iterator[Row]:
    """Every family with caches of several kinds."""
    for family, made in HYBRIDS.items():
        for number in range(HYBRID_ROWS):
            dice = Dice(f"hybrid {family} {number}")
            config = made(dice)
            args = layout(dice, config) | sizes(dice)
            rare = {
                "enable_prefix_caching": (False,),
                "num_gpu_blocks_override": (300, 5000),
                "mamba_cache_dtype": ("float32",),
                "mamba_ssm_cache_dtype": ("float32",),
                "async_scheduling": (False,),
                "disable_hybrid_kv_cache_manager": (True,),
            }
            state = "mamba_d_conv" in config or "linear_conv_kernel_dim" in config
            words = [word for word in rare if state or not word.startswith("mamba")]
            args |= {word: dice.pick(rare[word]) for word in dice.some(words, 0.12)}
            yield question("hybrid", f"{family}-{number:02}", config, args)


def plain() -> Iterator[Row]:
    """Models of one kind of cache, for budgets just around a request's."""
    for number in range(TIGHT_ROWS):
        dice = Dice(f"plain {number}")
        family = dice.pick(list(EVEN))
        config = EVEN[family](dice)
        args = layout(dice, config) | sizes(dice)
        yield question("memory", f"{family}-tight-{number:02}", config, args)


def split() -> Iterator[Row]:
    """Context parallelism, of decoding and of both."""
    for number in range(SPLIT_ROWS):
        dice = Dice(f"split {number}")
        family = dice.pick(["llama", "qwen3", "qwen3-moe", "deepseek-v2", "deepseek-v3"])
        config = EVEN[family](dice)
        args = context_layout(dice, config) | sizes(dice)
        rare = {
            "cp_kv_cache_interleave_size": (1, 16, 17, 64),
            "dcp_comm_backend": ("a2a",),
            "kv_cache_dtype": ("fp8",),
        }
        args |= {word: dice.pick(rare[word]) for word in dice.some(list(rare), 0.4)}
        yield question("context_parallel", f"{family}-split-{number:02}", config, args)


def balanced() -> Iterator[Row]:
    """Experts with copies of some."""
    for number in range(BALANCED_ROWS):
        dice = Dice(f"balanced {number}")
        family = dice.pick(["qwen3-moe", "mixtral", "glm4-moe", "deepseek-v2", "deepseek-v3"])
        config = EVEN[family](dice)
        args = layout(dice, config) | sizes(dice) | {EP: True, "enable_eplb": True}
        args |= {TP: max(int(args.get(TP, 1)), 2)}
        args["eplb_config"] = {"num_redundant_experts": dice.pick((0, 2, 4, 8, 3))}
        yield question("eplb", f"{family}-balanced-{number:02}", config, args)


def layout(dice: Dice, config: Config) -> Args:
    """Widths, most of which cut the model evenly."""
    args: Args = {TP: 3 if dice.chance(0.02) else dice.pick((1, 1, 2, 2, 4, 8, 16))}
    args[PP] = dice.pick((1, 1, 1, 2, 3))
    if is_moe(config):
        args |= {DP: dice.pick((1, 1, 2)), EP: dice.chance(0.4)}
    return {name: width for name, width in args.items() if width not in (1, False)}


def context_layout(dice: Dice, config: Config) -> Args:
    """A tp with a dcp that most often fits, and at times a pcp."""
    tp = dice.pick((4, 8, 16))
    most = tp if is_latent(config) else max(tp // kv_heads_of(config), 1)
    queries = heads_of(config) // kv_heads_of(config)
    fits = [dcp for dcp in divisors(tp) if dcp <= most and queries % dcp == 0]
    args: Args = {TP: tp, DCP: dice.pick(fits), PP: dice.pick((1, 1, 2))}
    if dice.chance(0.25):
        pcp = dice.pick((2, 4))
        args |= {PCP: pcp, DCP: dice.pick((1, pcp))}
    return {name: width for name, width in args.items() if width != 1}


def sizes(dice: Dice) -> Args:
    """Arguments beside the widths; those that decide how much is in flight always given."""
    args: Args = {
        "max_num_batched_tokens": dice.pick((2048, 8192, 16384)),
        "max_num_seqs": dice.pick((16, 64, 256)),
        "max_model_len": dice.pick((*LENGTHS, -1)),
    }
    block = dice.pick((None, None, None, 16, 32, 64, 128))
    return args if block is None else args | {"block_size": block}
