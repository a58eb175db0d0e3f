"""A quantity that the package can compute is never typed; what has to be typed gives a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.site.builder import ROOT, Builder
from tests.site.faults import PAGE, PageFault, check_page_fault, refused, replace
from typed import problems

REFUSED: Final = (
    ("Each rank holds 16.4 GiB of it.", "16.4 GiB"),
    ("It holds 1,368,448 tokens.", "1,368,448 tokens"),
    ("A pool of 1368448.", "1368448"),
    ("| tp8 | 40 KiB |", "40 KiB"),
    ("About 50% less.", "50%"),
    ("About 50 percent less.", "50 percent"),
    ("It takes 12.5 ms and more.", "12.5 ms"),
    ("It is 57× as much.", "57×"),
    ("Of 80 layers each stage has half.", "80 layers"),
    ("The 8 KV\nheads are split.", "8 KV heads"),
    ("- an 80-layer model", "80-layer"),
    ("900 GB/s over NVLink", "900 GB/s"),
    ("So **70 GB** then.", "70 GB"),
    ("[40 KiB](../index.md) a token", "40 KiB"),
    ("The KV of 3 tokens\n\n```text\n9 tokens\n```", "3 tokens"),
)
ACCEPTED: Final = (
    "`--max-model-len 8192` and `16.4 GiB`, ``1,368,448 tokens``",
    "{= tp8.weights :.1f =} GiB, {= tp8.tokens :, =} tokens",
    '"GPU KV cache size: 1,368,448 tokens" is printed',
    "> No available memory: 16.4 GiB needed.",
    "```text\n16.4 GiB\n```",
    "vLLM 0.32.0 of 2026-10-18, read in 2026 on port 8000",
    "Eight H100 80GB, 8 × H100, two pools, 2 × {= tp8.tokens =}",
    "[pull](https://github.com/vllm-project/vllm/pull/36686) #4126 and layer-80",
    '<svg viewBox="0 0 1024 768"></svg>',
    "<code>16 GiB</code> <!-- 16 GiB -->",
    "DeepSeek-R1, Llama-3.1-70B, Qwen3-235B-A22B, RTX 4090 24GB",
)


@pytest.mark.parametrize("markdown, text", REFUSED)
def test_typed_quantity_is_found(markdown: str, text: str) -> None:
    found = list(problems(markdown, ()))
    assert len(found) == 1, found
    assert found[0][1].startswith(f"{text!r} is typed")


@pytest.mark.parametrize("markdown", ACCEPTED)
def test_everything_else_is_left_alone(markdown: str) -> None:
    assert list(problems(markdown, ())) == []


def test_lines_are_those_of_the_page() -> None:
    page = "# A\n\n```text\n1 GiB\n```\n\nOne.\nTwo 2 GiB.\n"
    assert [line for line, _ in problems(page, ())] == [8]


def test_a_named_quantity_is_accepted_once_it_occurs() -> None:
    assert list(problems("Load: 256\ntokens each, 1256 tokens", ("256 tokens",))) == [
        (2, "'1256 tokens' is typed: {= a figure =}, or code, or name it under typed: in front")
    ]
    assert list(problems("Nothing.", ("256 tokens",))) == [
        (1, "typed: names '256 tokens', which does not occur")
    ]


@pytest.mark.site
def test_typed_quantity_fails_the_build(mini: Path, builder: Builder) -> None:
    fault = PageFault(name="typed", markdown="It holds 16 GiB.", says="'16 GiB' is typed")
    check_page_fault(fault, mini, builder)


@pytest.mark.site
def test_quantity_without_a_reason_fails_the_build(mini: Path, builder: Builder) -> None:
    edit = replace(f"docs/{PAGE}", "---\ntitle", '---\ntyped:\n  16 GiB: ""\ntitle')
    edit(mini)
    built = builder.build(mini, mini.with_name("site"))
    refused(built, 1, f"{PAGE}:", "typed: '16 GiB' needs a reason, in words")


def test_no_page_hides_a_figure_in_a_code_span() -> None:
    """Between backticks the braces stay as typed, and a reader sees them."""
    span = re.compile(r"(`+)(?P<code>[^\n]*?)\1")
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert pages
    spans = [(page.name, found["code"]) for page in pages for found in span.finditer(_text(page))]
    assert not [(page, code) for page, code in spans if "{=" in code]


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")
