"""The rates that times are computed with, each with its provenance and source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vllm_parallel.catalog.rates import load_rates, rate_table, rated_gpus
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.markdown import table as markdown

BASE: Final = "h100-80gb"
UNITS: Final = {
    "peak_16_bit": (1e12, "TFLOP/s"),
    "peak_8_bit": (1e12, "TFLOP/s"),
    "memory": (1e12, "TB/s"),
    "network": (1e9, "GB/s"),
    "link": (1e9, "GB/s"),
    "kernel_seconds": (1e-6, "µs"),
    "attention_floor_seconds": (1e-6, "µs"),
    "network_floor_seconds": (1e-6, "µs"),
    "host_seconds": (1e-3, "ms"),
    "host_request_seconds": (1e-3, "ms"),
}


def rates() -> str:
    """Every rate of an H100 with its source, then what other GPUs have of their own."""
    base = rate_table(BASE)
    rows = [_rate_row(name, "all" if name in _shared() else BASE) for name in base]
    for gpu in rated_gpus():
        if gpu == BASE:
            continue
        own = rate_table(gpu)
        rows += [_rate_row(name, gpu) for name in own if own[name] != base[name]]
    return markdown(("rate", "GPU", "value", "provenance", "source"), rows, right=(2,))


def _shared() -> set[str]:
    tables = [rate_table(gpu) for gpu in rated_gpus()]
    return {name for name in tables[0] if len({one[name].value for one in tables}) == 1}


def _rate_row(name: str, gpu: str) -> tuple[str, ...]:
    rate = rate_table(BASE if gpu == "all" else gpu)[name]
    scale, unit = UNITS.get(name, (1.0, ""))
    value = f"{rate.value / scale:.4g} {unit}".strip()
    return name.replace("_", " "), gpu, value, rate.provenance.value, rate.source


def sweeps() -> str:
    """Where the curves of all-reduces come from."""
    rows: dict[str, list[str]] = {}
    for gpu in rated_gpus():
        for width, curve in load_rates(gpu).all_reduce:
            rows.setdefault(curve.source, []).append(f"{gpu} tp{width}")
    return markdown(
        ("curve", "source"), [(", ".join(names), source) for source, names in rows.items()]
    )


def provenance_counts() -> str:
    """How many of a H100's rates are measured, from a datasheet, assumed."""
    found = [rate.provenance for rate in rate_table(BASE).values()]
    kinds = (Provenance.MEASURED, Provenance.DATASHEET, Provenance.ASSUMED)
    return listed(f"{found.count(kind)} {_said(kind)}" for kind in kinds)


def _said(kind: Provenance) -> str:
    return "from datasheets" if kind is Provenance.DATASHEET else kind.value


def listed(things: Iterable[object]) -> str:
    """Words with commas and an and.

    >>> listed([1, 16, 64])
    '1, 16 and 64'
    """
    words = [str(thing) for thing in things]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def ridge_tokens(gpu: str) -> int:
    """Tokens of a step from which arithmetic takes longer than reading 16-bit weights."""
    rates = load_rates(gpu)
    reached = rates.memory.value * rates.weight_read_share.value
    return round(rates.arithmetic_16_bit / reached)  # two operations for two bytes
