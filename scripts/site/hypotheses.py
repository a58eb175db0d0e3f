"""What the guide expects of its layouts: what the figures say, and what would refute each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Final

from dcp import INPUT as LONG_INPUT
from dcp import LONG, QWEN, RANKS, qwen_copies, request_tokens
from dcp import NAMES as MODEL_NAMES
from dcp import OUTPUT as LONG_OUTPUT
from figures import SPREAD
from guided import INPUT, OUTPUT, SEQUENCES, SETTINGS, guide
from held import Held, held
from prices import CONCURRENCY, FULLEST, LAYOUTS, throughput, tpot
from rate_tables import listed
from vllm_parallel import Cluster, KvCache, Layout, Verdict, load_gpu
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.load import Load, Service, ServicePrice
from vllm_parallel.render.html import permalink
from vllm_parallel.render.numbers import whole

FITTING: Final = (1, 8, 32, 64)  # concurrencies of the long load that fit on H200 without DCP


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A sentence that a measurement can refute, and what the kernel predicts."""

    says: str
    predicted: str
    figures: str
    refuted: str

    def card(self, number: int) -> str:
        """The hypothesis as a card with an anchor."""
        ident = f"h{number}"
        return (
            f'<div class="rule" id="{ident}"><p class="rule-name">'
            f'<span class="claim">H{number}. {escape(self.says)}.</span>'
            f"{permalink(ident)}</p>"
            f'<p class="rule-fix">Predicted: <em>{escape(self.predicted)}</em>. '
            f"{escape(self.figures)}.</p>"
            f'<p class="rule-fix">Refuted by: {escape(self.refuted)}.</p></div>'
        )


def hypotheses() -> str:
    """A card for each."""
    found = (
        _pipeline(),
        _one_request(),
        _many_requests(),
        _capacity(),
        _long_load(),
        _dcp_preempts(),
        _dcp_costs(),
    )
    return "\n".join(one.card(number) for number, one in enumerate(found, start=1))


def _pipeline() -> Hypothesis:
    tp, pp, _ = LAYOUTS
    ratios = (f"{tpot(pp, width).likely / tpot(tp, width).likely:.2f}×" for width in CONCURRENCY)
    return Hypothesis(
        says="In one machine tp4 pp2 is slower than tp8, at every concurrency",
        predicted=_answer([_slower(pp, tp, width) for width in CONCURRENCY]),
        figures=f"Its TPOT is {listed(ratios)} that of tp8 at concurrency {listed(CONCURRENCY)}",
        refuted="the verdict that tp4 pp2 is faster, at any one concurrency",
    )


def _one_request() -> Hypothesis:
    tp, _, dp = LAYOUTS
    return Hypothesis(
        says="At concurrency 1 the TPOT of tp4 dp2 is higher than that of tp8",
        predicted=_answer([_slower(dp, tp, 1)]),
        figures=f"{tpot(dp, 1).likely:.1f} against {tpot(tp, 1).likely:.1f} ms: one engine works, "
        "and each of its ranks reads twice the weights",
        refuted="the verdict that tp4 dp2 is faster at concurrency 1",
    )


def _many_requests() -> Hypothesis:
    tp, _, dp = LAYOUTS
    ratios = (
        f"{throughput(dp, width).likely / throughput(tp, width).likely:.2f}×"
        for width in CONCURRENCY
    )
    return Hypothesis(
        says="At high concurrency the throughput of tp4 dp2 reaches that of tp8",
        predicted=_catches_up(dp, tp),
        figures=f"{listed(ratios)} the throughput at concurrency {listed(CONCURRENCY)}: smaller "
        "all-reduces against half the batch for each reading of the weights",
        refuted=f"the verdict that tp4 dp2 is slower at concurrency {FULLEST}",
    )


def _capacity() -> Hypothesis:
    """The guide's load beside the pool of an engine of tp4 dp2."""
    dp = LAYOUTS[2]
    share = SEQUENCES // dp.dp
    length = INPUT + OUTPUT
    fits = _fitting(dp, length)
    return Hypothesis(
        says="As long as KV fits, the smaller pools of tp4 dp2 do not show in its throughput",
        predicted="Yes" if fits >= share else "No",
        figures=f"A pool holds {fits} requests of {whole(length)} tokens, and at most {share} run",
        refuted="preemptions, or more throughput under a higher --gpu-memory-utilization",
    )


