"""The pages and grids of models, as built, against what the package says when it is asked anew."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import unescape
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from grid import COUNTS
from html_tree import Element, parse
from judging import flag_faults
from model_tables import short
from shown import Row, in_shell
from vllm_parallel import gpu_names, load_gpu, model_names
from vllm_parallel.answers import answer
from vllm_parallel.engine.shell import Shell
from vllm_parallel.layout import Layout
from vllm_parallel.layouts import LayoutsAnswer, Terms
from vllm_parallel.outcome import Goal
from vllm_parallel.planned.rows import TOP
from vllm_parallel.render.numbers import whole
from vllm_parallel.review import Review

pytestmark = pytest.mark.site

MOST_BYTES: Final = 110_000
CELLS: Final = 60
SEARCHES: Final = 16
WIDTH: Final = re.compile(r"([a-z]+)(\d+)")
Json = Mapping[str, object]


class Cell(NamedTuple):
    model: str
    gpu: str
    gpus: int

    @property
    def terms(self) -> dict[str, object]:
        nodes = -(-self.gpus // 8)
        return {"model": self.model, "gpu": self.gpu, "gpus_per_node": 8, "nodes": nodes}


@cache
def grid(site: Path, model: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((site / "models" / f"{model}.json").read_text("utf-8"))
    return found


def drawn(number: int, seed: int) -> list[Cell]:
    draw = random.Random(seed)
    return [
        Cell(draw.choice(model_names()), draw.choice(gpu_names()), draw.choice(COUNTS))
        for _ in range(number)
    ]


def part(value: object, *path: object) -> object:
    """What lies at a path in a JSON value."""
    for key in path:
        assert isinstance(value, dict | list)
        value = value[key]  # type: ignore[call-overload]  # a key, or a place
    return value


def listed(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def layout_of(text: str) -> dict[str, object]:
    """The arguments that a layout's name stands for."""
    names = {
        "tp": "tensor_parallel_size",
        "pp": "pipeline_parallel_size",
        "dp": "data_parallel_size",
        "pcp": "prefill_context_parallel_size",
        "dcp": "decode_context_parallel_size",
    }
    args: dict[str, object] = {names[axis]: int(width) for axis, width in WIDTH.findall(text)}
    return args | ({"enable_expert_parallel": True} if text.endswith(" ep") else {})


def commands(site: Path, model: str) -> Iterator[tuple[str, list[str]]]:
    for entry in listed(grid(site, model)["layouts"]):
        yield str(part(entry, "name")), [str(one) for one in listed(part(entry, "commands"))]


def homes(site: Path, model: str) -> dict[str, str]:
    """A GPU for each layout, on which it starts: some start on one architecture alone."""
    found = grid(site, model)
    gpus: dict[str, str] = {}
    for gpu in gpu_names():
        for count in COUNTS:
            cell = part(found, "cells", gpu, str(count))
            assert isinstance(cell, dict)
            for row in cell.get("rows", ()):
                gpus.setdefault(str(part(found, "layouts", row[0], "name")), gpu)
    return gpus


def test_every_model_has_a_page_and_a_grid(real_site: Path) -> None:
    folder = real_site / "models"
    pages = {path.parent.name for path in folder.glob("*/index.html")}
    assert pages == set(model_names())
    assert {path.stem for path in folder.glob("*.json")} == set(model_names())
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.json")}
    assert max(sizes.values()) < MOST_BYTES, max(sizes, key=lambda name: sizes[name])
    assert not list(real_site.rglob("*.sections.json"))


def test_cells_are_what_the_package_answers(real_site: Path) -> None:
    """Tokens, longest requests and refusals of cells drawn at random, each asked anew."""
    accepted = refused = 0
    for cell in drawn(CELLS, seed=1):
        found = grid(real_site, cell.model)
        shown = part(found, "cells", cell.gpu, str(cell.gpus))
        asked = cell.terms | {"ask": ["verdict", "capacity"]}
        length = part(found, "asked", "max_model_len")
        if isinstance(shown, dict) and "error" in shown:
            row = answer(asked | {"args": {"max_model_len": length}})
            assert row["error"] == part(found, "texts", shown["error"])
            continue
        for one in listed(part(shown, "rows")):
            columns = dict(zip(listed(found["columns"]), listed(one), strict=True))
            name = str(part(found, "layouts", columns["layout"], "name"))
            row = answer(asked | {"args": {**layout_of(name), "max_model_len": length}})
            tokens, engines = part(row, "capacity", "tokens"), part(row, "capacity", "engines")
            assert isinstance(tokens, int)
            assert isinstance(engines, int)
            assert columns["tokens"] == whole(tokens), (cell, name)
            assert columns["service"] == whole(tokens * engines), (cell, name)
            accepted += 1
        for one in listed(part(shown, "refused")):
            rule, stage, _, example, message, _ = listed(one)
            if stage is None:
                continue
            row = answer(asked | {"args": {**layout_of(str(example)), "max_model_len": length}})
            wanted = {"accepted": False, "stage": stage, "message": part(found, "texts", message)}
            assert row["verdict"] == wanted, (cell, rule)
            refused += 1
    assert accepted > CELLS
    assert refused > CELLS


