"""Keys with the defaults of a family's config class filled in."""

from __future__ import annotations

from collections.abc import Mapping

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.errors import CatalogError, shortened

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
    return Keys(keys.name, {**defaults, **keys.values})


def per_layer(keys: Keys, key: str, allowed: tuple[str, ...]) -> list[str]:
    """What each layer is, by a list of words.

    Raises:
        CatalogError: a word that is none of those allowed, or not one for each layer.
    """
    words = keys.items(key) or []
    layers = keys.size("num_hidden_layers")
    if len(words) != layers:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {len(words)} {key} for {layers} layers",
            fix="give one for each layer",
        )
    for word in words:
        if word not in allowed:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {shortened(word)} among its {key}",
                fix=f"modelled are {', '.join(allowed)}",
            )
    return [str(word) for word in words]
