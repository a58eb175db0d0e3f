"""Diagrams of the ways to split: as recorded, true to the kernel, legible on a phone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from vllm_parallel import Deployment, Layout, load_model
from vllm_parallel.collectives.batch import EngineBatch, pcp_tokens
from vllm_parallel.render.chunks import ChunkPairs, chunk_diagram
from vllm_parallel.render.dealt_experts import DealtExperts, expert_diagram
from vllm_parallel.render.heads import HeadSplit, head_diagram
from vllm_parallel.render.interleave import Dealing
from vllm_parallel.render.interleave import diagram as interleave_diagram
from vllm_parallel.render.stages import Stages, stage_diagram

GOLDEN: Final = Path(__file__).with_name("fixtures") / "figures"
QWEN: Final = Deployment(
    model=load_model("qwen3-235b-a22b", as_bf16=True), layout=Layout(tp=4, pp=4)
)
ODD: Final = Deployment(model=load_model("deepseek-r1"), layout=Layout(tp=8, pp=4))
PICTURES: Final[dict[str, Callable[[str], str]]] = {
    "chunks": lambda ident: chunk_diagram(ChunkPairs(tokens=30, pcp=4), ident),
    "short-prompt": lambda ident: chunk_diagram(ChunkPairs(tokens=5, pcp=4), ident),
    "experts": lambda ident: expert_diagram(DealtExperts(count=128, width=12), ident),
    "robin": lambda ident: expert_diagram(DealtExperts(count=10, width=4, round_robin=True), ident),
    "more-ranks-than-experts": lambda ident: expert_diagram(DealtExperts(count=3, width=5), ident),
    "many-experts": lambda ident: expert_diagram(DealtExperts(count=256, width=3), ident),
    "stages": lambda ident: stage_diagram(Stages.of(QWEN), ident),
    "odd-stages": lambda ident: stage_diagram(Stages.of(ODD), ident),
    "heads": lambda ident: head_diagram(HeadSplit(heads=64, kv_heads=4, tp=8), ident),
    "dealt-heads": lambda ident: head_diagram(HeadSplit(heads=64, kv_heads=4, tp=8, dcp=2), ident),
    "latent": lambda ident: head_diagram(HeadSplit(heads=128, kv_heads=1, tp=8, dcp=8), ident),
    "interleave": lambda ident: interleave_diagram(Dealing(ranks=2, tokens=8, run=4), ident),
    "several-heads": lambda ident: head_diagram(HeadSplit(heads=64, kv_heads=8, tp=2), ident),
}
EMS: Final = 0.56  # of a sans-serif's letters and digits, on average
SIZES: Final = {
    "rp-label": 12, "rp-name": 13, "rp-axis": 13, "rp-seat": 13, "rp-note": 11, "rp-rank": 15,
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_as_recorded(name: str) -> None:
    """To record anew, delete the file and run once."""
    path = GOLDEN / f"{name}.svg"
    picture = PICTURES[name](name)
    if not path.exists():
        path.write_text(picture + "\n", encoding="utf-8")
        pytest.fail(f"{path.name} was not recorded; it is now")
    assert picture + "\n" == path.read_text("utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_said_in_words_and_within_its_frame(name: str) -> None:
    root = ET.fromstring(PICTURES[name]("one"))
    assert (root[0].tag, root[1].tag) == ("title", "desc")
    assert root.attrib["aria-labelledby"] == "one-t one-d"
    assert len([part for part in root.iter() if "id" in part.attrib]) == 2
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width <= 364
    for part in root.iter("rect"):
        left, top = float(part.attrib["x"]), float(part.attrib["y"])
        assert left >= 0
        assert left + float(part.attrib["width"]) <= width + 0.2
        assert 0 <= top <= top + float(part.attrib["height"]) <= height
    for part in root.iter("text"):
        kind, at = part.attrib["class"], float(part.attrib["x"])
        length = SIZES[kind] * EMS * len(part.text or "")
        start = {"rp-label": at, "rp-name": at, "rp-axis": at - length}.get(kind, at - length / 2)
        assert start >= -1, part.text
        assert start + length <= width + 1, part.text
        assert float(part.attrib["y"]) < height


@pytest.mark.parametrize("name", PICTURES)
def test_a_letter_stands_beside_every_colour(name: str) -> None:
    """A coloured cell that is wide enough has a text in it: colour alone says nothing."""
    root = ET.fromstring(PICTURES[name]("one"))
    texts = [(float(t.attrib["x"]), float(t.attrib["y"]), t) for t in root.iter("text")]
    for cell in root.iter("rect"):
        wide, high = float(cell.attrib["width"]), float(cell.attrib["height"])
        if " rp-g" in cell.attrib["class"] and wide >= 18:
            left, top = float(cell.attrib["x"]), float(cell.attrib["y"])
            inside = [t for x, y, t in texts if left < x < left + wide and top < y < top + high + 3]
            assert len(inside) == 1
            assert SIZES[inside[0].attrib["class"]] * EMS * len(inside[0].text or "") <= wide


def test_chunks_cover_a_prompt_once() -> None:
    for tokens in (1, 5, 7, 30, 64, 1003):
        for pcp in (1, 2, 3, 4, 8):
            pairs = ChunkPairs(tokens=tokens, pcp=pcp)
            owners = Counter(
                token for rank in range(pcp) for chunk in pairs.pair(rank) for token in chunk
            )
            assert owners == Counter(range(tokens)), (tokens, pcp)
            assert sum(pairs.scores(rank) for rank in range(pcp)) == tokens * (tokens + 1) // 2
            if pcp > 1:
                step = EngineBatch(prefill=((tokens, 0),))
                own = [pcp_tokens(step, Layout(pcp=pcp), rank)[0] for rank in range(pcp)]
                assert own == [pairs.own(rank) for rank in range(pcp)]


def test_attention_is_even_where_chunks_are() -> None:
    even = ChunkPairs(tokens=64, pcp=4)
    assert {even.scores(rank) for rank in range(4)} == {64 * 65 // 2 // 4}
    assert even.share(3) == 0.25
    assert ChunkPairs(tokens=64, pcp=4).last_run > 0.43


def test_dcp_removes_the_copies_of_a_token() -> None:
    latent = HeadSplit(heads=128, kv_heads=1, tp=8)
    assert (latent.copies, latent.copies_of_token, latent.tokens(3)) == (8, 8, "all")
    dealt = HeadSplit(heads=128, kv_heads=1, tp=8, dcp=8)
    assert (dealt.copies, dealt.copies_of_token, dealt.tokens(3)) == (8, 1, "3, 11…")


def test_stages_hold_the_model_once() -> None:
    stages = Stages.of(QWEN)
    assert [len(bar.layers) for bar in stages.bars] == [23, 24, 24, 23]
    assert [bar.ends for bar in stages.bars] == [("embedding", "head")] * 4
    dense = Stages.of(ODD)
    assert [bar.ends for bar in dense.bars] == [("embedding",), (), (), ("head",)]
    assert stages.name == "qwen3-235b-a22b, tp4 pp4"
