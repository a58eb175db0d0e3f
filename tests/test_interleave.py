"""Tokens over DCP ranks, against a deal of one token at a time; and the pictures of it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from vllm_parallel.kv.interleave import Interleave
from vllm_parallel.render.interleave import Dealing, diagram


@pytest.mark.parametrize("width", [1, 2, 3, 8])
@pytest.mark.parametrize("run", [1, 2, 16])
def test_every_token_has_one_holder(width: int, run: int) -> None:
    deal = Interleave(width=width, run=run)
    order = [rank for rank in range(width) for _ in range(run)]
    for length in (0, 1, 7, 16, 33, 100):
        held = [[order[n % len(order)] for n in range(length)].count(rank) for rank in range(width)]
        assert [deal.holder(n) for n in range(length)] == [
            order[n % len(order)] for n in range(length)
        ]
        assert [deal.tokens_on(rank, length) for rank in range(width)] == held
        assert sum(held) == length


def test_the_picture_says_what_it_shows() -> None:
    root = ET.fromstring(diagram(Dealing(ranks=2, tokens=8, run=4), "deal"))
    texts = [part.text for part in root.iter("text")]
    assert "dcp 1: every token on every rank" in texts
    assert "dcp 2, interleave 4: every token once" in texts
    assert [text for text in texts if text and text.isdigit()] == list("01234567") * 2
    cells = [text for text in texts if text and text[0] in "AB"]
    assert cells == "A0 A2 A4 A6 B1 B3 B5 B7 A0 A1 A2 A3 B4 B5 B6 B7".split()
    assert len([part for part in root.iter("rect") if part.get("class") == "rp-free"]) == 16
    desc = next(root.iter("desc")).text
    assert desc is not None
    assert "interleave 1: rank 0 holds 0, 2, 4, 6; rank 1 holds 1, 3, 5, 7." in desc
    assert "interleave 4: rank 0 holds 0, 1, 2, 3; rank 1 holds 4, 5, 6, 7." in desc
    assert diagram(Dealing(ranks=2, tokens=8), "one") == diagram(Dealing(ranks=2, tokens=8), "one")
