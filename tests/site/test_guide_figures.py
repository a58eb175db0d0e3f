"""What the guide's later pages compute: the load's flags, the sweep's files, symptoms, DCP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from vllm_parallel.constraints import RULES
from vllm_parallel.engine.commands import find
from vllm_parallel.engine.options import BENCH, SERVE, options
from vllm_parallel.engine.reading import Reading
from vllm_parallel.frozen import replace
from vllm_parallel.layout import Layout
from vllm_parallel.symptoms import SYMPTOMS
from vllm_parallel.verdict import MEMORY_RULES, Verdict

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = ROOT / "snippets" / "guide"


@pytest.fixture(scope="module")
def site() -> Iterator[Path]:
    folder = ROOT / "scripts" / "site"
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def module(name: str) -> ModuleType:
    return __import__(name)


def test_every_flag_of_the_load_says_what_it_is_for(site: Path) -> None:
    load = module("bench_load")
    given = [flag.option.dest for flag in load.flags()]
    assert sorted(given) == sorted(load.PURPOSE)
    assert len(set(given)) == len(given)
    # Where the parser has no default, the page says what happens instead.
    for flag in load.flags():
        assert flag.without, flag.option.name
    assert {"backend", "ignore_eos"} <= {f.option.dest for f in load.flags() if f.redundant}
    assert not {"seed", "metadata"} & {f.option.dest for f in load.flags() if f.redundant}


def layouts() -> dict[str, dict[str, int]]:
    read: dict[str, dict[str, int]] = json.loads((SNIPPETS / "sweep" / "layouts.json").read_text())
    return read


def loads() -> list[dict[str, int]]:
    read: list[dict[str, int]] = json.loads((SNIPPETS / "sweep" / "loads.json").read_text())
    return read


def test_the_sweep_passes_options_that_vllm_has() -> None:
    for row in layouts().values():
        assert set(row) <= set(options(SERVE))
        ranks = row["tensor_parallel_size"] * row.get("pipeline_parallel_size", 1)
        engines = row.get("data_parallel_size", 1)
        assert ranks * engines == 8
        assert row["max_num_seqs"] * engines == 128
    for row in loads():
        assert set(row) <= set(options(BENCH))
        assert row["num_prompts"] == max(64, 8 * row["max_concurrency"])


def test_the_sweep_and_the_loop_send_the_same_load(site: Path) -> None:
    commands = find((SNIPPETS / "benchmark.sh").read_text("utf-8"))
    benches = [Reading.of(one) for one in commands if one.name == "bench serve"]
    assert not [fault for one in benches for fault in one.faults]
    varied = {"max_concurrency", "num_prompts"}
    own = {"metadata", "save_result", "result_dir", "result_filename"}
    by_hand = [one.values for one in benches if "result_filename" in one.values]
    swept = [one.values for one in benches if "result_filename" not in one.values]
    assert len(by_hand) == 12  # three trials of four concurrencies
    assert [(row["max_concurrency"], row["num_prompts"]) for row in by_hand[:4]] == [
        (row["max_concurrency"], row["num_prompts"]) for row in loads()
    ]
    assert len({str(row["result_filename"]) for row in by_hand}) == 12
    redundant = {flag.option.dest for flag in module("bench_load").flags() if flag.redundant}
    for row in swept:
        for name, value in by_hand[0].items():
            if name not in varied | own | redundant:
                assert row[name] == value, name


def test_symptoms_are_grouped_whole_and_in_order(site: Path) -> None:
    cards = module("symptom_cards")
    shown = [row.name for _, rows in cards.grouped() for row in rows]
    assert shown == [row.name for row in SYMPTOMS]
    html = cards.cards()
    for row in SYMPTOMS:
        assert html.count(f'<h3 id="{row.name}">') == 1
    names = {rule.name for rule in RULES} | {rule.name for rule in MEMORY_RULES}
    assert {name for rules in cards.SAID.values() for name in rules} <= names
    assert set(cards.SAID) <= set(shown)


def test_dcp_multiplies_what_a_block_stands_for(site: Path) -> None:
    dcp = module("dcp")
    for gpu in dcp.GPUS:
        copied, dealt = dcp.pair(gpu)
        assert copied.blocks == dealt.blocks  # of the same memory
        assert dealt.block_tokens == 2 * copied.block_tokens
        assert dealt.tokens == dealt.product * 2
        assert copied.tokens == copied.product
    assert dcp.llama_widths == [1, 2]


def test_a_model_stands_on_the_first_rung_that_holds_it(site: Path) -> None:
    choosing = module("choosing")
    for name, gpu in choosing.MODELS:
        one = choosing.fit(name, gpu)
        assert one.capacity.pool.max_concurrency >= choosing.REQUESTS
        assert one.nodes == one.layout.pp  # a stage for each node
        lower = [Layout(tp=tp) for tp in (1, 2, 4, 8) if tp < one.layout.tp or one.nodes > 1]
        for layout in lower:
            deployment = replace(one.capacity.pool.cache.deployment, layout=layout)
            capacity = Verdict.of(deployment).capacity
            assert capacity is None or capacity.pool.max_concurrency < choosing.REQUESTS


@pytest.mark.parametrize("script, name", [("benchmark.sh", "prices"), ("dcp.sh", "dcp")])
def test_figures_are_of_the_load_that_is_sent(site: Path, script: str, name: str) -> None:
    figures = module(name)
    commands = find((SNIPPETS / script).read_text("utf-8"))
    sent = [Reading.of(one).values for one in commands if one.name == "bench serve"]
    sent = [row for row in sent if "result_filename" in row]
    assert [row["max_concurrency"] for row in sent[:4]] == list(figures.CONCURRENCY)
    assert {row["random_input_len"] for row in sent} == {figures.INPUT}
    assert {row["random_output_len"] for row in sent} == {figures.OUTPUT}


def test_launches_are_those_that_are_computed(site: Path) -> None:
    dcp = module("dcp")
    commands = find((SNIPPETS / "dcp.sh").read_text("utf-8"))
    copied, dealt, *_ = (Reading.of(one).values for one in commands if one.name == "serve")
    for given, launch in zip((copied, dealt), dcp.pair("h200"), strict=True):
        settings, layout = launch.deployment.settings, launch.deployment.layout
        assert given["max_model_len"] == settings.max_model_len
        assert given["gpu_memory_utilization"] == settings.gpu_memory_utilization
        assert given["enable_prefix_caching"] is settings.prefix_caching
        assert given["tensor_parallel_size"] == layout.tp
        assert given.get("decode_context_parallel_size", 1) == layout.dcp
