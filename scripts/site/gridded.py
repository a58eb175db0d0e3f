"""The grid of a model, as `grid.py` describes it, computed by the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from alike import Alike
from grid import COUNTS, LENGTH, PER_NODE, Asked, GpuEntry, Grid
from vllm_parallel import catalog
from vllm_parallel.catalog import gpu_names, hub_names, load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates, rated_gpus
from vllm_parallel.cluster import Cluster
from vllm_parallel.errors import CatalogError
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.model import ModelConfig
from vllm_parallel.outcome import Found, Goal, Outcome, Refused, ranked
from vllm_parallel.planned.notes import notes
from vllm_parallel.planned.rows import OWN_WORD, STEP_PARTS, TOP, RefusedRow, Row, Shelf, cell
from vllm_parallel.search import Search, SteadyDecode, appraised
from vllm_parallel.settings import Settings
from vllm_parallel.units import ceil_div

PICTURES: Final = "placements"
Outcomes = dict[Goal, Outcome]


@dataclass(kw_only=True)  # its derivations are remembered
class Subject:
    """A model of the catalog, as every cell asks about it."""

    name: str
    judge: Alike = field(default_factory=Alike)

    @cached_property
    def model(self) -> ModelConfig:
        """The model as published."""
        return load_model(self.name)

    @property
    def hub(self) -> str | None:
        """The name by which vLLM downloads it, None if none is known."""
        return next(iter(hub_names().get(self.name, ())), None)

    @cached_property
    def settings(self) -> Settings:
        """What every layout is launched with."""
        return Settings(max_model_len=self.length)

    @property
    def length(self) -> int:
        """`--max-model-len`."""
        return min(LENGTH, self.model.context.max_model_len)

    @property
    def context(self) -> int:
        """Tokens of each request of the load."""
        return min(CONTEXT, self.length)

    @property
    def notes(self) -> list[str]:
        """What a reader has to know first."""
        return notes(self.model, published(self.name))

    def load_on(self, gpu: str) -> SteadyDecode | None:
        """The load that times are of, None where the catalog has no rates."""
        if gpu not in rated_gpus():
            return None
        rates = load_rates(gpu)
        return SteadyDecode(concurrency=CONCURRENCY, context=self.context, rates=rates)

    def outcomes(self, gpu: str, gpus: int) -> Outcomes:
        """The layouts of so many GPUs by each goal that can be asked.

        Raises:
            CatalogError: none can be sized.
        """
        search = Search(
            model=self.model,
            gpus=gpus,
            cluster=cluster_of(gpu, gpus),
            settings=self.settings,
        )
        tried = search.tried(self.judge)
        load = self.load_on(gpu)
        if load is None:
            return {g: ranked(tried, g, self.judge.calls) for g in Goal if not g.needs_rates}
        timed = [_priced(one, load) for one in tried]
        # A layout that cannot be priced holds as much as before.
        held = [
            old if isinstance(new, Refused) else new for old, new in zip(tried, timed, strict=True)
        ]
        return {
            goal: ranked(timed if goal.needs_rates else held, goal, self.judge.calls)
            for goal in Goal
        }


def _priced(one: Found | Refused, load: SteadyDecode) -> Found | Refused:
    return appraised(one, load.figures) if isinstance(one, Found) else one


def published(name: str) -> Mapping[str, object]:
    """The config of a model of the catalog, as it was published."""
    folder = Path(catalog.__file__).with_name("models")
    config: Mapping[str, object] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return config


def cluster_of(gpu: str, gpus: int) -> Cluster:
    """So many GPUs, on as few nodes as hold them."""
    nodes = ceil_div(gpus, PER_NODE)
    return Cluster(gpu=load_gpu(gpu), gpus_per_node=PER_NODE, nodes=nodes)


def picture_of(name: str, *, moe: bool) -> str:
    """The file that draws a layout; with experts, engines and experts form groups too."""
    words = name.split() + (["moe"] if moe else [])
    return f"{PICTURES}/{'-'.join(words)}.svg"


Answers = dict[str, dict[int, Outcomes | CatalogError]]


def answers_of(subject: Subject) -> Answers:
    """Every cell by GPU and count; an error where nobody can size it."""
    found: Answers = {}
    for gpu in gpu_names():
        found[gpu] = {}
        for gpus in COUNTS:
            try:
                found[gpu][gpus] = subject.outcomes(gpu, gpus)
            except CatalogError as error:
                found[gpu][gpus] = error
    return found


def grid_of(subject: Subject, answers: Answers) -> Grid:
    """The grid of these answers."""
    shelf = Shelf(subject.hub or OWN_WORD)
    cells = {
        gpu: {str(gpus): _entry(one, shelf, subject) for gpus, one in row.items()}
        for gpu, row in answers.items()
    }
    for entry in shelf.layouts:
        entry["picture"] = picture_of(str(entry["name"]), moe=subject.model.is_moe)
    return Grid(
        model=subject.name,
        hub=subject.hub,
        notes=subject.notes,
        asked=Asked(
            max_model_len=subject.length,
            gpu_memory_utilization=subject.settings.gpu_memory_utilization,
            gpus_per_node=PER_NODE,
            concurrency=CONCURRENCY,
            context=subject.context,
        ),
        gpus={gpu: _gpu(gpu) for gpu in answers},
        columns=Row._fields,
        refusals=RefusedRow._fields,
        parts=STEP_PARTS,
        layouts=shelf.layouts,
        texts=shelf.texts,
        cells=cells,
    )


def _entry(answer: Outcomes | CatalogError, shelf: Shelf, subject: Subject) -> dict[str, object]:
    if isinstance(answer, CatalogError):
        return {"error": shelf.text(str(answer))}
    return cell(answer, shelf, TOP, subject.judge.budget)


def _gpu(name: str) -> GpuEntry:
    goals = [goal.value for goal in Goal if name in rated_gpus() or not goal.needs_rates]
    return GpuEntry(label=load_gpu(name).label, goals=goals)
