"""Typed access to the keys of a `config.json`, old and new spellings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import dataclass

MAX_SIZE: Final = 2**48  # beyond any tensor's dimension; keeps absurd input out of the sums
JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keys:
    """The keys of a config, read with their types. `name` says whose they are in errors."""

    name: str
    values: JsonObject

    def has(self, key: str) -> bool:
        """Whether a key is there and not null."""
        return self.values.get(key) is not None

    def size(self, *spellings: str, default: int | None = None) -> int:
        """A whole number of at least 1, under the first spelling that is there.

        Raises:
            CatalogError: missing without a default, no whole number, or out of range.

        >>> Keys("m", {"hidden_size": 4096}).size("hidden_size")
        4096
        """
        value, key = self._first(spellings)
        if value is None and default is not None:
            return default
        return self._whole(value, key, least=1)

    def count(self, *spellings: str, default: int = 0) -> int:
        """A whole number of at least 0; missing is the default, null an error.

        >>> Keys("m", {}).count("n_shared_experts", default=1)
        1
        """
        for key in spellings:
            if key in self.values:
                return self._whole(self.values[key], key, least=0)
        return default

    def optional(self, key: str, *, missing: int | None = None) -> int | None:
        """A whole number, None where the config says null or 0.

        >>> Keys("m", {"q_lora_rank": None}).optional("q_lora_rank", missing=1536) is None
        True
        """
        if key not in self.values:
            return missing
        return self._whole(self.values[key], key, least=0) or None if self.has(key) else None

    def number(self, key: str, *, default: float | None = None) -> float:
        """A finite positive number."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value < MAX_SIZE
        ):
            raise self._bad(key, value, "a positive number")
        return float(value)

    def real(self, key: str) -> None:
        """Refuse what is no number; any number will do."""
        value = self.values.get(key)
        if not isinstance(value, int | float):
            raise self._bad(key, value, "a number")

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false; missing is the default."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._bad(key, value, "true or false")
        return value

    def text(self, *spellings: str, default: str | None = None) -> str:
        """A string, under the first spelling that is there."""
        value, key = self._first(spellings)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._bad(key, value, "a string")
        return value

    def items(self, key: str) -> list[object] | None:
        """A list, None if missing."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise self._bad(key, value, "a list")
        return value

    def refuse_null(self, key: str) -> None:
        """Refuse a key that is there and null, where the family's class wants a value."""
        if key in self.values and self.values[key] is None:
            raise CatalogError(subject=self.name, problem=f"has {key!r}: null", fix="leave it out")

    def refuse_missing(self, key: str) -> None:
        """Refuse a config that does not have a key, even if null would do."""
        if key not in self.values:
            raise self._bad(key, None, "given")

    def refuse_set(self, key: str) -> None:
        """Refuse a flag that is on, where what it turns on is not modelled."""
        if self.flag(key):
            raise CatalogError(
                subject=self.name,
                problem=f"sets {key!r}, which is not modelled here",
                fix="leave it out",
            )

    def filled(self, defaults: JsonObject) -> Keys:
        """The same with what a config class fills in for keys that are missing; null stays.

        >>> Keys("m", {"head_dim": None}).filled({"head_dim": 128, "vocab_size": 9}).values
        {'head_dim': None, 'vocab_size': 9}
        """
        return Keys(self.name, {**defaults, **self.values})

    def with_(self, **values: object) -> Keys:
        """The same with these values in place of its own."""
        return Keys(self.name, {**self.values, **values})

    def without(self, key: str) -> Keys:
        """The same without a key that a family does not look at, here and in the rope keys."""
        nested = ("rope_parameters", "rope_scaling")
        values = {
            name: {inner: v for inner, v in value.items() if inner != key}
            if name in nested and isinstance(value, Mapping)
            else value
            for name, value in self.values.items()
            if name != key
        }
        return Keys(self.name, values)

    def nested(self, *spellings: str) -> Keys | None:
        """An object inside the config, None if missing or null."""
        value, key = self._first(spellings)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._bad(key, value, "an object")
        return Keys(f"{self.name}: {key}", value)

    def _first(self, spellings: tuple[str, ...]) -> tuple[object, str]:
        for key in spellings:
            if self.has(key):
                return self.values[key], key
        return None, spellings[0]

    def _whole(self, value: object, key: str, *, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._bad(key, value, "a whole number")
        if not least <= value < MAX_SIZE:
            raise self._bad(key, value, f"a whole number from {least} to {MAX_SIZE - 1}")
        return value

    def _bad(self, key: str, value: object, wanted: str) -> CatalogError:
        given = value is not None or key in self.values
        problem = f"has {key!r}: {shortened(value)}" if given else f"lacks {key!r}"
        return CatalogError(subject=self.name, problem=problem, fix=f"it should be {wanted}")
