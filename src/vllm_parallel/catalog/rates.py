"""How fast the catalog's GPUs are, each number with its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.files import read_beside
from vllm_parallel.frozen import fields
from vllm_parallel.price.rates import Curve, Rate, Rates
from vllm_parallel.provenance import Provenance
from vllm_parallel.units import KIB

NumberWithSource = tuple[float, str, str]


def rated_gpus() -> list[str]:
    """The GPUs whose steps can be priced.

    >>> rated_gpus()
    ['h100-80gb', 'h200', 'mi300x']
    """
    return list(_gpus())


@lru_cache(maxsize=8)
def load_rates(gpu: str) -> Rates:
    """What times on a GPU are computed with.

    Raises:
        CatalogError: no rates are known.

    >>> load_rates("h100-80gb").memory.value
    3350000000000.0
    """
    own = _gpus().get(gpu)
    if own is None:
        raise CatalogError(
            subject=f"GPU {shortened(gpu)}",
            problem="has no rates in the catalog, so its steps cannot be priced",
            fix=f"take one of {', '.join(rated_gpus())}",
        )
    numbers = {**_shared(), **own}
    curves = _curves(str(numbers.pop("all_reduce")))
    rates = {name: _rate(value) for name, value in numbers.items()}
    return Rates(gpu=gpu, all_reduce=curves, **rates)


def rate_table(gpu: str) -> dict[str, Rate]:
    """Every number of a GPU by its name, with its source."""
    rates = load_rates(gpu)
    found = {field.name: getattr(rates, field.name) for field in fields(rates)}
    return {name: value for name, value in found.items() if isinstance(value, Rate)}


@lru_cache(maxsize=1)
def _entries() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    entries: Mapping[str, Mapping[str, Mapping[str, object]]]
    entries = json.loads(read_beside(__file__, "rates.json"))
    return entries


def _gpus() -> Mapping[str, Mapping[str, object]]:
    return _entries()["gpus"]


def _shared() -> Mapping[str, object]:
    return _entries()["shared"]


def _rate(value: object) -> Rate:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no number with its provenance and source")
    number, provenance, source = value
    return Rate(float(number), Provenance(provenance), str(source))


def _curves(name: str) -> tuple[tuple[int, Curve], ...]:
    """The curve of each width, without the sizes that nobody measured."""
    sweep: Mapping[str, object] = _entries()["sweeps"][name]
    sizes, widths = sweep["kib"], sweep["microseconds"]
    if not isinstance(sizes, list) or not isinstance(widths, Mapping):
        raise TypeError(f"{name} is no sweep")
    return tuple(
        (
            int(width),
            Curve(
                points=tuple(
                    (size * KIB, time / 1e6)
                    for size, time in zip(sizes, times, strict=True)
                    if time is not None
                ),
                source=str(sweep["source"]),
            ),
        )
        for width, times in widths.items()
    )
