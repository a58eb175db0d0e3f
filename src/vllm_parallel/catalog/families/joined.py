"""What multimodal families share: a language model, read by its own family, and its towers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from vllm_parallel.catalog.families import reader_of
from vllm_parallel.catalog.families.model_types import architecture_of
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig
from vllm_parallel.tower import Tower

OWN: Final = ("text_config", "vision_config", "audio_config")
DTYPES: Final = ("torch_dtype", "dtype")
TIE: Final = "tie_word_embeddings"


class Ties(Enum):
    """When embedding and head are tied, where the config itself does not say so.

    Source: vllm/config/vllm.py, with_hf_config (v0.32.0), and each config's class
    """

    NEVER = "the text part is not asked"
    AS_TEXT = "where the text part ties them"
    ALWAYS = "unless the config says false"


def text_model(keys: Keys, architecture: str | None, ties: Ties, **defaults: object) -> ModelConfig:
    """The language model, by the text config or, in older configs, by what lies beside it.

    Without an architecture the text config names it.
    """
    missing = "mistral" if ties is Ties.ALWAYS else "llama"
    inner = keys.nested("text_config")
    outer = {name: value for name, value in keys.values.items() if name not in OWN}
    dtype = {name: outer[name] for name in DTYPES if outer.get(name) is not None}
    given = outer if inner is None else {**inner.values, **dtype}
    named = architecture or _named(inner or Keys(keys.name, {}), missing)
    reader = reader_of(named)
    if reader is None:
        raise CatalogError(
            subject=keys.name,
            problem=f"has a language model {shortened(named)}, which is not modelled",
            fix="its layers are needed as a family",
        )
    values = {**defaults, **given, "architecture": named}
    tied = keys.flag(TIE, default=ties is Ties.ALWAYS)
    if not tied and ties is Ties.AS_TEXT:
        tied = reader(Keys(keys.name, values)).tied
    model = reader(Keys(keys.name, {**values, TIE: tied}))
    return replace(model, architecture=keys.text("architecture"))


def _named(text: Keys, missing: str) -> str:
    """The architecture that a text config names, or that its type stands for.

    Source: vllm/config/vllm.py, with_hf_config (v0.32.0)
    """
    architectures = text.items("architectures")
    if architectures and isinstance(architectures[0], str):
        return architectures[0]
    known = architecture_of(text.text("model_type", default=missing))
    if known is None:
        raise CatalogError(
            subject=text.name,
            problem="names no architecture",
            fix="add its 'architectures' list",
        )
    return known


def refuse_missing(keys: Keys, key: str) -> None:
    """Refuse a config whose text part lacks a key that its class does not fill in."""
    (keys.nested("text_config") or keys).refuse_missing(key)


def vision_keys(keys: Keys, defaults: Mapping[str, object]) -> Keys | None:
    """The `vision_config`; a config without one is sized as its language model alone."""
    vision = keys.nested("vision_config")
    return None if vision is None else vision.filled(defaults)


def with_tower(model: ModelConfig, keys: Keys, read: Callable[[Keys], Tower]) -> ModelConfig:
    """The model with the tower of its `vision_config`; without one, the language model alone."""
    vision = vision_keys(keys, {})
    return model if vision is None else replace(model, towers=(read(vision),))
