"""Random questions for the planner and for `batch`: models, and configs sound and damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import vllm_parallel
from vllm_parallel.catalog import gpu_names, model_names
from vllm_parallel.catalog.rates import rated_gpus

MODELS: Final = Path(vllm_parallel.__file__).parent / "catalog" / "models"
WIDTHS: Final = (1, 1, 1, 2, 2, 4, 4, 8, 3, 16)
ODD: Final[tuple[object, ...]] = (
    0,
    -1,
    2**61,
    1.0,
    1e-05,
    10**400,
    True,
    None,
    "8",
    "tp",
    [],
    {},
    "\U0001facf<b>&",
)
NAMES: Final = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size",
    "prefill_context_parallel_size", "decode_context_parallel_size",
)  # fmt: skip
FORM: Final = ("model", "gpu", "nodes", "max_model_len", "gpu_memory_utilization", "goal")
TYPED: Final = ("no-such", "99", "eight", "nan", "-7", "1e999", "\U0001facf</p>", "h100")
DAMAGES: Final[tuple[Callable[[str, Random], str], ...]] = (
    lambda text, random: text[: random.randrange(len(text))],
    lambda text, random: text.replace(":", random.choice(("", "::", ": NaN ,")), 1),
    lambda text, random: text.replace("}", ",}", 1),
    lambda text, random: text.replace('"', random.choice(("", "'", '"\n', '"\\x')), 1),
    lambda text, _: f"[{text}]",
    lambda text, _: "[" * 99 + text,
    lambda text, _: f"{text} \ud800",
)


def batch_lines(count: int, random: Random) -> list[str]:
    """Questions of `batch`, a line each."""
    return [json.dumps(_question(number, random)) for number in range(count)]


def forms(count: int, random: Random) -> list[str]:
    """What the planner's form asks."""
    return [json.dumps(_form(random)) for _ in range(count)]


def _config(random: Random) -> dict[str, object]:
    """A config of the catalog, most times with some keys changed or left out."""
    path = MODELS / f"{random.choice(model_names())}.json"
    config: dict[str, object] = json.loads(path.read_text("utf-8"))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        key = random.choice(sorted(config))
        what = random.random()
        value = config[key]
        if what < 0.2:
            del config[key]
            if not config:
                return config
        elif what < 0.6 and isinstance(value, int):
            config[key] = max(1, value * random.choice((1, 2, 3)) // random.choice((1, 2, 4)))
        elif what < 0.75:
            config[key] = random.choice(ODD)
        else:
            config[random.choice(("__proto__", "constructor", "<script>"))] = {"a": [1]}
    return config


def _question(number: int, random: Random) -> dict[str, object]:
    own = random.random() < 0.5
    question: dict[str, object] = {
        "id": number,
        "model": _config(random) if own else random.choice([*model_names(), "no-such"]),
        "args": dict(_arguments(random)),
    }
    if random.random() < 0.8:
        question |= {"gpu": random.choice(gpu_names()), "gpus_per_node": 8, "nodes": 2}
    if random.random() < 0.2:
        question["as_bf16"] = True
    if random.random() < 0.4:
        contexts = [random.randrange(1, 9000) for _ in range(random.randrange(1, 9))]
        question["step"] = {"decode": contexts, "prefill": [[random.randrange(1, 3000), 0]]}
    return question


def _arguments(random: Random) -> Iterator[tuple[str, object]]:
    for name in NAMES:
        if random.random() < 0.5:
            yield name, random.choice(WIDTHS)
    if random.random() < 0.3:
        yield "enable_expert_parallel", True
    if random.random() < 0.7:
        yield "max_model_len", random.choice((8192, 2048, 131072, -1))
    if random.random() < 0.2:
        yield "gpu_memory_utilization", random.choice((0.9, 0.5, 0.99))
    if random.random() < 0.1:
        yield random.choice(("kv_cache_dtype", "sed", "block_size")), random.choice(ODD[:7])


def _form(random: Random) -> dict[str, str]:
    own = random.random() < 0.6
    text = json.dumps(_config(random)) if own else ""
    if own and random.random() < 0.3:
        text = random.choice(DAMAGES)(text, random)
    gpu = random.choice(gpu_names())
    goals = ("longest-request", "capacity", "", *("tpot", "throughput") * (gpu in rated_gpus()))
    form = {
        "model": "" if own else random.choice(model_names()),
        "config": text,
        "gpu": gpu,
        "gpus_per_node": random.choice(("1", "2", "4", "8", "8", "3")),
        "nodes": random.choice(("1", "1", "1", "2")),
        "max_model_len": random.choice(("8192", "8192", "2k", "", "-1")),
        "gpu_memory_utilization": random.choice(("0.92", "0.8", "")),
        "concurrency": random.choice(("64", "1", "200")),
        "context": random.choice(("2048", "")),
        "goal": random.choice(goals),
    }
    if random.random() < 0.2:
        form[random.choice(FORM)] = random.choice(TYPED)
    return {name: value for name, value in form.items() if random.random() < 0.97}
