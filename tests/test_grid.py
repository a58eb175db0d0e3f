"""What the site shows of models: remembered verdicts are those of the package, parts add up."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from mkdocs.exceptions import PluginError

import model_dcp
import model_errors
import model_index
import model_parts
import model_sheets
import model_store
from alike import Alike
from grid import COUNTS
from gridded import Answers, Subject, answers_of, cluster_of, grid_of
from model_store import Store, shares
from model_tables import OnGpus
from model_ways import placed, way_out
from vllm_parallel import Deployment, Layout, Shard, Verdict, gpu_names, load_model, model_names
from vllm_parallel.catalog import load_gpu
from vllm_parallel.catalog.rates import rated_gpus
from vllm_parallel.constraints.table import check
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.ledger import tightest
from vllm_parallel.outcome import Found, Goal
from vllm_parallel.planned import Row
from vllm_parallel.planned.answering import answered
from vllm_parallel.planned.rows import TOP
from vllm_parallel.search import Search

DRAWN: Final = 24  # models and counts, each on every GPU


def said(verdict: Verdict) -> tuple[object, ...]:
    capacity = verdict.capacity
    pool = None if capacity is None else (capacity.engines, capacity.pool.num_blocks)
    return verdict.refusal, pool, capacity and capacity.tokens


def test_a_remembered_verdict_is_the_verdict() -> None:
    """On GPUs in any order, so that each is answered from what another left behind."""
    draw = random.Random(8)
    judges = {name: Alike() for name in model_names()}
    met = set()
    for _ in range(DRAWN):
        name, count = draw.choice(model_names()), draw.choice(COUNTS)
        subject = Subject(name=name)
        cluster = cluster_of("h200", count)
        layouts = list(Search(model=subject.model, gpus=count, cluster=cluster).layouts())
        layout = draw.choice(layouts)
        for gpu in draw.sample(gpu_names(), len(gpu_names())):
            deployment = Deployment(
                model=subject.model,
                layout=layout,
                settings=subject.settings,
                cluster=cluster_of(gpu, count),
            )
            try:
                wanted = Verdict.of(deployment)
            except VllmParallelError as error:
                with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                    judges[name](deployment)
                continue
            found = judges[name](deployment)
            assert said(found) == said(wanted), (name, str(layout), gpu)
            met.add(wanted.refusal and wanted.refusal.stage)
            if found.capacity is None:
                continue
            one = Found(deployment=deployment, capacity=found.capacity)
            assert judges[name].calls(one) == one.calls
            budget = judges[name].budget(deployment)
            assert budget.available_kv_bytes == tightest(deployment).available_kv_bytes
    assert None in met
    assert len(met) >= 3  # accepted, and refused at several stages


@pytest.mark.parametrize("name", ["deepseek-v3.2", "gpt-oss-20b", "qwen2.5-32b-gptq-int4"])
def test_rules_that_are_asked_once_say_the_same_on_every_gpu(name: str) -> None:
    """Odd widths too, and each GPU after another has been asked about."""
    subject, met = Subject(name=name), set()
    widths = [Layout(tp=width) for width in range(1, 17)] + [Layout(pp=61), Layout(tp=8, dcp=3)]
    for layout in [*widths, Layout(tp=2, pcp=4), Layout(tp=16, dcp=2), Layout(dp=7)]:
        for gpu in gpu_names():
            deployment = placed(subject, gpu, layout)
            wanted = check(deployment)
            assert subject.judge.check(deployment) == wanted, (str(layout), gpu)
            met.add(wanted and wanted.name)
    assert None in met
    assert len(met) > 3  # accepted, and refused by several rules


def test_a_grid_names_what_it_holds() -> None:
    subject = Subject(name="qwen3-0.6b")
    grid = grid_of(subject, answers_of(subject))
    assert list(grid["cells"]) == gpu_names()
    used = set()
    for gpu, row in grid["cells"].items():
        assert list(row) == [str(count) for count in COUNTS]
        goals = [goal.value for goal in Goal if gpu in rated_gpus() or not goal.needs_rates]
        assert grid["gpus"][gpu]["goals"] == goals
        for count, cell in row.items():
            rows, ranked, refused = cell["rows"], cell["ranked"], cell["refused"]
            assert isinstance(rows, list)
            assert isinstance(ranked, dict)
            assert isinstance(refused, list)
            assert list(ranked) == goals
            assert {at for order in ranked.values() for at in order} == set(range(len(rows)))
            assert all(len(set(order)) == len(order) <= TOP for order in ranked.values())
            for one in rows:
                assert isinstance(one, Row)
                assert grid["layouts"][one.layout]["gpus"] == int(count)
                assert (one.tpot is None) == (gpu not in rated_gpus())
                used.add(one.layout)
            counts = sum(one.layouts for one in refused)
            assert cell["searched"] == cell["found"] + counts
    assert used == set(range(len(grid["layouts"])))


@pytest.mark.parametrize("name", model_names())
def test_parts_add_up_to_the_weights(name: str) -> None:
    model = load_model(name)
    numbers, taken = model_parts.by_part(model)
    weights = Shard.of(Deployment(model=model, layout=Layout()), 0).weight_bytes
    assert sum(taken.values()) == weights
    assert set(numbers) == set(taken)
    assert ("routed experts" in taken) == (model.experts is not None)
    assert (model_parts.TOWER in taken) == bool(model.towers)
    assert ("mixers" in taken) == bool(model.mixers)
    assert taken[model_parts.REST] < weights / 500, "a part without a name of its own"


def test_a_build_does_not_wait_for_who_has_failed(tmp_path: Path) -> None:
    folder = tempfile.TemporaryDirectory(dir=tmp_path)
    Path(folder.name, "done.sections.json").write_text('{"intro": "here"}', "utf-8")
    failing = [sys.executable, "-c", "raise SystemExit(3)"]
    store = Store(Path(folder.name), [subprocess.Popen(failing)], folder)
    assert store.sheet("done") == {"intro": "here"}
    with pytest.raises(PluginError, match="has not written missing"):
        store.sheet("missing")
    with pytest.raises(PluginError, match="ended with 3"):
        list(store.finish())
    store.close()
    assert not Path(folder.name).exists()


def test_what_models_are_written_from_is_told_by_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file more, another name, another byte; what Python caches beside it counts for nothing."""
    monkeypatch.setattr(model_store, "SCRIPT", tmp_path / "model_sheets.py")
    told = [model_store.sources()]
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.json", "2")):
        (tmp_path / name).write_text(text, "utf-8")
        told.append(model_store.sources())
    (tmp_path / "b.json").rename(tmp_path / "c.json")
    told.append(model_store.sources())
    assert len(set(told)) == len(told)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"1")
    assert model_store.sources() == told[-1]


