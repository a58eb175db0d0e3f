"""Writes what the site shows of catalog models: grids, pictures, and the sections of their pages.

    python scripts/site/model_sheets.py FOLDER NAME...

A process of its own, so that a build can have several beside it. Of each model there come to lie in
the folder `NAME.json`, the grid, and `NAME.sections.json`, HTML by section; the pictures of layouts
beside them in `placements/`.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from markdown import Markdown

import model_dcp
import model_parts
import model_tables
import model_widths
import planner_table
from catalog_tables import experts_of, shape_of
from grid import Grid
from gridded import Answers, Subject, answers_of, cluster_of, grid_of, picture_of
from model_tables import FIRST_BY, OnGpus
from model_widths import Asked
from vllm_parallel.catalog import gpu_names, load_gpu
from vllm_parallel.layout import Layout
from vllm_parallel.render.numbers import gib
from vllm_parallel.render.placement import Placement, diagram
from vllm_parallel.render.shell import node_commands

SECTIONS: Final = "sections"
IDENT: Final = "placement"  # one picture is shown at a time
HIGHLIGHT: Final = ("pymdownx.superfences", "pymdownx.highlight")


def main(folder: Path, names: Iterable[str]) -> None:
    """Write the files of these models."""
    (folder / "placements").mkdir(parents=True, exist_ok=True)
    for name in names:
        subject = Subject(name=name)
        answers = answers_of(subject)
        grid = grid_of(subject, answers)
        _draw(folder, subject, answers, grid)
        _write(folder / f"{name}.json", grid)
        _write(folder / f"{name}.{SECTIONS}.json", sections(subject, answers))


def sections(subject: Subject, answers: Answers) -> dict[str, object]:
    """The parts of a model's page by name, and as `row` what the index says of it."""
    on = OnGpus(subject=subject, answers=answers)
    asked = Asked(subject=subject, gpu=on.reference)
    return {
        "intro": intro(on),
        "fits": model_tables.fits(on),
        "glance": model_parts.glance(subject),
        "parts": model_parts.parts(subject),
        "widths": model_widths.widths(asked, on.sized),
        "worth": model_tables.worth(on),
        "commands": commands(on),
        "elsewhere": folded("The same on every other GPU", model_tables.elsewhere(on)),
        "refused": model_tables.refused(on),
        "dcp": model_dcp.gains(subject),
        "times": model_tables.times(on),
        "row": row(on),
    }


def intro(on: OnGpus) -> str:
    """What its weights are, and on how few GPUs it starts."""
    weights = model_parts.weight_bytes(on.subject)
    fewest = {gpu: on.fewest(gpu) for gpu in ("h100-80gb", "h200", "mi300x", "rtx-4090")}
    parts = [
        f"{assumed(str(gpus))} × {escape(load_gpu(gpu).label)}" if gpus else ""
        for gpu, gpus in fewest.items()
    ]
    found = ", ".join(filter(None, parts))
    held = f"starts on, for example, {found}" if found else "starts on none of these four GPUs"
    notes = "".join(f"<p><strong>{escape(note)}</strong></p>" for note in on.subject.notes)
    text = (
        f"<p>Its weights are {figure(gib(weights))}. With <code>--max-model-len "
        f"{on.subject.length}</code> it {held}, if the assumed overhead holds.</p>"
    )
    planner = f'<a href="../../planner/?model={on.subject.name}">the planner</a>'
    return f"{notes}{text}<p>Other numbers, and pictures of who holds what: ask {planner}.</p>"


def figure(text: str) -> str:
    """A computed figure in a sentence."""
    return f'<span class="computed">{escape(text)}</span>'


def assumed(text: str) -> str:
    """A figure in a sentence that rests on an assumption."""
    return f'<span class="assumed">{escape(text)}</span>'


def folded(title: str, body: str) -> str:
    """A part that a reader opens."""
    return f'<details class="note"><summary>{escape(title)}</summary>{body}</details>'


def commands(on: OnGpus) -> str:
    """The commands of the layouts that are worth trying on the reference GPU."""
    word = on.subject.hub or '"$MODEL"'
    markdown = Markdown(extensions=list(HIGHLIGHT))
    gpu = load_gpu(on.reference).label
    parts = [f'<div data-gpu="{on.reference}">']
    for found, goals in model_tables.shown_firsts(on):
        ranks = found.layout.ranks
        by = ", ".join(FIRST_BY[goal] for goal in goals)
        title = f"<strong>{found.layout}</strong> on {ranks} × {escape(gpu)}, first by {by}"
        parts.append(f"<p>{title}:</p>")
        texts = node_commands(found.deployment, word)
        for number, text in enumerate(texts):
            if len(texts) > 1:
                parts.append(f"<p>On node {number}:</p>")
            parts.append(markdown.reset().convert(f"```bash\n{text}\n```"))
    return "".join([*parts, "</div>"])


def row(on: OnGpus) -> dict[str, object]:
    """What the index says of a model."""
    subject, model = on.subject, on.subject.model
    numbers = model_parts.parameters(subject)
    length = model_parts.request_length(model)
    kinds = ["dense" if model.experts is None else "moe"]
    kinds += ["quantised"] if model.quantisation is not None else []
    kinds += ["multimodal"] if model.towers else []
    kinds += ["hybrid"] if model.is_hybrid else []
    kinds += ["latent"] if model.is_latent else []
    return {
        "name": subject.name,
        "kinds": kinds,
        "parameters": sum(numbers.values()),
        "weights": model_parts.weight_bytes(subject),
        "request": model_parts.request_bytes(model, length),
        "longest": model.context.max_model_len,
        "attention": shape_of(model),
        "experts": experts_of(model),
        "fewest": {gpu: on.fewest(gpu) for gpu in gpu_names()},
        "sized": on.sized,
        "on a node": planner_table.texts_of(on.outcomes(planner_table.GPU, planner_table.GPUS)),
    }


def _draw(folder: Path, subject: Subject, answers: Answers, grid: Grid) -> None:
    """The pictures that a grid names; the same layout looks the same in every grid."""
    moe = subject.model.is_moe
    wanted = {str(entry["picture"]) for entry in grid["layouts"]}
    for layout in _layouts(answers):
        name = picture_of(str(layout), moe=moe)
        if name not in wanted or (folder / name).exists():
            continue
        cluster = cluster_of(gpu_names()[0], layout.ranks)
        placement = Placement(layout=layout, cluster=cluster, moe=moe)
        (folder / name).write_text(diagram(placement, IDENT), encoding="utf-8")


def _layouts(answers: Answers) -> set[Layout]:
    cells = (cell for row in answers.values() for cell in row.values() if isinstance(cell, dict))
    return {one.layout for cell in cells for outcome in cell.values() for one in outcome.found}


def _write(path: Path, value: Mapping[str, object] | Grid) -> None:
    """Whole or not at all: whoever waits for the file may read it as soon as it is there."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    beside = path.with_suffix(".part")
    beside.write_text(text, encoding="utf-8")
    beside.rename(path)


def run(words: Sequence[str]) -> int:
    """The command."""
    gc.disable()  # what is made is kept, and the process is short
    main(Path(words[0]), words[1:])
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
