"""The planner's form, and what it needs to know of the files beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

import browser_package
import browser_python
from vllm_parallel import Settings, gpu_names, load_gpu, model_names
from vllm_parallel.catalog.rates import rated_gpus
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.outcome import Goal
from vllm_parallel.planned.request import MOST_CHARACTERS
from vllm_parallel.units import MIB

PYTHON: Final = "assets/pyodide/"
ARCHIVE: Final = "assets/planner/"
MODEL: Final = "llama-3.1-70b"
GPU: Final = "h100-80gb"
LENGTH: Final = 8192
OWN: Final = "Own config.json: paste it anywhere on this page, or drop it here"
GOALS: Final = {
    Goal.TPOT: "least time of a token (TPOT)",
    Goal.THROUGHPUT: "most tokens a second of a GPU",
    Goal.LONGEST_REQUEST: "longest request",
    Goal.CAPACITY: "most tokens in the KV cache",
}


def form() -> str:
    """The form; without JavaScript it stays hidden."""
    python = browser_python.files()
    total = sum(path.stat().st_size for path in python) + len(browser_package.archive())
    size = f"{total / MIB:.0f} MiB" if python else ""
    facts = {
        "python": PYTHON if python else "",
        "archive": f"{ARCHIVE}{browser_package.archive_name()}",
        "size": size,
        "most": str(MOST_CHARACTERS),
    }
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in facts.items())
    return (
        f'<form id="planner" class="planner" autocomplete="off" hidden {data}>\n'
        f"{''.join(_fields(size))}"
        '</form>\n<p id="planner-said" class="planner-said" role="status" aria-live="polite"></p>\n'
        '<p id="planner-copied" class="planner-hidden" role="status" aria-live="polite"></p>\n'
        '<div id="planner-answer" class="planner-answer"></div>'
    )


def _fields(size: str) -> Iterator[str]:
    models = [("", "my own config.json"), *((name, name) for name in model_names())]
    yield _group(
        "Model",
        [
            _select("model", "Catalog", models, MODEL),
            _own(size),
        ],
    )
    yield _group(
        "GPUs",
        [
            _gpus(),
            _text("gpus_per_node", "GPUs per node", 8),
            _text("nodes", "Nodes", 1),
        ],
    )
    default = Settings().gpu_memory_utilization
    yield _group(
        "Launch and load",
        [
            _text("max_model_len", "Context length, --max-model-len", LENGTH),
            _text("gpu_memory_utilization", "--gpu-memory-utilization", default),
            _text("concurrency", "Requests at once", CONCURRENCY),
            _text("context", "Tokens of each", CONTEXT),
        ],
    )
    goals = [(goal.value, says) for goal, says in GOALS.items()]
    yield _group("Goal", [_select("goal", "Rank by", goals, Goal.TPOT.value)])
    yield '<p class="field"><button class="md-button md-button--primary">Compute</button></p>\n'


def _group(legend: str, fields: Iterable[str]) -> str:
    return f"<fieldset><legend>{legend}</legend>\n{''.join(fields)}</fieldset>\n"


def _select(name: str, says: str, options: Iterable[tuple[str, str]], chosen: str) -> str:
    made = "".join(
        f'<option value="{value}"{" selected" * (value == chosen)}>{escape(label)}</option>'
        for value, label in options
    )
    return _labelled(name, says, f'<select id="planner-{name}" name="{name}">{made}</select>')


def _gpus() -> str:
    """The GPUs, each with the goals that it can be ranked by."""
    made = []
    for name in gpu_names():
        goals = " ".join(g.value for g in Goal if name in rated_gpus() or not g.needs_rates)
        chosen = " selected" * (name == GPU)
        label = escape(load_gpu(name).label)
        made.append(f'<option value="{name}" data-goals="{goals}"{chosen}>{label}</option>')
    select = f'<select id="planner-gpu" name="gpu">{"".join(made)}</select>'
    return _labelled("gpu", "GPU", select)


def _text(name: str, says: str, value: float) -> str:
    made = (
        f'<input id="planner-{name}" name="{name}" value="{value:g}" inputmode="decimal" '
        'autocomplete="off" size="8">'
    )
    return _labelled(name, says, made)


def _own(size: str) -> str:
    """Where a config is pasted or dropped; `size` is that of Python, empty without one."""
    note = (
        f"It is computed in this browser, which loads Python for it once, {size}; nothing is sent "
        "anywhere."
    )
    if not size:
        note = "This build of the site has no Python for browsers, so it cannot be computed here."
    area = (
        '<textarea id="planner-config" name="config" rows="4" spellcheck="false" '
        'autocomplete="off" aria-describedby="planner-own" '
        'placeholder="{&quot;architectures&quot;: …"></textarea>'
    )
    file = '<label>or choose a file <input type="file" name="file" accept=".json"></label>'
    return (
        f"{_labelled('config', OWN, area)}"
        f'<p class="field">{file}</p>\n<p id="planner-own" class="hint">{note} '
        '<span class="unlinked" hidden>The address leaves it out: it is too long, or this browser '
        "too old.</span></p>\n"
    )


def _labelled(name: str, says: str, field: str) -> str:
    return f'<p class="field"><label for="planner-{name}">{escape(says)}</label>{field}</p>\n'
