"""The guide's record table: a row a figure, a column a layout, "not measured" without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vllm_parallel.compare import Metric, Record, Spread
from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, table
from vllm_parallel.render.numbers import whole

NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRow:
    """One figure of every layout; None is not measured."""

    name: str
    values: tuple[str | None, ...]


def record_rows(found: Sequence[Record | None], widths: Sequence[int]) -> list[RecordRow]:
    """The rows for some layouts; `widths` are the concurrencies of their load.

    Latencies and throughputs are medians over trials, with the least and the most in brackets.
    """
    low, high = min(widths), max(widths)
    looks: list[tuple[str, Callable[[Record], str | None]]] = [
        ("weights of a rank, GiB", lambda one: _range(one.weight_gib, "g")),
        ("KV tokens of the service", lambda one: _range(one.kv_tokens, ",d")),
        (f"TPOT p50 at concurrency {low}, ms", lambda one: _latency(one, low, "tpot p50")),
        (f"TPOT p99 at concurrency {low}, ms", lambda one: _latency(one, low, "tpot p99")),
        (f"TTFT p99 at concurrency {high}, ms", lambda one: _latency(one, high, "ttft p99")),
        (f"TPOT p99 at concurrency {high}, ms", lambda one: _latency(one, high, "tpot p99")),
    ]
    looks += [
        (
            f"output tokens a second at concurrency {width}",
            lambda one, width=width: _throughput(one, width),  # type: ignore[misc]
        )
        for width in widths
    ]
    looks.append(("preemptions over all trials", lambda one: _count(one.preemptions)))
    return [
        RecordRow(name=name, values=tuple(None if one is None else look(one) for one in found))
        for name, look in looks
    ]


def record_table(names: Sequence[str], rows: Sequence[RecordRow], *, caption: str) -> str:
    """The rows as a table for pages; what was measured looks it."""
    body = [
        [
            Cell(row.name),
            *(
                Cell(NOT_MEASURED) if value is None else Cell(value, Provenance.MEASURED)
                for value in row.values
            ),
        ]
        for row in rows
    ]
    return table(("", *names), body, caption=caption)


def spread(found: Spread | None) -> str | None:
    """A median with its least and most.

    >>> spread(Spread.of([20.0, 21.0, 20.5])), spread(Spread.of([1234.0]))
    ('20.5 (20.0–21.0)', '1,234')
    """
    if found is None:
        return None
    if found.count == 1:
        return figure(found.median)
    return f"{figure(found.median)} ({figure(found.least)}–{figure(found.most)})"


def figure(value: float) -> str:
    """A figure with three digits that count, or all before the point.

    >>> [figure(value) for value in (1234.5, 20.04, 0.01234)]
    ['1,234', '20.0', '0.0123']
    """
    if value >= 10:
        return f"{value:,.{int(value < 100)}f}"
    return f"{value:.3g}"


def _latency(one: Record, width: int, name: str) -> str | None:
    cell = one.cell(width)
    metric, statistic = name.split()
    return None if cell is None else spread(cell.latency(metric, statistic))


def _throughput(one: Record, width: int) -> str | None:
    cell = one.cell(width)
    return None if cell is None else spread(cell.spread(Metric.OUTPUT_THROUGHPUT))


def _count(number: int | None) -> str | None:
    return None if number is None else whole(number)


def _range(values: Sequence[float], spec: str) -> str | None:
    if not values:
        return None
    ends = [format(value, spec) for value in (values[0], values[-1])]
    return ends[0] if len(values) == 1 else "–".join(ends)