def test_models_are_dealt_to_processes_whole() -> None:
    dealt = shares(model_names(), 3)
    assert sorted(name for share in dealt for name in share) == model_names()
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert not any(load_model(share[-1]).is_latent for share in dealt), "the longest come first"


def test_every_model_has_a_family_and_a_name_to_download(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in model_names():
        assert model_index.family(name), name
        assert Subject(name=name).hub, name
    for start in model_index.FAMILIES:
        assert any(name.startswith(start) for name in model_names()), f"no model is a {start}"
    names = {"unheard-of-7b": ("acme/Unheard-of-7B",)}
    monkeypatch.setattr(model_index, "hub_names", lambda: names)
    assert model_index.family("unheard-of-7b") == "acme"  # one added later is of its publisher


def spelt(whole: dict[str, Any], goal: str) -> dict[str, object]:
    """What is shown of a cell by a goal, its numbers of layouts and texts replaced by these."""
    cell = whole["cell"]
    fell = cell.get("otherwise", {}).get(goal, cell)
    rows = [cell["rows"][number] for number in cell["ranked"][goal]]
    kept = ("name", "gpus", "nodes", "engines", "commands", "refused")
    return {
        "notes": whole["notes"],
        "searched": cell["searched"],
        "found": fell["found"],
        "rows": [([whole["layouts"][row[0]][name] for name in kept], row[1:]) for row in rows],
        "refused": [
            (*row[:4], whole["texts"][row[4]], whole["texts"][row[5]]) for row in fell["refused"]
        ],
    }


@pytest.mark.parametrize("name", ["qwen2.5-vl-7b", "deepseek-r1", "gemma-3-27b", "llama-4-scout"])
def test_a_cell_is_what_the_planner_answers_to_the_same_question(name: str) -> None:
    """By every goal, on GPUs with rates and without."""
    draw = random.Random(name)
    subject = Subject(name=name)
    gpus = [*draw.sample(gpu_names(), 2), draw.choice(sorted(rated_gpus()))]
    cells = {gpu: subject.outcomes(gpu, 8) for gpu in gpus}
    answers: Answers = {gpu: {8: outcomes} for gpu, outcomes in cells.items()}
    grid = json.loads(json.dumps(grid_of(subject, answers)))
    for gpu, outcomes in cells.items():
        for goal in outcomes:
            asked = {
                "model": name, "gpu": gpu, "gpus_per_node": "8", "goal": goal.value,
                "max_model_len": str(subject.length), "context": str(subject.context),
            }  # fmt: skip
            theirs = json.loads(answered(json.dumps(asked)))
            ours = {**grid, "cell": grid["cells"][gpu]["8"]}
            assert spelt(ours, goal.value) == spelt(theirs, goal.value), (gpu, goal)


@pytest.mark.parametrize(
    ("name", "layout", "wanted"),
    [
        ("nemotron-nano-9b-v2", Layout(tp=16), "use a --tensor-parallel-size of 1, 2, 4, 8"),
        ("qwen2.5-32b-gptq-int4", Layout(tp=3), "use a --tensor-parallel-size of 1, 2, 4, 8"),
        ("qwen2.5-32b-gptq-int4", Layout(tp=5), "use a --tensor-parallel-size of 1, 2, 4, 8"),
        ("gpt-oss-120b", Layout(tp=3), "use a --tensor-parallel-size of 1, 2, 4, 8"),
        ("gpt-oss-120b", Layout(tp=16, dcp=4), "change another width too: beside tp16 no"),
        ("gemma-3-27b", Layout(tp=16, dcp=3), "use a --decode-context-parallel-size of 1"),
        ("llama-3.1-70b", Layout(tp=16, dcp=4), "use a --decode-context-parallel-size of 1, 2"),
        (
            "gemma-3-27b",
            Layout(tp=16, dcp=2),
            "drop --decode-context-parallel-size: no KV head is held twice at tp=16",
        ),
    ],
)
def test_a_way_out_offers_what_every_rule_passes(name: str, layout: Layout, wanted: str) -> None:
    subject = Subject(name=name)
    deployment = placed(subject, "h100-80gb", layout)
    refusal = check(deployment)
    assert refusal is not None
    found = way_out(refusal.fix, subject, "h100-80gb", layout)
    assert found.startswith(wanted)
    assert not found.removeprefix(wanted).startswith(","), "a width more"


def test_a_page_names_the_gpus_on_which_its_answers_hold() -> None:
    """Hopper's kernel refuses a DCP of this model, Blackwell's does not, others have none."""
    subject = Subject(name="deepseek-v3.2")
    answers = answers_of(subject)
    shown = model_sheets.sections(subject, answers)
    on = OnGpus(subject=subject, answers=answers)
    hopper, blackwell = load_gpu("h200").label, load_gpu("b300").label
    widths = str(shown["widths"])
    assert f"on {load_gpu(on.reference).label} and wherever" in widths
    (row,) = re.findall(r"<tr><td>decode-context[^<]*, on [^<]*</td><td>([^<]*)</td>", widths)
    assert row == "1, 2, 4, 8, 16"
    assert f"Not modelled: {load_gpu('mi300x').label}" in widths
    refused = str(shown["refused"])
    assert "<code>sparse-dcp-cache</code> refuses nothing on" in refused
    assert f"Besides, on {load_gpu('a100-40gb').label}" in refused
    gains = model_dcp.gains(subject)
    assert f"{hopper} vLLM starts no dcp above 1" in gains
    assert blackwell not in gains.partition("</p>")[0]
    assert f"8 GPUs, {blackwell}." in gains
    row_ = shown["row"]
    assert isinstance(row_, dict)
    assert row_["sized"] == [gpu for gpu in gpu_names() if not gpu.startswith("mi3")]
    cells = re.findall(r'data-value="(\d*)">([^<]*)</td>', model_index.table([row_]))
    assert ("", "not modelled") in cells
    assert ("16", "16") in cells
    assert 'class="num assumed" data-value="16"' in model_index.table([row_])
    assert f"KV of {model_parts.REQUEST:,} tokens" in str(shown["glance"])
    assert re.search(r'<span class="assumed">\d+</span> × ', str(shown["intro"]))
    assert "for example" in str(shown["intro"])


def test_errors_of_time_say_first_whose_they_are() -> None:
    text = model_errors.errors("qwen3-0.6b")
    assert text.index("Of this model there is no row") < text.index("<ul>")
    assert "1 row, median" not in text
