"""What the guide writes down of each layout: weights, pool, latencies, throughput, preemptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

from vllm_parallel.compare.cell import Cell
from vllm_parallel.compare.measured import Measured
from vllm_parallel.compare.pressure import Pressure
from vllm_parallel.engine.log import ServeLog, read_file
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.runs import RunLayout, Start, is_file_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One layout of a run. Weights and tokens are of all its starts, each figure once.

    `weight_gib` is what ranks print, `kv_tokens` the sum over the engines of a start.
    """

    layout: RunLayout
    weight_gib: tuple[float, ...]
    kv_tokens: tuple[int, ...]
    cells: Mapping[int, Cell]
    preemptions: int | None

    def cell(self, concurrency: int) -> Cell | None:
        """Its trials at a concurrency."""
        return self.cells.get(concurrency)


def records(measured: Measured) -> tuple[Record, ...]:
    """A record of every layout of a folder, in the order of its `run.toml` or of the labels."""
    cells: dict[str, dict[int, Cell]] = {}
    for (label, concurrency), rows in measured.sweep.cells.items():
        if label is not None and concurrency is not None:
            found = Cell.of(label, rows, measured.start_of)
            cells.setdefault(label, {})[concurrency] = found
    run = measured.run
    layouts = tuple(_layouts(measured.folder, cells)) if run is None else run.layouts
    pressure = Pressure.of(measured.folder, [layout.name for layout in layouts], {})
    return tuple(
        _record(measured.folder, layout, cells.get(layout.name, {}), pressure) for layout in layouts
    )


def _layouts(folder: Path, cells: Mapping[str, Mapping[int, Cell]]) -> Iterator[RunLayout]:
    """The layouts of results that no `run.toml` describes; each log that is there is a start."""
    for label, row in cells.items():
        gpus = next((cell.gpus for cell in row.values() if cell.gpus is not None), 1)
        bare = RunLayout(name=label, gpus=gpus, serve="", starts=())
        starts = []
        for number in count(1) if is_file_name(label) else ():
            start = Start(number=number, trials=())
            if not (folder / bare.log(start)).is_file():
                break
            starts.append(start)
        yield replace(bare, starts=tuple(starts))


def _record(
    folder: Path, layout: RunLayout, cells: Mapping[int, Cell], pressure: Pressure
) -> Record:
    logs = list(_logs(folder / layout.log(start) for start in layout.starts))
    weights = {one.weight_gib for log in logs for one in log.workers if one.weight_gib is not None}
    tokens = {log.kv_tokens_total for log in logs if log.kv_tokens_total is not None}
    return Record(
        layout=layout,
        weight_gib=tuple(sorted(weights)),
        kv_tokens=tuple(sorted(tokens)),
        cells=cells,
        preemptions=pressure.layouts.get(layout.name),
    )


def _logs(paths: Iterable[Path]) -> Iterable[ServeLog]:
    """The logs that can be read; `run check` names the others."""
    for path in paths:
        try:
            yield read_file(path)
        except ParseError:
            continue