def _long_load() -> Hypothesis:
    """Full-length requests on both."""
    tp, _, dp = LAYOUTS
    length = SETTINGS.max_model_len or 0
    found = [(layout, _fitting(layout, length) * layout.dp) for layout in (tp, dp)]
    short = [layout for layout, fits in found if fits < SEQUENCES]
    fitting = listed(f"{layout} has room for {fits}" for layout, fits in found)
    return Hypothesis(
        says="Under long contexts tp4 dp2 preempts before tp8",
        predicted="Yes" if short == [dp] else "Both preempt" if short else "Neither preempts",
        figures=f"{SEQUENCES} requests of {whole(length)} tokens come: {fitting}",
        refuted="preemptions of tp8 at a length at which tp4 dp2 has none",
    )


def _dcp_preempts() -> Hypothesis:
    plain, dealt = (_qwen_launch(dcp).requests(request_tokens) for dcp in (1, qwen_copies))
    return Hypothesis(
        says=f"Where KV is short, {MODEL_NAMES[QWEN]} without DCP preempts first and stalls",
        predicted=f"Above concurrency {plain} on H200",
        figures=f"Its pool holds {plain} requests of {whole(request_tokens)} tokens, with dcp2 "
        f"{dealt}",
        refuted="equal preemptions of both above that concurrency, or none",
    )


def _dcp_costs() -> Hypothesis:
    """The step of Qwen3-235B-A22B, tp8 with and without DCP: what it adds, what it saves."""
    ratios = [_qwen(qwen_copies, width).interval / _qwen(1, width).interval for width in FITTING]
    longer = [width for width, ratio in zip(FITTING, ratios, strict=True) if ratio > 1]
    tied = all(1 - SPREAD < ratio < 1 + SPREAD for ratio in ratios)
    if len(longer) == len(ratios):
        text = "Yes"
    elif longer:
        text = f"Only at concurrency {listed(longer)}; above, halved reads of the cache pay back"
    else:
        text = "No: halved reads of the cache save more than the exchange costs"
    shown = listed(f"{ratio:.2f}×" for ratio in ratios)
    return Hypothesis(
        says="Where KV fits either way, DCP is pure overhead",
        predicted=text + (". All within the range of a tie" if tied else ""),
        figures=f"With it a step takes {shown} as long at concurrency {listed(FITTING)}, "
        f"{whole(LONG_INPUT)} tokens in, on H200",
        refuted="the verdict that dcp2 is faster where neither preempts",
    )


def _fitting(layout: Layout, length: int) -> int:
    """Requests of a length that an engine of the guide's layouts holds at once."""
    deployment = guide(layout).deployment
    each = KvCache.of(deployment).blocks_per_request(length)
    return (Verdict.of(deployment).held.pool.num_blocks - 1) // each


def _slower(one: Layout, other: Layout, width: int) -> tuple[int, str]:
    """Whether one's TPOT is above the other's range."""
    a, b = tpot(one, width), tpot(other, width)
    return width, "tie" if a.ties(b) else "yes" if a.likely > b.likely else "no"


def _answer(found: list[tuple[int, str]]) -> str:
    """The same answers together: yes at 1, tie at 16 and 64."""
    words = list(dict.fromkeys(word for _, word in found))
    if len(words) == 1:
        return words[0].capitalize()
    parts = [
        f"{word} at {listed(width for width, said in found if said == word)}" for word in words
    ]
    return "; ".join(parts).capitalize()


def _catches_up(one: Layout, other: Layout) -> str:
    behind = [
        width
        for width in CONCURRENCY
        if not throughput(one, width).ties(throughput(other, width))
        and throughput(one, width).likely < throughput(other, width).likely
    ]
    passes = [
        width
        for width in CONCURRENCY
        if throughput(one, width).likely >= throughput(other, width).likely
    ]
    text = f"Behind at {listed(behind)}, a tie from there on" if behind else "A tie throughout"
    if passes:
        return f"{text}; the likely figure passes at {passes[0]}"
    return f"{text}; the likely figure stays below"


def _qwen_launch(dcp: int) -> Held:
    cluster = Cluster(gpu=load_gpu("h200"), gpus_per_node=RANKS)
    return held(QWEN, Layout(tp=RANKS, dcp=dcp), cluster, LONG)


@cache
def _qwen(dcp: int, width: int) -> ServicePrice:
    """Qwen3-235B-A22B on eight H200 under the load of long prompts."""
    load = Load(
        input_tokens=LONG_INPUT, output_tokens=LONG_OUTPUT, prompts=4 * width, concurrency=width
    )
    return Service.of(_qwen_launch(dcp).deployment, load_rates("h200")).price(load)
