"""The planner's answers as text: JSON in, JSON out, in a build and in a browser alike."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vllm_parallel.answers import answers
from vllm_parallel.catalog import hub_names
from vllm_parallel.errors import ParseError, VllmParallelError
from vllm_parallel.frozen import replace
from vllm_parallel.json_text import NoObjectError, read_object
from vllm_parallel.layouts import LayoutsAnswer, steady_load
from vllm_parallel.outcome import Outcome, Refused
from vllm_parallel.planned.notes import notes
from vllm_parallel.planned.request import Request
from vllm_parallel.planned.rows import OWN_WORD, STEP_PARTS, TOP, RefusedRow, Row, Shelf, cell
from vllm_parallel.render.placement import Placement, diagram
from vllm_parallel.search import appraised


def answered(request: str) -> str:
    """The answer to a form, both as JSON: what to show, or one sentence as `error`.

    >>> answered('{"model": "llama-3.1-8b", "gpu": "h200", "nodes": "99"}')
    '{"error": "The number of GPUs is 792; at most 64 are searched here; \
vllm-parallel layouts takes more"}'
    """
    try:
        return json.dumps(planned(Request.of(read_object(request))))
    except NoObjectError as error:
        return _failed(f"The request {error}")
    except VllmParallelError as error:
        return _failed(str(error))


def batch(questions: str) -> str:
    r"""Answers to lines of questions, as `vllm-parallel batch` prints them.

    >>> batch('{"id": 1, "model": "llama-3.1-8b", "ask": []}\n')
    '{"id": 1}\n'
    """
    return "".join(json.dumps(row) + "\n" for row, _ in answers(questions.split("\n")))


def planned(request: Request) -> dict[str, object]:
    """What the planner shows of a question, and the answer of `vllm-parallel layouts` to it.

    Raises:
        VllmParallelError: the question cannot be read, or no layout can be sized.
    """
    answer = LayoutsAnswer.of(request.question, request.terms)
    search = answer.search
    outcome = _priced(answer)
    config = request.question["model"]
    shelf = Shelf(_model_word(request))
    shown = cell({outcome.goal: outcome}, shelf, TOP)
    for entry, found in zip(shelf.layouts, outcome.found, strict=False):
        placement = Placement(layout=found.layout, cluster=search.cluster, moe=search.model.is_moe)
        entry["svg"] = diagram(placement, "placement")
    return {
        "notes": notes(search.model, config if isinstance(config, Mapping) else {}),
        "columns": Row._fields,
        "refusals": RefusedRow._fields,
        "parts": STEP_PARTS,
        "layouts": shelf.layouts,
        "texts": shelf.texts,
        "cell": shown,
        "answer": answer.row,
    }


def _priced(answer: LayoutsAnswer) -> Outcome:
    """The outcome, what is shown of it priced too where the goal did not ask and rates exist."""
    outcome = answer.outcome
    if outcome.goal.needs_rates:
        return outcome
    try:
        load = steady_load(answer.search, answer.terms)
    except ParseError:  # no rates, or no request is as long
        return outcome
    found = [(one, appraised(one, load.figures)) for one in outcome.found[:TOP]]
    shown = [old if isinstance(new, Refused) else new for old, new in found]
    return replace(outcome, found=(*shown, *outcome.found[TOP:]))


def _model_word(request: Request) -> str:
    """The word of the launch commands: a catalog model's name on the hub."""
    model = request.question["model"]
    names = hub_names().get(model, ()) if isinstance(model, str) else ()
    return names[0] if names else OWN_WORD


def _failed(sentence: str) -> str:
    return json.dumps({"error": sentence})
