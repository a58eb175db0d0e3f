"""Reference pages show every item of the code's own lists, each under an anchor that stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

import claims
import glossary
import group_tables
import modules
import vllm_parallel
from tests.site.builder import ROOT
from vllm_parallel import RULES, Layout, gpu_names, model_names
from vllm_parallel.engine.bench_results.written import SECTIONS
from vllm_parallel.engine.log.lines import LINES
from vllm_parallel.engine.metrics.registered import metrics
from vllm_parallel.engine.options import commands, options
from vllm_parallel.render import log_lines as log_page
from vllm_parallel.render import metrics as metrics_page
from vllm_parallel.render.flags import ident
from vllm_parallel.verdict import MEMORY_RULES

ID: Final = re.compile(r'\sid="([^"]+)"')
SOURCE: Final = ROOT / "src" / "vllm_parallel"
# A page, and the anchors it has to have. A new list of the code gets a line here.
LISTS: Final[dict[str, Callable[[], Iterable[str]]]] = {
    "reference/constraints": lambda: [
        *(rule.name for rule in RULES),
        *(rule.name for rule in MEMORY_RULES),
    ],
    "reference/groups": lambda: map(group_tables.ident, group_tables.grid()),
    "reference/models": model_names,
    "reference/hardware": gpu_names,
    "reference/flags": lambda: [
        ident(name, option) for name in commands() for option in options(name).values()
    ],
    "reference/metrics": lambda: [metrics_page.anchor(one) for one in metrics().values()],
    "reference/log-lines": lambda: map(log_page.anchor, LINES),
    "reference/bench-json": lambda: [field.anchor for _, fields in SECTIONS for field in fields],
    "reference/glossary": lambda: [word.ident for word in glossary.words()],
    "reference/api": lambda: [
        *(f"vllm_parallel.{name}" for name in vllm_parallel.__all__ if name != "RULES"),
        *map(modules.ident, modules.modules()),
    ],
    "verification/claims": lambda: [row["name"] for row in claims.claims()],
}


@pytest.mark.site
@pytest.mark.parametrize("page", LISTS)
def test_every_item_has_an_anchor(page: str, real_site: Path) -> None:
    anchors = ID.findall((real_site / page / "index.html").read_text("utf-8"))
    wanted = list(LISTS[page]())
    assert len(set(wanted)) == len(wanted) > 4
    assert [name for name in wanted if name not in anchors] == []


def test_every_page_of_the_reference_is_walked() -> None:
    """A page that nobody walks could lose rows."""
    pages = {f"reference/{path.stem}" for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert pages - set(LISTS) == set(), "give the page a line in LISTS"


def test_every_module_is_listed() -> None:
    """But for those without a name of their own."""
    found = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in SOURCE.rglob("*.py")
    }
    assert set(modules.modules()) == found - {"__init__", "__main__"}


def test_words_are_told_once_and_link_to_each_other() -> None:
    words = glossary.words()
    terms = [word.term.lower() for word in words]
    assert len(set(terms)) == len(terms)
    others = [other.lower() for word in words for other in word.others]
    assert len({*terms, *others}) == len(terms) + len(others)
    assert glossary.entries().count('class="entry"') == len(words)
    assert all(word.says.endswith(".") and word.page for word in words)


def test_words_of_the_project_are_in_the_glossary() -> None:
    """Those that pages and code are written in."""
    wanted = (
        "rank, group, width, axis, stage, replica, engine, pool, shard, ledger, budget, KV cache, "
        "block, replication, interleave, step, prefill, decode, TTFT, TPOT, ITL, concurrency, "
        "preemption"
    )
    terms = {word.term for word in glossary.words()}
    assert set(wanted.split(", ")) <= terms


def test_a_link_to_no_word_is_refused() -> None:
    with pytest.raises(ValueError, match="which it does not have"):
        glossary.inline("A {word that is missing}.")


def test_the_grid_of_groups() -> None:
    """Every product of powers of two up to 16 ranks, with every dcp that it admits, once."""
    layouts = list(group_tables.grid())
    assert len(set(layouts)) == len(layouts)
    found: set[Layout] = set()
    for tp in (1, 2, 4, 8, 16):
        for pp in (1, 2, 4, 8, 16):
            for dp in (1, 2, 4, 8, 16):
                for pcp in (1, 2, 4, 8, 16):
                    for dcp in (1, 2, 4, 8, 16):
                        allowed = tp % dcp == 0 if pcp == 1 else dcp in (1, pcp, tp * pcp)
                        if 2 <= tp * pp * dp * pcp <= 16 and allowed:
                            found.add(Layout(tp=tp, pp=pp, dp=dp, pcp=pcp, dcp=dcp))
    assert set(layouts) == found
    folder = Path(ROOT, "docs", "reference", "groups.md").read_text("utf-8")
    assert all(f"cards({width})" in folder for width in {one.ranks for one in layouts})
