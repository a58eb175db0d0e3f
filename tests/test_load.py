"""A load replayed: against a plainer scheduler, by hand, and at its limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import pytest

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.load import OMISSIONS, Bound, Load, Served, Service, replay
from vllm_parallel.load.replay import Limits, _Engine
from vllm_parallel.price import Pricer
from vllm_parallel.settings import Settings

H100: Final = load_rates("h100-80gb")
NODE: Final = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
LOADS: Final = [
    Load(input_tokens=7, output_tokens=5, prompts=1),
    Load(input_tokens=7, output_tokens=1, prompts=4),
    Load(input_tokens=40, output_tokens=9, prompts=12, concurrency=5),
    Load(input_tokens=40, output_tokens=9, prompts=12, rate=0.03),
    Load(input_tokens=3, output_tokens=20, prompts=30, concurrency=8, rate=0.2),
    Load(input_tokens=100, output_tokens=4, prompts=9, concurrency=9),
]
LIMITS: Final = [
    Limits(tokens=16, sequences=8),
    Limits(tokens=64, sequences=3),
    Limits(tokens=16, sequences=8, stages=2),
    Limits(tokens=33, sequences=4, stages=3),
]


def seconds(step: EngineBatch, stages: int = 1) -> tuple[float, ...]:
    """A made-up price: a start, prompts' tokens, and decodes by their contexts."""
    cached = sum(new * (1 + old / 64) for new, old in step.prefill)
    return tuple(2 + stage + cached / 8 + sum(step.decode) / 256 for stage in range(stages))


@dataclass
class Plain:
    """A request, counted token by token."""

    sent: float
    prompt: int
    wanted: int
    computed: int = 0
    answers: list[float] = field(default_factory=list)
    scheduled: float | None = None
    decodes_at: int = 0
    turn: tuple[int, int] = (0, 0)


def plainly(load: Load, limits: Limits) -> list[Plain]:
    """The same, with nothing kept between steps: every step looks at every request."""
    width = min(load.prompts, load.concurrency or load.prompts)
    due = [number / load.rate if load.rate else 0.0 for number in range(load.prompts)]
    everyone = [Plain(due[n], load.input_tokens, load.output_tokens) for n in range(width)]
    busy, done, now = [0.0] * limits.stages, [0.0] * limits.stages, 0.0
    for step in range(10_000):
        left = [one for one in everyone if len(one.answers) < one.wanted]
        if not left:
            return everyone
        now = max(now, busy[0], done[step], min(one.sent for one in left))
        taken = chosen([one for one in left if one.sent <= now], limits, (step, now))
        end = now
        if taken:
            for stage, spent in enumerate(seconds(as_batch(taken), limits.stages)):
                end = busy[stage] = max(end, busy[stage]) + spent
        done.append(end)
        for one, new in taken:
            one.computed += new
            if one.computed >= one.prompt:
                one.answers.append(end)
                one.decodes_at = step + limits.stages
        for one, _ in taken:
            if len(one.answers) == one.wanted and len(everyone) < load.prompts:
                sent = max(end, due[len(everyone)])
                everyone.append(Plain(sent, one.prompt, one.wanted))
    raise AssertionError("the load never ends")


def chosen(here: list[Plain], limits: Limits, at: tuple[int, float]) -> list[tuple[Plain, int]]:
    """Requests of a step with their tokens: those that run, then those that wait."""
    step, now = at
    room, taken = limits.tokens, []
    runs = [one for one in here if one.scheduled is not None]
    waits = [one for one in here if one.scheduled is None]
    for one in [*sorted(runs, key=lambda one: one.turn), *sorted(waits, key=lambda one: one.sent)]:
        if one.scheduled is None:
            if len(runs) == limits.sequences or not room:
                break
            runs.append(one)
            one.scheduled, one.turn = now, (step, len(runs))
        new = one.prompt - one.computed if one.computed < one.prompt else one.decodes_at <= step
        if min(room, new):
            taken.append((one, min(room, int(new))))
            room -= min(room, new)
    return taken


