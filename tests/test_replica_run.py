"""The run that lies in `results/`: what carries over from two CPU cores to GPUs."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

import replica
import replica_tables as tables
from vllm_parallel.runs import Check

# Per token and layer K and V of 4 heads of 64 bf16 numbers; 10 layers; 128 tokens a block.
BLOCK_BYTES: Final = 2 * 4 * 64 * 2 * 10 * 128
BUDGET: Final = 2**30
PLAIN: Final = {  # layout: blocks of a rank, from the bytes of half the heads or half the layers
    "tp1": BUDGET // BLOCK_BYTES,
    "tp2": BUDGET // (BLOCK_BYTES // 2),
    "pp2": BUDGET // (BLOCK_BYTES // 2),
    "dp2": BUDGET // BLOCK_BYTES,
    "tp1-starved": 20,
}
FIRST: Final = "CPU times say nothing about GPUs"


def test_run_is_whole_and_sealed() -> None:
    assert Check.of(replica.FOLDER).findings == ()
    assert len(replica.result_names()) == len(PLAIN) * 4 * 5


@pytest.mark.parametrize("name", PLAIN)
def test_every_printed_pool_is_the_computed_one(name: str) -> None:
    layout = replica.named(name)
    found = [one for one in replica.printed() if one.layout == layout]
    engines = 2 if name == "dp2" else 1
    assert len(found) == engines * len(layout.starts)
    assert replica.pool(layout).num_blocks == PLAIN[name]
    for one in found:
        assert one.is_equal
        assert one.engine.kv_tokens == PLAIN[name] * 128 == replica.pool(layout).tokens


def test_a_pool_that_differs_by_a_token_is_told() -> None:
    one = replica.printed()[0]
    other = replace(one, engine=replace(one.engine, kv_tokens=one.engine.kv_tokens + 1))
    assert one.is_equal
    assert not other.is_equal


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("KV cache size: … tokens", (1, 1, 1, 2, 1)),  # an engine
        ("Explicitly set (…) GiB for KV cache", (1, 2, 2, 2, 1)),  # a worker
        ("Initializing model took", (1, 1, 1, 2, 1)),  # the first worker of an engine
        ("Available KV cache memory", (0, 0, 0, 0, 0)),
        ("Model loading took", (0, 0, 0, 0, 0)),
        ("Overriding num_gpu_blocks", (0, 0, 0, 0, 1)),
        ("disabling stats logging", (0, 0, 0, 2, 0)),  # an API server
        ("Preemptions: …", (0, 0, 0, 0, 0)),
    ],
)
def test_lines_are_printed_as_often_in_every_start(line: str, times: tuple[int, ...]) -> None:
    for layout, wanted in zip(replica.layouts(), times, strict=True):
        for start in layout.starts:
            assert replica.said(layout, start)[line].times == wanted, (layout.name, start)


def test_statistics_are_printed_unless_there_are_several_api_servers() -> None:
    for layout in replica.layouts():
        for start in layout.starts:
            found = replica.said(layout, start)["Running: … reqs"].times
            assert (found == 0) == (layout.name == "dp2")


def test_only_the_starved_server_preempts_and_only_at_the_highest_concurrency() -> None:
    pressure = replica.pressure()
    assert {name: number == 0 for name, number in pressure.layouts.items()} == {
        name: name != replica.STARVED for name in PLAIN
    }
    cells = [pressure.cells[replica.STARVED, width] for width in replica.run().load.concurrencies]
    assert cells == [0, 0, 0, pressure.layouts[replica.STARVED]]


def test_results_hold_the_fields_of_vllm_in_its_order() -> None:
    fields = tables.fields()
    head = ("date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts")
    assert fields[:10] == (*head, "layout", "gpus", "began")
    assert {"latencies", "queue_times"} <= set(fields)
    assert "ttfts" not in fields


def test_results_are_as_json_dump_writes_them() -> None:
    for name in replica.result_names():
        text = (replica.FOLDER / name).read_text("utf-8")
        assert text == json.dumps(json.loads(text)), name


def test_every_layout_was_asked_the_same() -> None:
    for width in replica.run().load.concurrencies:
        found = set()
        for name in replica.result_names():
            row = json.loads((replica.FOLDER / name).read_text("utf-8"))
            if row["max_concurrency"] == width:
                found.add((row["total_input_tokens"], row["total_output_tokens"], row["failed"]))
        assert len(found) == 1


def test_starts_are_apart_and_take_turns() -> None:
    starts = [
        (start.began, layout.name)
        for layout in replica.layouts()
        for start in layout.starts
        if start.began is not None
    ]
    names = [name for _, name in sorted(starts)]
    assert len(names) == len(PLAIN) * 5
    assert all(first != second for first, second in pairwise(names))
    for trial in range(5):
        assert set(names[trial * 5 : trial * 5 + 5]) == set(PLAIN)


def test_hypotheses_have_a_verdict_each() -> None:
    page = tables.hypotheses()
    assert page.count("<td>confirmed</td>") + page.count("<td>inconclusive</td>") + page.count(
        "<td>rejected</td>"
    ) == len(list(tables._hypotheses()))


def test_first_line_says_what_the_times_are_worth() -> None:
    text = Path("docs/results/replica.md").read_text("utf-8").partition("\n# ")[2]
    assert text.partition("\n\n")[2].startswith(FIRST)
    assert replica.run().note.startswith(FIRST)
