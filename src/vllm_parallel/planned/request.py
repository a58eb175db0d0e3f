"""What the planner's form asks: a question of `batch` without its layout, and the load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.catalog import is_catalog_name, model_names, parse_config
from vllm_parallel.catalog.rates import rated_gpus
from vllm_parallel.engine.options import options
from vllm_parallel.engine.values import value_of
from vllm_parallel.errors import CatalogError, ParseError, close_names, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.layouts import CONCURRENCY, PER_NODE, Terms
from vllm_parallel.outcome import Goal
from vllm_parallel.question import Json

MOST_CHARACTERS: Final = 2**20  # of a config; published ones have at most some 30,000
CONFIG: Final = "the config"
# Fields of the form: as a sentence calls them, and how each is read.
ARGUMENTS: Final = ("max_model_len", "gpu_memory_utilization")
NUMBERS: Final = {
    "gpus_per_node": "GPUs per node",
    "nodes": "nodes",
    "concurrency": "requests",
    "context": "tokens of each",
}
MOST: Final = 10**8
MOST_GPUS: Final = 64  # the picture of their ranks has to be read, and a browser is slow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Request:
    """A question whose layout is left open, the terms of its search, and whose model it is."""

    question: Json
    terms: Terms
    own: bool

    @classmethod
    def of(cls, fields: Json) -> Request:
        """What a form's fields ask; all are strings as typed, and empty ones are left to vLLM.

        `config` is the text of a `config.json`, and takes the place of `model`, a catalog name.

        Raises:
            ParseError: a field cannot be read.
            CatalogError: no such model, or a config that is no JSON object.

        >>> asked = Request.of({"model": "llama-3.1-8b", "gpu": "h200", "gpus_per_node": "2"})
        >>> asked.question["gpu"], asked.terms.gpus
        ('h200', 2)
        """
        texts = {name: _text(fields, name) for name in FIELDS}
        config, gpu = texts["config"], texts["gpu"]
        args = {name: value_of(options()[name], texts[name]) for name in ARGUMENTS if texts[name]}
        numbers = {name: _whole(texts, name) for name in NUMBERS}
        per_node = numbers["gpus_per_node"] or PER_NODE
        gpus = per_node * (numbers["nodes"] or 1)
        if gpus > MOST_GPUS:
            fix = f"at most {MOST_GPUS} are searched here; vllm-parallel layouts takes more"
            raise ParseError(place="The number of GPUs", problem=f"is {gpus}", fix=fix)
        model = _config(config) if config else _catalog_name(texts["model"])
        return cls(
            question={"model": model, "args": args, "gpu": gpu},
            terms=Terms(
                gpus=gpus,
                gpus_per_node=per_node,
                goal=_goal(texts["goal"], gpu),
                concurrency=numbers["concurrency"] or CONCURRENCY,
                context=numbers["context"],
            ),
            own=bool(config),
        )


FIELDS: Final = ("model", "config", "gpu", "goal", *ARGUMENTS, *NUMBERS)


def _text(fields: Json, name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise ParseError(place=name, problem=f"is {shortened(value)}", fix="give it as typed")
    return value.strip()


def _goal(text: str, gpu: str) -> Goal:
    """The goal; without one TPOT where the rates are known, else capacity."""
    if not text:
        return Goal.TPOT if gpu in rated_gpus() else Goal.CAPACITY
    try:
        return Goal(text)
    except ValueError:
        goals = ", ".join(goal.value for goal in Goal)
        raise ParseError(
            place="The goal", problem=f"is {shortened(text)}", fix=f"use one of {goals}"
        ) from None


def _whole(texts: Mapping[str, str], name: str) -> int | None:
    text = texts[name]
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= MOST):
        place = f"The number of {NUMBERS[name]}"
        fix = f"give a whole number from 1 to {MOST}"
        raise ParseError(place=place, problem=f"is {shortened(text)}", fix=fix)
    return int(text)


def _catalog_name(text: str) -> str:
    if is_catalog_name(text):
        return text
    names = model_names()
    raise CatalogError(
        subject=f"model {shortened(text)}",
        problem="is not in the catalog",
        fix=close_names(text, names, whose="it"),
    )


def _config(text: str) -> Mapping[str, object]:
    """A config as an object.

    Raises:
        ParseError: it is too long.
        CatalogError: it is no JSON object.
    """
    if len(text) > MOST_CHARACTERS:
        problem = f"has {len(text)} characters"
        raise ParseError(
            place=CONFIG, problem=problem, fix=f"a config.json has at most {MOST_CHARACTERS}"
        )
    return parse_config(text, CONFIG)