def as_batch(taken: list[tuple[Plain, int]]) -> EngineBatch:
    """What is priced, contexts in whole blocks of 16."""
    prompts = [(new, one.computed) for one, new in taken if one.computed < one.prompt]
    contexts = [one.computed + 1 for one, _ in taken if one.computed >= one.prompt]
    rounded = tuple(-(-context // 16) * 16 for context in contexts)
    return EngineBatch(prefill=tuple(prompts), decode=rounded)


@pytest.mark.parametrize("load", LOADS, ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_plainer_scheduler_agrees(load: Load, limits: Limits) -> None:
    served = replay(load, limits, lambda step: seconds(step, limits.stages))
    found = sorted((t.sent, t.scheduled, t.first, t.last) for t in served.requests)
    wanted = sorted(
        (one.sent, one.scheduled, one.answers[0], one.answers[-1]) for one in plainly(load, limits)
    )
    assert found == [pytest.approx(times) for times in wanted]


LONG: Final = [
    Load(input_tokens=40, output_tokens=90, prompts=12, concurrency=5),
    Load(input_tokens=33, output_tokens=70, prompts=20, rate=0.005),
    Load(input_tokens=5, output_tokens=61, prompts=30, concurrency=8, rate=0.02),
]


@pytest.mark.parametrize("load", [*LOADS, *LONG], ids=str)
@pytest.mark.parametrize("limits", [*LIMITS, Limits(tokens=4, sequences=8)], ids=str)
def test_steps_alike_are_as_steps_one_by_one(load: Load, limits: Limits) -> None:
    """To the last digit, and in the same order."""

    def price(step: EngineBatch) -> tuple[float, ...]:
        return tuple(second / 3 for second in seconds(step, limits.stages))

    engine = _Engine(load, limits, price)
    while engine.advance():
        pass
    served = replay(load, limits, price)
    assert served.intervals == tuple(engine.intervals)
    assert (served.steps, served.waited) == (engine.step, engine.waited)
    assert served.most_running == engine.most_running
    times = [(one.sent, one.scheduled, one.first, one.last) for one in engine.done]
    found = [(one.sent, one.scheduled, one.first, one.last) for one in served.requests]
    assert found == sorted(times, key=lambda one: one[0])


@pytest.mark.parametrize("load", LOADS, ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_every_token_is_computed_once_within_the_limits(load: Load, limits: Limits) -> None:
    batches: list[EngineBatch] = []

    def price(step: EngineBatch) -> tuple[float, ...]:
        batches.append(step)
        return seconds(step, limits.stages)

    served = replay(load, limits, price)
    assert len(served.requests) == load.prompts
    assert len(served.intervals) == load.prompts * (load.output_tokens - 1)
    assert all(batch.tokens <= limits.tokens for batch in batches)
    assert all(batch.requests <= limits.sequences for batch in batches)
    assert served.most_running <= limits.sequences
    assert len(batches) == len(set(batches)) <= served.steps


def test_by_hand() -> None:
    """Two prompts of 6 in steps of 8 tokens: the second is cut, then runs beside the first."""
    load = Load(input_tokens=6, output_tokens=3, prompts=2)
    served = replay(load, Limits(tokens=8, sequences=8), lambda step: (1.0,))
    assert [(t.scheduled, t.first, t.last) for t in served.requests] == [(0, 1, 3), (0, 2, 4)]
    assert Counter(served.intervals) == {1.0: 4}


def test_stages_work_on_different_batches() -> None:
    """One request waits for both stages; four in two batches keep both at work."""

    def rate(prompts: int, tokens: int) -> float:
        load = Load(input_tokens=8, output_tokens=101, prompts=prompts)
        limits = Limits(tokens=tokens, sequences=8, stages=2)
        served = replay(load, limits, lambda step: (1.0, 1.0))
        return prompts * 101 / max(t.last for t in served.requests)

    assert rate(1, 8) == pytest.approx(0.5, rel=0.01)
    assert rate(2, 8) == pytest.approx(1.0, rel=0.02)  # a prompt fills a step: two batches
    assert rate(2, 16) == pytest.approx(1.0, rel=0.02)  # both in one batch, the other empty
    assert rate(4, 16) == pytest.approx(2.0, rel=0.03)


def service(
    layout: Layout, *, max_num_seqs: int | None = None, blocks: int | None = None
) -> Service:
    deployment = Deployment(
        model=load_model("llama-3.1-8b"),
        layout=layout,
        settings=Settings(
            max_model_len=8192, max_num_seqs=max_num_seqs, num_gpu_blocks_override=blocks
        ),
        cluster=NODE,
    )
    return Service.of(deployment, H100)


def test_one_request_takes_the_prices_of_its_steps() -> None:
    found = service(Layout()).price(
        Load(input_tokens=160, output_tokens=17, prompts=3, concurrency=1)
    )
    pricer = Pricer.of(service(Layout()).pricer.deployment, H100)
    step = pricer.price(EngineBatch(decode=(176,))).latency
    assert [found.tpot, found.tpot_median] == [pytest.approx(step)] * 2
    assert found.interval == pytest.approx(step)
    prompt = pricer.price(EngineBatch(prefill=((160, 0),))).latency
    assert found.ttft_unqueued == found.ttft == pytest.approx(prompt)
    assert found.output_tokens_per_second == pytest.approx(17 / (prompt + 16 * step))


@pytest.mark.parametrize(
    "settings, bound, running",
    [
        ({}, Bound.CLIENTS, 32),
        ({"max_num_seqs": 5}, Bound.SEQUENCES, 5),
        ({"blocks": 1 + 17 * 9}, Bound.KV, 9),
        ({"blocks": 1 + 17 * 9, "max_num_seqs": 3}, Bound.SEQUENCES, 3),
    ],
)
def test_what_binds(settings: dict[str, int], bound: Bound, running: int) -> None:
    """256 + 16 tokens are 17 blocks, and one block is never used."""
    load = Load(input_tokens=256, output_tokens=16, prompts=64, concurrency=32)
    found = service(Layout(), **settings).price(load)
    assert (found.bound, found.most_running) == (bound, running)
    if bound is not Bound.CLIENTS:
        assert found.ttft > 2 * found.ttft_unqueued


def test_a_pool_too_small_is_refused() -> None:
    small = service(Layout(), blocks=17)
    with pytest.raises(ValueError, match="does not hold one request"):
        small.price(Load(input_tokens=256, output_tokens=16, prompts=1))


def test_engines_share_a_load() -> None:
    """Two engines serve half each, as fast as one alone would; one request has one of them."""
    load = Load(input_tokens=256, output_tokens=16, prompts=64, concurrency=32)
    half = Load(input_tokens=256, output_tokens=16, prompts=32, concurrency=16)
    one, two = service(Layout()), service(Layout(dp=2))
    assert two.price(load).tpot == pytest.approx(one.price(half).tpot)
    both, single = two.price(load), one.price(half)
    assert both.output_per_gpu == pytest.approx(single.output_per_gpu)
    alone = Load(input_tokens=256, output_tokens=16, prompts=4, concurrency=1)
    idle, busy = two.price(alone), one.price(alone)
    assert idle.output_tokens_per_second == pytest.approx(busy.output_tokens_per_second)
    assert idle.output_per_gpu == pytest.approx(busy.output_per_gpu / 2)
    rates = Load(input_tokens=1, output_tokens=1, prompts=6, concurrency=4, rate=3.0).shares(2)
    assert [(share.prompts, share.concurrency, share.rate) for share in rates] == [(3, 2, 1.5)] * 2


def test_more_at_once_is_slower_for_each_and_faster_for_all() -> None:
    prices = [
        service(Layout(tp=2)).price(
            Load(input_tokens=512, output_tokens=32, prompts=128, concurrency=width)
        )
        for width in (1, 4, 16, 64)
    ]
    assert sorted(prices, key=lambda price: price.tpot) == prices
    assert sorted(prices, key=lambda price: price.output_per_gpu) == prices


def test_a_rate_sends_evenly() -> None:
    load = Load(input_tokens=4, output_tokens=2, prompts=5, rate=0.1)
    served: Served = replay(load, Limits(tokens=8, sequences=8), lambda step: (1.0,))
    assert [t.sent for t in served.requests] == [0, 10, 20, 30, 40]
    assert [t.first for t in served.requests] == [1, 11, 21, 31, 41]


def test_a_load_of_nothing_is_refused() -> None:
    for prompts, concurrency, rate in ((0, 1, 1.0), (1, -1, 1.0), (1, 1, 0.0)):
        with pytest.raises(ValueError, match="above 0"):
            Load(
                input_tokens=1, output_tokens=1, prompts=prompts, concurrency=concurrency, rate=rate
            )


def test_omissions_say_which_way_they_lean() -> None:
    assert len({row.what for row in OMISSIONS}) == len(OMISSIONS)
    assert all(row.why and row.leans for row in OMISSIONS)
