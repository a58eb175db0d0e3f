"""A search as the planner shows it: strings to show, and what many rows share kept once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from vllm_parallel.constraints import Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.ledger import Budget, tightest
from vllm_parallel.outcome import Found, Goal, Outcome, Refused
from vllm_parallel.price.step import PARTS, StepPrice
from vllm_parallel.render.memory import MemoryBar
from vllm_parallel.render.numbers import bare_gib, milliseconds, times, to, whole
from vllm_parallel.render.shell import node_commands
from vllm_parallel.starting import node_settings, nodes_needed

STEP_PARTS: Final = (*PARTS, "total")
OWN_WORD: Final = '"$MODEL"'
OWN_LINE: Final = "MODEL=/models/mine  # its folder, or its name on the hub"
TOP: Final = 5  # layouts that are shown by a goal; more make the files of models too long
THOUSAND: Final = 1000  # parts of a bar's length


class Row(NamedTuple):
    """A layout that starts, as it is shown; `layout` is its number on the shelf.

    `tokens`, `longest` and `concurrency` are of one pool, `service` the tokens of all. `memory` is
    GiB of the fullest rank's GPU and `bar` the same in thousandths of the picture: what is loaded,
    the overhead, the KV cache, what lies beyond the budget; `overhead` is the range of the second,
    `ends` where it may end in the picture. Of the load `running` requests decode at once; `step`
    is a decode step of the slowest stage, part by part and in all. These last four are None
    without rates.
    """

    layout: int
    tokens: str
    service: str
    longest: str
    concurrency: str
    memory: tuple[str, ...]
    bar: tuple[int, ...]
    overhead: str
    ends: tuple[int, ...]
    running: str | None
    tpot: str | None
    throughput: str | None
    step: tuple[str, ...] | None


class RefusedRow(NamedTuple):
    """The layouts that one rule refuses: how many, an example, and the numbers of two texts.

    `stage` is vLLM's, None where it is this package that cannot size or price them.
    """

    rule: str
    stage: str | None
    layouts: int
    example: str
    message: int
    fix: int


class Shelf:
    """What many rows share: layouts with their commands, and texts. Each is kept once.

    >>> shelf = Shelf('"$MODEL"')
    >>> shelf.text("a"), shelf.text("b"), shelf.text("a"), shelf.texts
    (0, 1, 0, ['a', 'b'])
    """

    def __init__(self, model_word: str) -> None:
        self.model_word = model_word
        self.layouts: list[dict[str, object]] = []
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def text(self, text: str) -> int:
        """The number of a text."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]

    def layout(self, deployment: Deployment) -> int:
        """The number of a layout; the settings of a shelf are the same for all."""
        key = f"{deployment.layout} on {deployment.cluster.gpus_per_node}"
        if key not in self._numbers:
            self._numbers[key] = len(self.layouts)
            self.layouts.append(layout_entry(deployment, self.model_word))
        return self._numbers[key]


def layout_entry(deployment: Deployment, model_word: str) -> dict[str, object]:
    """A layout by name, its GPUs, nodes and engines, and a command for each node.

    Where vLLM starts it over no nodes, `refused` is what it says, and there is no command.
    """
    layout = deployment.layout
    nodes = node_settings(deployment)
    refusal = nodes if isinstance(nodes, Violation) else None
    return {
        "name": str(layout),
        "gpus": layout.ranks,
        "nodes": nodes_needed(deployment),
        "engines": layout.dp,
        "commands": [] if refusal else _commands(deployment, model_word),
        "refused": refusal and f"{refusal.message} Way out: {refusal.fix}.",
    }


def _commands(deployment: Deployment, model_word: str) -> list[str]:
    """A command for each node, behind a line that sets the model where it has no name."""
    above = f"{OWN_LINE}\n" if model_word == OWN_WORD else ""
    return [f"{above}{text}" for text in node_commands(deployment, model_word)]


