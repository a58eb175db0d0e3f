"""How fast the catalog's GPUs are, each number with its source.

What is one GPU's own is under `rates` in its file in `gpus/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TypedDict

from vllm_parallel.catalog.gpus import gpu_entry, gpu_names
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.files import read_beside
from vllm_parallel.frozen import dataclass, fields
from vllm_parallel.price.rates import Curve, Engine, Rate, Rates
from vllm_parallel.provenance import Provenance
from vllm_parallel.units import KIB


def rated_gpus() -> list[str]:
    """The GPUs whose steps can be priced.

    >>> "h100-80gb" in rated_gpus(), "rtx-4090" in rated_gpus()
    (True, False)
    """
    return [name for name in gpu_names() if "rates" in gpu_entry(name)]


@lru_cache(maxsize=16)
def load_rates(gpu: str, engine: Engine = Engine.V1_ASYNC, *, pinned: bool = True) -> Rates:
    """What times on a GPU are computed with, without factors pinned on measurements if asked.

    Raises:
        CatalogError: no rates are known.

    >>> load_rates("h100-80gb").memory.value
    3350000000000.0
    """
    own = gpu_entry(gpu).get("rates") if gpu in gpu_names() else None
    if not isinstance(own, Mapping):
        raise CatalogError(
            subject=f"GPU {shortened(gpu)}",
            problem="has no rates in the catalog, so its steps cannot be priced",
            fix=f"take one of {', '.join(rated_gpus())}",
        )
    numbers = {**_entries()["shared"], **_entries()["hosts"][engine.value], **own}
    curves = _curves(str(numbers.pop("all_reduce")))
    rates = {name: _rate(value) for name, value in numbers.items()}
    if pinned:
        rates |= {one.rate: one.as_rate for one in pinned_factors() if one.gpu in (None, gpu)}
    return Rates(gpu=gpu, all_reduce=curves, **rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A rate that one measured point decides, which then judges nothing any more."""

    rate: str
    value: float
    point: str  # of results/public-speeds
    gpu: str | None
    why: str

    @property
    def as_rate(self) -> Rate:
        """The number with its source."""
        return Rate(self.value, Provenance.MEASURED, f"pinned on {self.point}: {self.why}")


@lru_cache(maxsize=1)
def pinned_factors() -> tuple[Pinned, ...]:
    """The rates that measured points decide, one each."""
    return tuple(Pinned(**row) for row in _entries()["pinned"])


def rate_table(gpu: str) -> dict[str, Rate]:
    """Every number of a GPU by its name, with its source."""
    rates = load_rates(gpu)
    found = {field.name: getattr(rates, field.name) for field in fields(rates)}
    return {name: value for name, value in found.items() if isinstance(value, Rate)}


class _Entries(TypedDict):
    """The tables of `rates.json`: what is not one GPU's own."""

    shared: dict[str, object]
    hosts: dict[str, dict[str, object]]
    pinned: list[_Row]
    sweeps: dict[str, dict[str, object]]


class _Row(TypedDict):
    rate: str
    value: float
    point: str
    gpu: str | None
    why: str


@lru_cache(maxsize=1)
def _entries() -> _Entries:
    entries: _Entries = json.loads(read_beside(__file__, "rates.json"))
    return entries


def _rate(value: object) -> Rate:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no number with its provenance and source")
    number, provenance, source = value
    return Rate(float(number), Provenance(provenance), str(source))


def _curves(name: str) -> tuple[tuple[int, Curve], ...]:
    """The curve of each width, without the sizes that nobody measured."""
    sweep = _entries()["sweeps"][name]
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
