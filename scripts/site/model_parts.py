"""What a model is made of: parameters and bytes by part, attention, experts, cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from catalog_tables import experts_of, shape_of
from gridded import Subject
from vllm_parallel.catalog import hub_names, load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import gib, size, whole
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard
from vllm_parallel.weight import Cut, Weight

REQUEST: Final = 32_768  # tokens, or the longest request that a model allows
TOWER: Final = "towers and projectors"
ENDS: Final = {
    "embedding": "embedding",
    "head": "output head",
    "final norm": "norms and the rest",
    "every stage": "norms and the rest",
}
# The first that occurs in a weight's name says what it belongs to.
PARTS: Final = (
    (".experts.", "routed experts"),
    (".shared_expert", "shared experts"),
    ("mlp.gate.", "routers"),
    ("mlp.", "dense MLPs"),
    ("self_attn.", "attention"),
    ("mixer.", "mixers"),
    ("mamba.", "mixers"),
    ("linear_attn.", "mixers"),
    ("norm", "norms and the rest"),
)
REST: Final = "norms and the rest"
BLOCK: Final = "block"


def part_of(layer: str, weight: Weight) -> str:
    """What a weight belongs to.

    >>> from vllm_parallel.dtype import Dtype
    >>> part_of("block 0", Weight("mlp.experts.w2_weight", (), Dtype.BFLOAT16))
    'routed experts'
    """
    if layer in ENDS:
        return ENDS[layer]
    if not layer.startswith(BLOCK):
        return TOWER
    return next((part for sign, part in PARTS if sign in f".{weight.name}"), REST)


def elements(model: ModelConfig) -> Iterator[tuple[str, int, int]]:
    """Part, elements and bytes of every weight of a whole model."""
    shard = Shard.of(Deployment(model=model, layout=Layout()), 0)
    for layer, count in shard.layers.items():
        for weight in layer.weights:
            taken = count * weight.bytes(Cut())
            yield part_of(layer.name, weight), taken // weight.dtype.bytes, taken


def by_part(model: ModelConfig) -> tuple[Counter[str], Counter[str]]:
    """Elements and bytes of each part."""
    numbers: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for part, count, size_ in elements(model):
        numbers[part] += count
        taken[part] += size_
    return numbers, taken


def parameters(subject: Subject) -> Counter[str]:
    """Parameters of each part, of the unquantised twin where the model is quantised."""
    return by_part(load_model(subject.name, as_bf16=True))[0]


def parts(subject: Subject) -> str:
    """Parameters by part, and what one rank without splitting would hold of each."""
    numbers, taken = parameters(subject), by_part(subject.model)[1]
    total = sum(taken.values())
    order = sorted(taken, key=lambda part: -taken[part])
    rows = [
        [
            Cell(part),
            computed(millions(numbers[part])),
            computed(gib(taken[part])),
            computed(f"{taken[part] / total:.1%}"),
        ]
        for part in order
    ]
    rows.append(
        [
            Cell("all"),
            computed(millions(sum(numbers.values()))),
            computed(gib(total)),
            computed("100%"),
        ]
    )
    caption = (
        "Parameters as vLLM builds them, the vocabulary padded; bytes as they are stored, with the "
        "scales of quantised ones. Computed."
    )
    head = ("part", "parameters", "bytes", "of all")
    return table(head, rows, caption=caption, totals=(len(rows) - 1,))


def millions(count: int) -> str:
    """A count of parameters.

    >>> millions(70_553_706_496), millions(8_192)
    ('70,553.7 M', '0.008 M')
    """
    return f"{count / 1e6:,.1f} M" if count >= 10**6 else f"{count / 1e6:.3f} M"


def glance(subject: Subject) -> str:
    """The model in a few lines."""
    model = subject.model
    length = request_length(model)
    names = ", ".join(hub_names().get(subject.name, ())) or "none known"
    rows = (
        ("in the catalog", subject.name),
        ("on the hub", names),
        ("architecture", model.architecture),
        ("layers", str(model.layers)),
        ("attention", shape_of(model)),
        ("experts", experts_of(model)),
        (f"KV of {whole(length)} tokens", size(request_bytes(model, length))),
        ("longest request", f"{whole(model.context.max_model_len)} tokens"),
    )
    caption = (
        "Attention is query heads / KV heads × head size, or the elements of a latent vector; "
        "experts are those that a token visits, of all. KV at tp 1. Computed."
    )
    return table(("", ""), [[Cell(name), Cell(text)] for name, text in rows], caption=caption)


def weight_bytes(subject: Subject) -> int:
    """Bytes of all weights."""
    return sum(by_part(subject.model)[1].values())


def request_length(model: ModelConfig) -> int:
    """Tokens of the request whose KV is shown, on a model's page and in the table of all."""
    return min(REQUEST, model.context.max_model_len)


def request_bytes(model: ModelConfig, length: int) -> int:
    """KV bytes of one request of so many tokens, at tp 1."""
    settings = Settings(max_model_len=length)
    deployment = Deployment(model=model, layout=Layout(), settings=settings)
    return KvCache.of(deployment).request_bytes(length)