def test_cells_are_ranked_as_the_command_ranks(real_site: Path) -> None:
    for cell in drawn(SEARCHES, seed=2):
        found = grid(real_site, cell.model)
        shown = part(found, "cells", cell.gpu, str(cell.gpus))
        if isinstance(shown, dict) and "error" in shown:
            continue
        question = {
            "model": cell.model,
            "gpu": cell.gpu,
            "args": {"max_model_len": part(found, "asked", "max_model_len")},
        }
        ranked = part(shown, "ranked")
        assert isinstance(ranked, dict)
        for goal, order in ranked.items():
            terms = Terms(gpus=cell.gpus, goal=Goal(goal))
            outcome = LayoutsAnswer.of(question, terms).outcome
            rows = [part(shown, "rows", at, 0) for at in order]
            names = [part(found, "layouts", at, "name") for at in rows]
            assert names == [str(one.layout) for one in outcome.found[:TOP]], (cell, goal)
            assert part(shown, "searched") == outcome.searched


@pytest.mark.parametrize("share", range(4))
def test_every_command_is_taken_and_starts_its_layout(share: int, real_site: Path) -> None:
    """Every command that the planner can print: its flags, its rules, and what it asks for."""
    judged = 0
    for model in model_names()[share::4]:
        gpus = homes(real_site, model)
        for name, texts in commands(real_site, model):
            assert texts, (model, name)
            for text in texts:
                rows = [Row(text=line, place=model) for line in text.splitlines()]
                (shown,) = in_shell(rows, Shell())
                assert not list(flag_faults(shown)), text
                assert shown.command is not None
                terms = {"model": model, "gpu": gpus[name], "gpus_per_node": 8, "nodes": len(texts)}
                review = Review.of(shown.command, terms)
                assert review.passes, (text, review.answer())
                assert review.question is not None
                assert str(review.question.deployment.layout) == name
                judged += 1
    assert judged > 250


def test_commands_name_a_model_that_vllm_can_download(real_site: Path) -> None:
    for model in model_names():
        for _, texts in commands(real_site, model):
            assert all(f"vllm serve {grid(real_site, model)['hub']}" in text for text in texts)


def page(site: Path, model: str) -> Element:
    return parse((site / "models" / model / "index.html").read_text("utf-8"))


def rows_of(table: Element) -> list[list[str]]:
    lines = (one for one in table.walk() if one.tag == "tr")
    return [[one.text() for one in line.walk() if one.tag in ("td", "th")] for line in lines]


@pytest.mark.parametrize("model", random.Random(3).sample(model_names(), 6))
def test_a_page_says_what_its_grid_holds(model: str, real_site: Path) -> None:
    root, found = page(real_site, model), grid(real_site, model)
    tables = [rows_of(one) for one in root.walk() if one.tag == "table"]
    fits = {row[0]: row[2:] for row in tables[0][1:]}
    for gpu in gpu_names():
        for count, text in zip(COUNTS, fits[load_gpu(gpu).label], strict=True):
            cell = part(found, "cells", gpu, str(count))
            assert isinstance(cell, dict)
            if "error" in cell:
                assert text == "not modelled"
            elif not cell["found"]:
                assert text == "no"
            else:
                first = part(cell, "ranked", "capacity", 0)
                assert isinstance(first, int)
                service = str(part(cell, "rows", first, 2))
                assert text == short(int(service.replace(",", "")))
    known = {text.strip() for _, texts in commands(real_site, model) for text in texts}
    blocks = [one.text().strip() for one in root.walk() if "highlight" in one.classes]
    assert blocks
    assert set(blocks) <= known
    said = " ".join(unescape(root.text()).split())
    for note in listed(found["notes"]):
        assert str(note) in said


def test_pictures_stand_beside_the_grids(real_site: Path) -> None:
    """Every layout's picture names the layout and its ranks."""
    for model in model_names():
        for entry in listed(grid(real_site, model)["layouts"]):
            path = real_site / "models" / str(part(entry, "picture"))
            assert f">{part(entry, 'name')}: " in path.read_text("utf-8")


def test_a_layout_is_named_by_its_widths() -> None:
    text = str(Layout(tp=4, pp=2, dp=2, pcp=2, dcp=4, expert_parallel=True))
    assert layout_of(text) == {
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 2,
        "data_parallel_size": 2,
        "prefill_context_parallel_size": 2,
        "decode_context_parallel_size": 4,
        "enable_expert_parallel": True,
    }