def cell(
    outcomes: Mapping[Goal, Outcome],
    shelf: Shelf,
    top: int,
    budget_of: Callable[[Deployment], Budget] = tightest,
) -> dict[str, object]:
    """One question: how many layouts were searched, the best by each goal, and what is refused.

    `ranked` holds numbers of `rows` by goal. Refusals are those of the first goal; a goal that has
    others has them in `otherwise`. `budget_of` is `tightest`, or remembers what that says.

    >>> from vllm_parallel.catalog import load_gpu, load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> from vllm_parallel.search import Search
    >>> cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
    >>> search = Search(model=load_model("llama-3.1-70b"), gpus=8, cluster=cluster)
    >>> shelf = Shelf('"$MODEL"')
    >>> shown = cell({Goal.CAPACITY: search.run(Goal.CAPACITY)}, shelf, 2)
    >>> [shelf.layouts[row.layout]["name"] for row in shown["rows"]], shown["ranked"]
    (['tp4 pp2', 'tp8'], {'capacity': [0, 1]})
    """
    rows: dict[str, Row] = {}
    ranked = {}
    for goal, outcome in outcomes.items():
        for found in outcome.found[:top]:
            name = str(found.layout)
            if name not in rows:
                rows[name] = row_of(found, shelf, budget_of(found.deployment))
        numbers = {name: number for number, name in enumerate(rows)}
        ranked[goal.value] = [numbers[str(found.layout)] for found in outcome.found[:top]]
    first = next(iter(outcomes.values()))
    shown = {
        "searched": first.searched,
        **_fell_out(first, shelf),
        "rows": list(rows.values()),
        "ranked": ranked,
    }
    others = {goal: one for goal, one in outcomes.items() if one.refused != first.refused}
    if others:
        shown["otherwise"] = {goal.value: _fell_out(one, shelf) for goal, one in others.items()}
    return shown


def _fell_out(outcome: Outcome, shelf: Shelf) -> dict[str, object]:
    return {"found": len(outcome.found), "refused": refused_rows(outcome.refused, shelf)}


def refused_rows(refused: Sequence[Refused], shelf: Shelf) -> list[RefusedRow]:
    """What fell out, its sentences on the shelf."""
    return [
        RefusedRow(
            rule=row.rule,
            stage=row.stage,
            layouts=row.count,
            example=str(row.example),
            message=shelf.text(row.message),
            fix=shelf.text(row.fix),
        )
        for row in refused
    ]


def row_of(found: Found, shelf: Shelf, budget: Budget | None = None) -> Row:
    """A layout as it is shown; the budget of its tightest rank may be known already."""
    deployment, pool, figures = found.deployment, found.capacity.pool, found.figures
    gpu = deployment.cluster.gpu
    if gpu is None:
        raise ValueError("without a GPU there is no memory to show")
    bar = MemoryBar.of(budget or tightest(deployment), gpu, str(found.layout))
    ends = (bar.overhead.least, bar.overhead.most)
    return Row(
        layout=shelf.layout(deployment),
        tokens=whole(pool.tokens),
        service=whole(found.capacity.tokens),
        longest=whole(found.longest_request),
        concurrency=times(pool.max_concurrency),
        memory=tuple(map(bare_gib, bar.parts)),
        bar=tuple(part * THOUSAND // bar.longest for part in bar.parts),
        overhead=f"{to(*map(bare_gib, ends))} GiB",
        ends=tuple((bar.weights + end) * THOUSAND // bar.longest for end in ends),
        running=None if figures is None else f"{figures.running} of {figures.asked}",
        tpot=None if figures is None else milliseconds(figures.tpot_seconds),
        throughput=None if figures is None else whole(round(found.tokens_per_second_per_gpu)),
        step=None if figures is None or figures.step is None else _step(figures.step),
    )


def _step(price: StepPrice) -> tuple[str, ...]:
    return tuple(milliseconds(getattr(price, part), 2) for part in STEP_PARTS)
