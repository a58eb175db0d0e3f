"""Typed access to what only a `quantization_config` has."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation.method import Refused
from vllm_parallel.errors import CatalogError, shortened

ASK_FOR_TWIN: Final = "ask for its unquantised twin with --as-bf16"


def required(keys: Keys, *spellings: str) -> object:
    """The value of a key without which vLLM refuses the config; it may be null.

    Raises:
        Refused: none of the spellings is there.
    """
    for key in spellings:
        if key in keys.values:
            return keys.values[key]
    raise Refused(f"Cannot find any of {list(spellings)} in the model's quantization config.")


def whole_number(keys: Keys, *spellings: str) -> int:
    """A required whole number, which may be negative."""
    value = required(keys, *spellings)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CatalogError(
            subject=keys.name,
            problem=f"has {spellings[-1]!r}: {shortened(value)}",
            fix="it should be a whole number",
        )
    return value


def truth(keys: Keys, key: str) -> bool:
    """A required truth value."""
    required(keys, key)
    return keys.flag(key)


def words(keys: Keys, key: str) -> tuple[str, ...]:
    """A list of strings, empty if missing or null."""
    found = keys.items(key) or []
    strings = tuple(word for word in found if isinstance(word, str))
    if len(strings) != len(found):
        raise CatalogError(
            subject=keys.name,
            problem=f"has {key!r}: {shortened(found)}",
            fix="it should be a list of names",
        )
    return strings


def pair(keys: Keys, key: str) -> tuple[int, int]:
    """A list of two positive whole numbers."""
    sizes = [size for size in keys.items(key) or [] if type(size) is int and size > 0]
    if len(sizes) != 2:
        raise CatalogError(
            subject=keys.name,
            problem=f"has {key!r}: {shortened(keys.values.get(key))}",
            fix="it should be two sizes",
        )
    return sizes[0], sizes[1]
