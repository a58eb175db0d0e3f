"""The grid of a model, as `grid.py` describes it, computed by the package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from math import ceil
from typing import Final

from alike import Alike
from grid import (
    COUNTS,
    LENGTH,
    PER_NODE,
    TOP,
    Asked,
    CellEntry,
    GpuEntry,
    Grid,
    LayoutEntry,
    RefusedRow,
    Row,
)
from vllm_parallel.catalog import gpu_names, hub_names, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates, rated_gpus
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments
from vllm_parallel.errors import CatalogError
from vllm_parallel.layout import Layout
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.ledger import Budget
from vllm_parallel.model import ModelConfig
from vllm_parallel.outcome import Found, Goal, Refused, best_first, counted
from vllm_parallel.price.step import PARTS
from vllm_parallel.render.memory import MemoryBar
from vllm_parallel.render.shell import node_commands
from vllm_parallel.search import Search, SteadyDecode, appraised
from vllm_parallel.settings import Settings
from vllm_parallel.units import ceil_div

DIGITS: Final = 6
PICTURES: Final = "placements"


def grid_of(name: str) -> Grid:
    """The grid of a model of the catalog."""
    return Gridder(model=load_model(name)).grid()


def hub_name(name: str) -> str | None:
    """The name by which vLLM downloads a model of the catalog, None if it is not known."""
    return next(iter(hub_names().get(name, ())), None)


def notes_of(model: ModelConfig) -> list[str]:
    """What a reader has to know first."""
    notes = []
    if model.quantisation is not None:
        notes.append(f"Quantised as published ({model.quantisation.checkpoint}).")
    return notes


@cache
def settings_of(model: ModelConfig) -> Settings:
    """What every layout of a model is launched with."""
    return Settings(max_model_len=min(LENGTH, model.context.max_model_len))


def load_on(gpu: str, model: ModelConfig) -> SteadyDecode | None:
    """The load that times are of, None where the catalog has no rates."""
    if gpu not in rated_gpus():
        return None
    context = min(CONTEXT, settings_of(model).max_model_len or CONTEXT)
    return SteadyDecode(concurrency=CONCURRENCY, context=context, rates=load_rates(gpu))


def cluster_of(gpu: str, gpus: int) -> Cluster:
    """So many GPUs, on as few nodes as hold them."""
    nodes = ceil_div(gpus, PER_NODE)
    return Cluster(gpu=load_gpu(gpu), gpus_per_node=PER_NODE, nodes=nodes)


def picture_of(layout: Layout, *, moe: bool) -> str:
    """The file that draws a layout; with experts, engines and experts form groups too."""
    words = str(layout).split() + (["moe"] if moe else [])
    return f"{PICTURES}/{'-'.join(words)}.svg"


@dataclass(slots=True, kw_only=True)
class Gridder:
    """Fills one grid; what cells share is numbered as it is met."""

    model: ModelConfig
    _judge: Alike = field(default_factory=Alike)
    _layouts: dict[Layout, LayoutEntry] = field(default_factory=dict)
    _texts: dict[str, int] = field(default_factory=dict)

    def grid(self) -> Grid:
        """The whole grid."""
        gpus = gpu_names()
        cells = {gpu: {str(n): self._cell(gpu, n) for n in COUNTS} for gpu in gpus}
        asked = settings_of(self.model)
        return Grid(
            model=self.model.name,
            hub=hub_name(self.model.name),
            notes=notes_of(self.model),
            asked=Asked(
                max_model_len=asked.max_model_len or LENGTH,
                gpu_memory_utilization=asked.gpu_memory_utilization,
                gpus_per_node=PER_NODE,
                concurrency=CONCURRENCY,
                context=min(CONTEXT, asked.max_model_len or CONTEXT),
            ),
            gpus={gpu: self._gpu(gpu) for gpu in gpus},
            layouts=list(self._layouts.values()),
            texts=list(self._texts),
            columns=list(Row._fields),
            parts=list(PARTS),
            refusals=list(RefusedRow._fields),
            cells=cells,
        )

    def _gpu(self, name: str) -> GpuEntry:
        gpu, rated = load_gpu(name), load_on(name, self.model) is not None
        utilization = settings_of(self.model).gpu_memory_utilization
        return GpuEntry(
            label=gpu.label,
            budget=ceil(gpu.runtime_memory_bytes * utilization),
            total=gpu.runtime_memory_bytes,
            goals=[goal.value for goal in Goal if rated or not goal.needs_rates],
        )

    def _cell(self, gpu: str, gpus: int) -> CellEntry:
        search = Search(
            model=self.model,
            gpus=gpus,
            cluster=cluster_of(gpu, gpus),
            settings=settings_of(self.model),
        )
        try:
            tried = search.tried(self._judge)
        except CatalogError as error:
            return CellEntry(error=self._text(str(error)))
        load = load_on(gpu, self.model)
        found = {one.layout: one for one in tried if isinstance(one, Found)}
        unpriced = []
        if load is not None:
            for layout, one in found.items():
                priced = appraised(one, load.figures)
                if isinstance(priced, Found):
                    found[layout] = priced
                else:
                    unpriced.append(priced)
        refused = [one for one in tried if isinstance(one, Refused)]
        best = self._best(list(found.values()), timed=load is not None)
        entry = self._entry(best, counted([*refused, *unpriced]))
        return CellEntry(searched=len(tried), found=len(found), **entry)

    def _best(self, found: Sequence[Found], *, timed: bool) -> dict[str, list[Found]]:
        """The first layouts by each goal."""
        return {
            goal.value: list(islice(best_first(_known(found, goal), goal, self._judge.calls), TOP))
            for goal in Goal
            if timed or not goal.needs_rates
        }

    def _entry(self, best: Mapping[str, Sequence[Found]], refused: Iterable[Refused]) -> CellEntry:
        numbers: dict[Layout, int] = {}
        rows: list[Row] = []
        for one in (one for first in best.values() for one in first):
            if one.layout not in numbers:
                numbers[one.layout] = len(rows)
                rows.append(self._row(one))
        ranked = {goal: [numbers[one.layout] for one in first] for goal, first in best.items()}
        return CellEntry(rows=rows, ranked=ranked, refused=list(self._refused(refused)))

    def _row(self, found: Found) -> Row:
        deployment, pool, figures = found.deployment, found.capacity.pool, found.figures
        bar = self._bar(deployment)
        step = figures.step if figures else None
        return Row(
            layout=self._layout(deployment),
            tokens=pool.tokens,
            longest=pool.longest_request,
            weights=bar.weights,
            least=bar.overhead.least,
            likely=bar.overhead.likely,
            most=bar.overhead.most,
            running=figures.running if figures else None,
            tpot=_short(figures.tpot_seconds) if figures else None,
            throughput=_short(found.tokens_per_second_per_gpu) if figures else None,
            step=[_short(getattr(step, part)) for part in PARTS] if step else None,
        )

    def _bar(self, deployment: Deployment) -> MemoryBar:
        """Memory of the fullest rank."""
        gpu = deployment.cluster.gpu
        if gpu is None:
            raise ValueError("a cell has a GPU")
        budgets = [Budget.of(one, gpu) for one in self._judge.held(deployment).ledgers]
        fullest = min(budgets, key=lambda budget: budget.available_kv_bytes)
        return MemoryBar.of(fullest, gpu, str(deployment.layout))

    def _layout(self, deployment: Deployment) -> int:
        layout, model = deployment.layout, self.model
        if layout not in self._layouts:
            self._layouts[layout] = LayoutEntry(
                name=str(layout),
                gpus=layout.ranks,
                engines=layout.dp,
                picture=picture_of(layout, moe=model.is_moe),
                args=Arguments(layout=layout, settings=deployment.settings).given(),
                commands=list(node_commands(deployment, hub_name(model.name) or '"$MODEL"')),
            )
        return list(self._layouts).index(layout)

    def _refused(self, refused: Iterable[Refused]) -> Iterator[RefusedRow]:
        for one in refused:
            yield RefusedRow(
                rule=one.rule,
                stage=one.stage,
                layouts=one.count,
                example=str(one.example),
                message=self._text(one.message),
                fix=self._text(one.fix),
            )

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def _known(found: Iterable[Found], goal: Goal) -> list[Found]:
    """Those that the goal can be asked of."""
    return [one for one in found if one.figures or not goal.needs_rates]


def _short(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")
