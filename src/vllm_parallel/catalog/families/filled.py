"""Keys with the defaults of a family's config class filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.block import Block
from vllm_parallel.catalog.families.common import layer_count, one_each
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig

LAYER_TYPES: Final = {  # old words and new
    "attention": "full_attention",
    "full_attention": "full_attention",
    "mamba": "linear_attention",
    "linear_attention": "linear_attention",
}
Defaults = Mapping[str, object]  # None: null is allowed, and stands for what the reader says


def filled(keys: Keys, defaults: Defaults) -> Keys:
    """The keys, each default where a key is missing.

    Raises:
        CatalogError: null where the family's class wants a value.

    >>> filled(Keys("m", {"a": 1}), {"a": 2, "b": 3}).values
    {'a': 1, 'b': 3}
    """
    for key, default in defaults.items():
        if default is not None:
            keys.refuse_null(key)
    return keys.filled(defaults)


def per_layer(keys: Keys, key: str, *, missing: str = "linear_attention") -> list[str]:
    """What each layer is: attention over the whole context, or a mixer.

    Source: transformers, remap_legacy_layer_types

    Raises:
        CatalogError: another word, or not one for each layer.

    >>> per_layer(Keys("m", {"num_hidden_layers": 2, "l": ["mamba", "attention"]}), "l")
    ['linear_attention', 'full_attention']
    """
    words = keys.items(key)
    if words is None:
        return [missing] * layer_count(keys)
    for word in one_each(keys, key, words):
        if word not in LAYER_TYPES:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {shortened(word)} among its {key}",
                fix=f"modelled are {', '.join(LAYER_TYPES)}",
            )
    return [LAYER_TYPES[str(word)] for word in words]


def with_unread_heads(keys: Keys, model: ModelConfig) -> ModelConfig:
    """The model of a family whose layers go by hidden size over heads, whatever `head_dim` says.

    Source: vllm/platforms/interface.py, _align_hybrid_block_size (v0.32.0)
    """
    return replace(model, unread_head_dim=keys.optional("head_dim"))


def refuse_no_attention(keys: Keys, blocks: list[Block]) -> None:
    """Refuse a model of a family with attention that has none; vLLM plans no cache for it."""
    if all(block.attention is None for block in blocks):
        raise CatalogError(
            subject=keys.name,
            problem="has no layer with attention, which is not modelled in its family",
            fix="name one in its list of layers",
        )
