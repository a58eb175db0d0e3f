"""The planner while answers are on their way: the last question is the one that is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Page, Route

from tests.browser.look import watch
from tests.browser.planner_page import ENGINE
from vllm_parallel.planned.answering import batch

pytestmark = [pytest.mark.site, pytest.mark.browser]

SLOW, FAST = "llama-3.1-8b", "qwen3-32b"
LINES: Final = [f'{{"id": {number}, "model": "llama-3.1-8b", "ask": []}}' for number in range(4)]
FAILED: Final = (
    "The package failed on this question, a fault of its own: report it with this page's address."
)
# Asked in one go, before the first is answered.
QUEUE: Final = f"""async lines => {{ {ENGINE}
  const asked = lines.map(line => engine.ask("batch", line))
  const ends = await Promise.allSettled(asked)
  return ends.map(end => end.value ?? end.reason.message)
}}"""
# The worker is ended under a question, and the next has been asked already.
ENDED: Final = f"""async ([first, second]) => {{ {ENGINE}
  await engine.begin()
  const sent = engine.send({{ ask: "batch", text: first }}, 60_000, "late").catch(e => e.message)
  const next = engine.ask("batch", second)
  engine.end("ended")
  return [await sent, await next.catch(e => e.message), await engine.ask("batch", second)]
}}"""
BROKEN: Final = f"""async line => {{ {ENGINE}
  const why = await engine.ask("nothing of this name", line).catch(error => error.message)
  return [why, engine.begun, await engine.ask("batch", line)]
}}"""


def stopped(page: Page, model: str) -> list[Route]:
    """Where requests for the figures of a model wait from here on."""
    routes: list[Route] = []

    def stop(route: Route) -> None:
        routes.append(route)

    page.route(f"**/models/{model}.json", stop)
    return routes


def held(page: Page, model: str) -> Callable[[], None]:
    """Keep the figures of a model on their way until what comes back is called."""
    routes = stopped(page, model)

    def let_go() -> None:
        assert routes, f"nobody has asked for {model}"
        for route in routes:
            route.continue_()

    return let_go


def picked(page: Page) -> str:
    """The model of the address, once an answer stands there."""
    page.wait_for_function("!document.getElementById('planner-answer').inert")
    return page.url.partition("model=")[2].partition("&")[0]


def test_an_older_answer_does_not_replace_a_newer_one(planner: Page, host: str) -> None:
    watched = watch(planner, host)
    let_go = held(planner, SLOW)
    with planner.expect_request(f"**/models/{SLOW}.json"):
        planner.select_option("#planner-model", SLOW)
    assert planner.evaluate("document.getElementById('planner-answer').inert")
    planner.select_option("#planner-model", FAST)
    planner.wait_for_selector(f".command :text('{FAST}')")
    before = planner.inner_html("#planner-answer"), planner.inner_text("#planner-said"), planner.url
    with planner.expect_response(f"**/models/{SLOW}.json"):
        let_go()
    # Its figures have arrived; asked again they are there at once.
    planner.evaluate("() => new Promise(done => setTimeout(done, 300))")
    after = planner.inner_html("#planner-answer"), planner.inner_text("#planner-said"), planner.url
    assert after == before
    assert picked(planner) == FAST
    planner.select_option("#planner-model", SLOW)
    planner.wait_for_selector(".command :text('Llama-3.1-8B')")
    assert picked(planner) == SLOW
    assert not watched.errors


def test_an_older_fault_does_not_replace_a_newer_answer(planner: Page) -> None:
    routes = stopped(planner, SLOW)
    with planner.expect_request(f"**/models/{SLOW}.json"):
        planner.select_option("#planner-model", SLOW)
    planner.select_option("#planner-model", FAST)
    planner.wait_for_selector(f".command :text('{FAST}')")
    with planner.expect_event("requestfailed"):
        routes[0].abort()
    planner.evaluate("() => new Promise(done => setTimeout(done, 300))")
    assert planner.inner_text("#planner-said").startswith("vLLM starts")
    assert planner.locator(".ranking").count() == 1


def test_a_refused_paste_ends_the_question_before_it(planner: Page) -> None:
    let_go = held(planner, SLOW)
    with planner.expect_request(f"**/models/{SLOW}.json"):
        planner.select_option("#planner-model", SLOW)
    planner.set_input_files(
        "[name=file]",
        files={"name": "config.json", "mimeType": "application/json", "buffer": b" " * 5_000_000},
    )
    planner.wait_for_function(
        "document.getElementById('planner-said').textContent.startsWith('The config has')"
    )
    with planner.expect_response(f"**/models/{SLOW}.json"):
        let_go()
    planner.evaluate("() => new Promise(done => setTimeout(done, 300))")
    assert planner.inner_text("#planner-said").startswith("The config has 5,000,000 characters")
    assert planner.locator(".ranking").count() == 0


def test_of_questions_in_a_queue_the_last_is_computed(planner: Page, python: None) -> None:
    """Python still loads when they are asked, so that all but the last have been overtaken."""
    *overtaken, last = planner.evaluate(QUEUE, LINES)
    assert overtaken == ["A later question took its place."] * 3
    assert last == batch(LINES[-1])
    assert json.loads(last) == {"id": 3}
    first, *between, last = planner.evaluate(QUEUE, LINES)
    assert set(between) == {"A later question took its place."}
    assert last == batch(LINES[-1])
    assert first in {"A later question took its place.", batch(LINES[0])}


def test_a_question_behind_one_that_is_ended(planner: Page, python: None) -> None:
    """It is told why at the most; the one after it has a worker of its own."""
    first, second, third = planner.evaluate(ENDED, LINES[:2])
    assert first == "ended"
    assert second in {"ended", batch(LINES[1])}
    assert third == batch(LINES[1])


def test_a_fault_of_the_package_is_one_sentence(planner: Page, python: None) -> None:
    """The same in every browser and of every Python, and the next question is answered."""
    assert planner.evaluate(BROKEN, LINES[0]) == [FAILED, False, batch(LINES[0])]
