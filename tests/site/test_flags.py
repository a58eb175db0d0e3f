"""The reference of flags shows every option of the table, each under an anchor of its own."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.engine.options import commands, options
from vllm_parallel.render.flags import ident

pytestmark = pytest.mark.site

CARD: Final = re.compile(r'<div class="option"><h4 id="([^"]+)">(.*?)</div>', re.DOTALL)
CODE: Final = re.compile(r"<code>(.*?)</code>", re.DOTALL)


def test_every_option_is_shown(real_site: Path) -> None:
    page = (real_site / "reference/flags/index.html").read_text("utf-8")
    cards = {
        anchor: {unescape(text) for text in CODE.findall(body)}
        for anchor, body in CARD.findall(page)
    }
    expected = {ident(name, one): one for name in commands() for one in options(name).values()}
    assert cards.keys() == expected.keys()
    for anchor, option in expected.items():
        assert cards[anchor] >= {*option.names, *option.choices, *option.keys}, anchor
        assert f'href="#{anchor}"' in page


def test_search_finds_an_option(real_site: Path) -> None:
    """Each is a section of its own in the index, so a hit leads to its card."""
    index = (real_site / "search" / "search_index.json").read_text(encoding="utf-8")
    for anchor in ("serve-tensor-parallel-size", "bench-serve-ignore-eos", "serve-eplb-config"):
        assert f'"reference/flags/#{anchor}"' in index
