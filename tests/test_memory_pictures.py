"""Memory bars and pools: to scale, whole, said in words, drawn alike every time."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

import pytest

from vllm_parallel import (
    Budget,
    Cluster,
    Deployment,
    Layout,
    Settings,
    Verdict,
    load_gpu,
    load_model,
)
from vllm_parallel.ledger import budgets_on
from vllm_parallel.render.memory import PARTS, MemoryBar, memory_bars
from vllm_parallel.render.pools import Pools, pools
from vllm_parallel.term import Span
from vllm_parallel.units import GIB

GPU: Final = load_gpu("h100-80gb")
LAYOUTS: Final = (Layout(tp=8), Layout(tp=4, pp=2), Layout(tp=4, dp=2))


def deployed(layout: Layout) -> Deployment:
    return Deployment(
        model=load_model("llama-3.1-70b"),
        layout=layout,
        settings=Settings(max_model_len=8192),
        cluster=Cluster(gpu=GPU, gpus_per_node=8),
    )


def bar_of(budget: Budget) -> MemoryBar:
    return MemoryBar.of(budget, GPU, "a <rank>")


def parsed(text: str) -> ET.Element:
    """The picture; its title and desc are what names it, and nothing leaves its sides."""
    root = ET.fromstring(text)
    names = (root.get("aria-labelledby") or "").split()
    assert [part.tag for name in names for part in root.iterfind(f"*[@id='{name}']")] == [
        "title",
        "desc",
    ]
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    for box in root.iter("rect"):
        assert float(box.get("width") or -1) >= 0
        assert float(box.get("x") or -1) + float(box.get("width") or 0) <= width
        assert float(box.get("y") or -1) + float(box.get("height") or 0) <= height
    return root


def boxes(root: ET.Element, height: int) -> list[float]:
    found = [box for box in root.iter("rect") if box.get("height") == str(height)]
    return [float(box.get("width") or 0) for box in found]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_parts_add_up_to_the_gpu(layout: Layout) -> None:
    """What a bar shows is the ledger: the same bytes, in another grouping."""
    for budget in budgets_on(deployed(layout), GPU):
        weights, overhead, cache, beyond = bar_of(budget).parts
        assert weights + overhead + cache + beyond == GPU.runtime_memory_bytes
        assert cache == budget.available_kv_bytes
        assert weights + overhead == budget.ledger.used_bytes
        assert beyond == GPU.runtime_memory_bytes - budget.requested_bytes


def test_bars_are_to_scale() -> None:
    bars = [bar_of(budget) for layout in LAYOUTS for budget in budgets_on(deployed(layout), GPU)]
    root = parsed(memory_bars(bars, "bars", "Bars"))
    lengths = boxes(root, 34)
    assert len(lengths) == len(PARTS) * len(bars)
    for number, bar in enumerate(bars):
        drawn = lengths[4 * number : 4 * number + 4]
        scale = lengths[0] / bars[0].weights
        assert drawn == pytest.approx([part * scale for part in bar.parts], abs=0.3)
    letters = [text.text for text in root.iter("text") if text.get("class") == "rp-seat"]
    assert "".join(letter or "" for letter in letters) == "WOKB" * len(bars)


def test_a_model_too_large_leaves_no_cache() -> None:
    """Longer than its budget, then longer than its GPU: nothing is negative."""
    for weights, end in ((71, 80), (90, 93)):
        span = Span(least=0, likely=3 * GIB, most=9 * GIB)
        bar = MemoryBar(
            label="full", weights=weights * GIB, overhead=span, budget=72 * GIB, total=80 * GIB
        )
        assert bar.parts[2] == 0
        assert sum(bar.parts) == end * GIB
        parsed(memory_bars([bar], "full", "Full"))


def test_every_amount_is_said() -> None:
    span = Span(least=GIB, likely=2 * GIB, most=4 * GIB)
    bar = MemoryBar(label="tp2", weights=20 * GIB, overhead=span, budget=72 * GIB, total=80 * GIB)
    assert bar.in_words() == (
        "tp2: weights and buffers 20.0, overhead 2.0, KV cache 50.0, "
        "beyond the budget 8.0 GiB; overhead 1.0–4.0."
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_rank_keeps_one_pool(layout: Layout) -> None:
    deployment = deployed(layout)
    capacity = Verdict.of(deployment).capacity
    assert capacity is not None
    found = Pools.of(deployment, capacity)
    assert [rank for keeper in found.keepers for rank in keeper] == list(range(layout.ranks))
    assert len(found.keepers) * found.tokens == capacity.tokens


def test_pools_are_as_wide_as_their_tokens() -> None:
    rows = [
        Pools(label="one <wide>", tokens=1000, keepers=((0, 1, 2, 3),)),
        Pools(label="two", tokens=300, keepers=((0, 1), (2, 3))),
        Pools(label="four", tokens=100, keepers=((0,), (1,), (2,), (3,))),
    ]
    lengths = boxes(parsed(pools(rows, "pools", "Pools")), 40)
    assert [length / lengths[0] * 1000 for length in lengths] == pytest.approx(
        [1000, 300, 300, 100, 100, 100, 100], rel=0.01
    )


def test_drawn_alike_every_time() -> None:
    """Escaped, without a style of their own, and no id but title and desc."""
    span = Span.exactly(GIB)
    bar = MemoryBar(label="<b>", weights=GIB, overhead=span, budget=3 * GIB, total=4 * GIB)
    row = Pools(label="<b>", tokens=1, keepers=((0,),))
    for text in (memory_bars([bar], "x", "X"), pools([row], "x", "X")):
        assert "&lt;b&gt;" in text
        assert "style=" not in text
        assert text.count(" id=") == 2
    assert pools([row], "x", "X") == pools([row], "x", "X")
    assert memory_bars([bar], "x", "X") == memory_bars([bar], "x", "X")
