"""What a reader does: search with what the terminal showed, copy a command, print."""

from __future__ import annotations

import json
from typing import Final

import pytest
from playwright.sync_api import Page

from scripts.chromium import SITE
from tests.browser.look import OPEN
from vllm_parallel import Deployment, Layout, Settings, Verdict, load_model

pytestmark = [pytest.mark.site, pytest.mark.browser]

FIRST: Final = 3  # pages that a reader looks through
HITS: Final = """all => all.map(one =>
  [...one.querySelectorAll("a")].map(link => link.pathname + link.hash))"""


def hits(page: Page, host: str, query: str) -> list[list[str]]:
    """What the search of the site finds: of each page, best first, the addresses of its hits."""
    page.goto(f"{host}/", wait_until="load")
    page.click(".md-search__input")
    page.fill(".md-search__input", query)
    page.keyboard.press("End")  # the theme listens to keys
    page.wait_for_selector(".md-search-result__item a", state="attached", timeout=60_000)
    found: list[list[str]] = page.eval_on_selector_all(".md-search-result__item", HITS)
    return found


def refusal(layout: Layout) -> str:
    """A message of vLLM with its numbers, as a terminal shows it."""
    model = load_model("llama-3.1-70b")
    settings = Settings(max_model_len=8192)
    deployment = Deployment(model=model, layout=layout, settings=settings)
    found = Verdict.of(deployment).refusal
    assert found is not None
    return found.message


SEARCHES: Final = (
    ("--decode-context-parallel-size", "/reference/flags/#serve-decode-context-parallel-size"),
    ("--max-num-batched-tokens", "/reference/flags/#serve-max-num-batched-tokens"),
    ("--tensor-parallel-size 8", "/reference/flags/#serve-tensor-parallel-size"),
    ("-dcp", "/reference/flags/"),
    (
        f"ValueError: {refusal(Layout(tp=8, dcp=2))}",
        "/reference/constraints/#dcp-needs-tp-above-kv-heads",
    ),
    (f"ValueError: {refusal(Layout(tp=3))}", "/reference/constraints/#heads-divide-by-tp"),
    ("vllm:num_preemptions_total", "/reference/metrics/#metric-num-preemptions-total"),
    (
        'vllm:kv_cache_usage_perc{engine="0"} 0.5',
        "/reference/metrics/#metric-kv-cache-usage-perc",
    ),
    (
        "(EngineCore pid=7) INFO [kv_cache_utils.py:1301] GPU KV cache size: 1,350,832 tokens",
        "/reference/log-lines/",
    ),
    ("Available KV cache memory: 52.21 GiB", "/reference/log-lines/"),
    ("pipeline", "/parallelism/pipeline/"),
    ("tensor parallel", "/parallelism/tensor/"),
    ("tp2 pp4", "/reference/groups/#tp2-pp4"),
    ("tp4-pp2-dp2", "/reference/groups/#tp4-pp2-dp2"),
    ("replica", "/reference/glossary/#replica"),
)
WORDS: Final = ("GiB", "memory", "tokens", "blocks", "H100", "fp8", "2", "NCCL", "preemption", "a")


@pytest.mark.parametrize("query, target", SEARCHES, ids=[query[:40] for query, _ in SEARCHES])
def test_search_finds(query: str, target: str, page: Page, host: str) -> None:
    found = [link for hit in hits(page, host, query)[:FIRST] for link in hit]
    assert target in found, found


def test_search_fails_at_no_word(page: Page, host: str) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for word in WORDS:
        hits(page, host, word)
    assert not said, said


BUTTON: Final = '<button data-clipboard-target="#planted > code"></button>'
CONSOLE: Final = f"""
<div class="highlight"><pre id="planted"><span></span>{BUTTON}<code>
<span class="gp">$ </span>vllm<span class="w"> </span>serve<span class="w"> </span>m
<span class="go">INFO ready</span>
<span class="gp">$ </span>vllm<span class="w"> </span>bench
</code></pre></div>
"""


def copied(page: Page, button: str) -> str:
    page.eval_on_selector(button, "one => one.click()")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_only_the_commands_of_a_console_are_copied(page: Page, host: str) -> None:
    page.goto(f"{host}/", wait_until="load")
    page.eval_on_selector(
        ".md-content__inner", "(one, html) => one.insertAdjacentHTML('beforeend', html)", CONSOLE
    )
    assert copied(page, "#planted button") == "vllm serve m\nvllm bench"


def test_no_prompt_and_no_output_is_copied(address: str, page: Page, host: str) -> None:
    page.goto(f"{host}/{address}", wait_until="load")
    page.evaluate(OPEN)
    buttons = page.locator(".highlight:has(.gp) [data-clipboard-target]")
    for at in range(buttons.count()):
        buttons.nth(at).evaluate("one => one.click()")
        lines = page.evaluate("navigator.clipboard.readText()").splitlines()
        assert lines, address
        assert not [line for line in lines if line.startswith(("$", ">>>", "INFO"))], address


def test_a_command_is_copied_whole(page: Page, host: str) -> None:
    page.goto(f"{host}/", wait_until="load")
    page.wait_for_selector(".highlight [data-clipboard-target]", state="attached")
    text = copied(page, ".highlight [data-clipboard-target]")
    code = page.eval_on_selector(".highlight code", "one => one.textContent")
    assert text.strip() == code.strip()


def test_paper_shows_every_tab_under_its_name(page: Page, host: str) -> None:
    page.goto(f"{host}/guide/launch/", wait_until="load")
    page.emulate_media(media="print")
    names = [label.text_content() for label in page.query_selector_all(".tabbed-labels label")]
    assert len(names) > 4
    shown = [
        (block.is_visible(), block.evaluate("one => getComputedStyle(one, '::before').content"))
        for block in page.query_selector_all(".tabbed-block")
    ]
    assert shown == [(True, json.dumps((name or "").strip())) for name in names]
    assert not page.is_visible(".tabbed-labels")


def test_paper_shows_folded_answers_and_no_frame(page: Page, host: str) -> None:
    folded = next(path for path in sorted(SITE.rglob("*.html")) if "<details" in path.read_text())
    page.goto(f"{host}/{folded.relative_to(SITE).as_posix()}", wait_until="load")
    page.emulate_media(media="print")
    for shown in page.query_selector_all(".md-content details > :not(summary)"):
        assert shown.bounding_box(), folded
    for frame in (".md-header", ".md-sidebar", ".md-footer"):
        assert not page.is_visible(frame), frame
