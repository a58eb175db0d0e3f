"""The command `layouts`: which layouts of so many GPUs vLLM starts, ranked by a goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.catalog.rates import load_rates, rated_gpus
from vllm_parallel.engine import Arguments
from vllm_parallel.engine.options import options
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass, fields
from vllm_parallel.outcome import Found, Goal, Outcome, Refused
from vllm_parallel.question import Json, Question
from vllm_parallel.search import Search, SteadyDecode
from vllm_parallel.units import ceil_div

WIDTHS: Final = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size",
    "prefill_context_parallel_size", "decode_context_parallel_size", "enable_expert_parallel",
)  # fmt: skip
MOST_GPUS: Final = 1024
PER_NODE: Final = 8
CONCURRENCY: Final = 64
CONTEXT: Final = 4096
TOP: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Terms:
    """What a call asks for beside the model, its settings and its GPU."""

    gpus: int
    gpus_per_node: int = PER_NODE
    goal: Goal = Goal.TPOT
    concurrency: int = CONCURRENCY
    context: int | None = None  # None: CONTEXT, or as many as a request may have
    fewer: bool = False
    top: int = TOP

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Terms:
        """The terms among these words; None means "not given".

        >>> Terms.of({"gpus": 8, "goal": "capacity", "top": None, "json": True}).goal
        <Goal.CAPACITY: 'capacity'>
        """
        names = [field.name for field in fields(cls)]
        values = {name: given[name] for name in names if given.get(name) is not None}
        if "goal" in values:
            values["goal"] = Goal(str(values["goal"]))
        return cls(**values)  # type: ignore[arg-type]  # the parser has typed them

    def __post_init__(self) -> None:
        """Refuse numbers that no search has.

        Raises:
            ParseError: a number below 1, or more GPUs than are searched.
        """
        for name in ("gpus", "gpus_per_node", "concurrency", "context", "top"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ParseError(
                    place=f"--{name.replace('_', '-')}",
                    problem=f"is {number}",
                    fix="give a whole number of at least 1",
                )
        if self.gpus > MOST_GPUS:
            raise ParseError(
                place="--gpus", problem=f"is {self.gpus}", fix=f"at most {MOST_GPUS} are searched"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LayoutsAnswer:
    """What was searched, under which load, and what came of it."""

    search: Search
    terms: Terms
    load: SteadyDecode | None  # None: ranked by memory alone
    outcome: Outcome

    @classmethod
    def of(cls, question: Json, terms: Terms) -> LayoutsAnswer:
        """The answer to a question of `batch` whose layout is left open.

        Raises:
            ParseError: a width is given, the goal needs rates that nobody knows, or no request
                may be as long as the context.
            CatalogError: the model or GPU cannot be read, or no layout can be sized.

        >>> asked = {"model": "llama-3.1-70b", "gpu": "h100-80gb"}
        >>> answer = LayoutsAnswer.of(asked, Terms(gpus=8))
        >>> str(answer.outcome.found[0].layout), len(answer.outcome.found)
        ('tp8', 7)
        """
        search = _search(question, terms)
        load = steady_load(search, terms) if terms.goal.needs_rates else None
        outcome = search.run(terms.goal, load.figures if load else None)
        return cls(search=search, terms=terms, load=load, outcome=outcome)

    @property
    def row(self) -> dict[str, object]:
        """The answer as JSON, with the best layouts."""
        search, terms, outcome = self.search, self.terms, self.outcome
        gpu, load = search.cluster.gpu, self.load
        return {
            "model": search.model.name,
            "gpus": terms.gpus,
            "gpu": None if gpu is None else gpu.name,
            "gpus_per_node": terms.gpus_per_node,
            "goal": terms.goal.value,
            "load": load and {"concurrency": load.concurrency, "context": load.context},
            "searched": outcome.searched,
            "found": len(outcome.found),
            "layouts": [_found_row(found) for found in outcome.found[: terms.top]],
            "refused": [_refused_row(refused) for refused in outcome.refused],
        }

    def report(self, model_word: str) -> str:
        """The answer for people; `model_word` stands in the launch command."""
        from vllm_parallel.render import ranking  # noqa: PLC0415  # only people pay for it

        outcome = self.outcome
        sections = [ranking.head(self.search, outcome, self.load)]
        if outcome.found:
            sections.append(ranking.best(outcome.found[: self.terms.top]))
            sections.append(ranking.launch(outcome.found[0].deployment, model_word))
        if outcome.refused:
            sections.append(ranking.fell_out(outcome.refused))
        return "\n\n".join(sections)


def _search(question: Json, terms: Terms) -> Search:
    given = question.get("args")
    args = given if isinstance(given, Mapping) else {}
    for name in WIDTHS:
        if args.get(name) is not None:
            raise ParseError(
                place=options()[name].name,
                problem="is what the search varies",
                fix="leave it out, or ask plan for one layout",
            )
    nodes = ceil_div(terms.gpus, terms.gpus_per_node)
    machines = {"gpus_per_node": terms.gpus_per_node, "nodes": nodes}
    deployment = Question.of({**question, **machines}).deployment
    if deployment.cluster.gpu is None:
        raise ParseError(place="--gpu", problem="is missing", fix="name a GPU of the catalog")
    return Search(
        model=deployment.model,
        gpus=terms.gpus,
        cluster=deployment.cluster,
        settings=deployment.settings,
        fewer=terms.fewer,
    )


def steady_load(search: Search, terms: Terms) -> SteadyDecode:
    """The load that times are of.

    Raises:
        ParseError: the GPU has no rates, or no request may be as long as the context.
    """
    gpu, asked = search.cluster.gpu, search.settings.max_model_len
    if gpu is None or gpu.name not in rated_gpus():
        raise ParseError(
            place=f"--goal {terms.goal}",
            problem=f"needs rates, and the catalog has none of {gpu and gpu.name}",
            fix=f"use --goal capacity or longest-request, or --gpu {' or '.join(rated_gpus())}",
        )
    limit = search.model.context.max_model_len if asked in (None, -1) else asked
    context = min(CONTEXT, limit) if terms.context is None else terms.context
    if context > limit:
        raise ParseError(
            place="--context",
            problem=f"is {context}, and a request may have {limit} tokens",
            fix=f"use a --context of at most {limit}, or raise --max-model-len",
        )
    return SteadyDecode(concurrency=terms.concurrency, context=context, rates=load_rates(gpu.name))


def _found_row(found: Found) -> dict[str, object]:
    """A layout: its launch arguments, what it holds, how fast it is."""
    capacity, pool, figures = found.capacity, found.capacity.pool, found.figures
    settings = found.deployment.settings
    return {
        "layout": str(found.layout),
        "gpus": found.layout.ranks,
        "args": Arguments(layout=found.layout, settings=settings).given(),
        "engines": capacity.engines,
        "tokens_per_engine": pool.tokens,
        "tokens": capacity.tokens,
        "max_model_len": pool.max_model_len,
        "max_concurrency": pool.max_concurrency,
        "longest_request": found.longest_request,
        "running": figures and figures.running,
        "tpot_seconds": figures and figures.tpot_seconds,
        "tokens_per_second_per_gpu": figures and found.tokens_per_second_per_gpu,
    }


def _refused_row(refused: Refused) -> dict[str, object]:
    return {
        "rule": refused.rule,
        "stage": refused.stage,
        "count": refused.count,
        "example": str(refused.example),
        "message": refused.message,
        "fix": refused.fix,
    }
