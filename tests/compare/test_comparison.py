"""Which pairs are compared, by which unit, and what a verdict says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.compare.made import result, trials
from vllm_parallel.compare import Comparison, Judgement, Metric, Standing, Terms
from vllm_parallel.engine.bench_results import BenchResult, Latency, Outcome
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import replace

BASE = trials("tp1", [100.0, 101.0, 99.0])
TWICE = trials("tp2", [200.0, 202.0, 199.0], gpus=2)


def compared(*results: BenchResult, **terms: object) -> Comparison:
    return Comparison.of(results, Terms(baseline="tp1", **terms))  # type: ignore[arg-type]


def only(*results: BenchResult, **terms: object) -> Standing:
    [standing] = compared(*results, **terms).standings()
    return standing


def test_a_verdict_carries_its_load() -> None:
    standing = only(*BASE, *TWICE)
    assert standing.verdict is Judgement.FASTER
    asked = compared(*BASE, *TWICE).levels[0].asked
    assert standing.in_words(asked) == (
        "tp2 is faster than tp1 at concurrency 4, 128 tokens in, 64 out, 32 requests without a "
        "rate limit, m: 2 times the output tokens a second of tp1, 1.94 to 2.07"
    )


def test_slower_and_the_other_metrics() -> None:
    slow = trials("tp2", [50.0, 50.5, 49.5], gpus=2)
    assert only(*BASE, *slow).verdict is Judgement.SLOWER
    assert only(*BASE, *slow, metric=Metric.TPOT_MS).verdict is Judgement.SLOWER
    assert only(*BASE, *TWICE, metric=Metric.TTFT_MS).verdict is Judgement.FASTER
    per_gpu = only(*BASE, *TWICE, metric=Metric.OUTPUT_THROUGHPUT_PER_GPU)
    assert per_gpu.verdict is Judgement.INCONCLUSIVE
    assert per_gpu.reason == "the interval holds 1: the difference may be noise"


@pytest.mark.parametrize(
    "others, says",
    [
        (trials("tp2", [200.0, 202.0, 201.0], prompts=40), "the loads differ. tp2: concurrency 4"),
        (trials("tp2", [200.0, 202.0, 201.0], rate=3.0), "32 requests at 3 a second, m; tp1:"),
        (trials("tp2", [200.0, 202.0, 201.0], tokens=130.0), "130 tokens in, 64 out"),
        (trials("tp2", [200.0, 202.0, 201.0], model="n"), "without a rate limit, n; tp1:"),
        (
            [*TWICE[:2], result("tp2", 201.0, trial=3, prompts=64)],
            "trials of tp2 differ in load: concurrency 4, 128 tokens in, 64 out, 32 requests",
        ),
        (trials("tp2", [200.0], failed=1), "no trial of tp2 counts"),
        (trials("tp2", [200.0], concurrency=8), "the baseline has no trial here"),
    ],
)
def test_not_comparable(others: list[BenchResult], says: str) -> None:
    comparison = compared(*BASE, *others)
    [standing] = comparison.standings()
    assert not standing.comparable
    assert standing.verdict is Judgement.INCONCLUSIVE
    assert standing.reason is not None
    assert says in standing.reason
    assert standing.ratio is None
    assert not comparison.comparable
    assert "not comparable at concurrency" in standing.in_words(comparison.levels[-1].asked)


def test_a_token_more_or_less_is_the_same_load() -> None:
    short = trials("tp1", [100.0, 101.0, 99.0], tokens=8.0)
    assert only(*short, *trials("tp2", [200.0, 202.0, 199.0], tokens=9.0)).comparable
    assert only(*BASE, *trials("tp2", [200.0, 202.0, 199.0], tokens=129.0)).comparable


@pytest.mark.parametrize(
    "base, others, says",
    [
        (BASE, TWICE[:2], "2 trials, and a verdict takes 3"),
        (BASE[:1], TWICE, "the baseline has 1 trial, and a verdict takes 3"),
        (
            BASE,
            [*TWICE[:2], result("tp2", 201.0, trial=3, failed=2)],
            "2 trials, and a verdict takes 3",
        ),
        (BASE, [*TWICE[:2], TWICE[1]], "2 trials, and a verdict takes 3"),
    ],
)
def test_too_little(base: list[BenchResult], others: list[BenchResult], says: str) -> None:
    standing = only(*base, *others)
    assert standing.comparable
    assert standing.verdict is Judgement.INCONCLUSIVE
    assert standing.reason == says
    assert standing.ratio is not None
    assert standing.ratio.low is None


def test_failed_and_copied_trials_are_left_out_with_a_reason() -> None:
    comparison = compared(*BASE, *TWICE, TWICE[0], result("tp2", 201.0, trial=4, failed=2))
    cell = comparison.levels[0].cells[1]
    assert [out.reason for out in cell.left_out] == [
        "has every figure of tp2-c4-r1.json: a copy is no trial",
        "2 of 32 requests failed",
    ]
    assert len(cell.trials) == 3
    assert not comparison.comparable


def test_trials_without_any_noise_decide_nothing() -> None:
    """All throughputs alike and other latencies: the noise is below what was written."""
    base = [result("tp1", 100.0, trial=n, prompts=32) for n in (1, 2, 3)]
    slower = [_with_ttft(one, 50.0 + n) for n, one in enumerate(base)]
    others = [_with_ttft(result("tp2", 110.0, trial=n), 60.0 + n) for n in (1, 2, 3)]
    standing = only(*slower, *others)
    assert standing.reason == "no trial differs from another by a digit, so the noise is unknown"


def test_more_comparisons_widen_the_interval() -> None:
    alone = only(*BASE, *TWICE).ratio
    others = [one for n in (2, 3, 4) for one in trials(f"pp{n}", [90.0 + n, 91.0 + n, 92.0 + n])]
    beside = compared(*BASE, *TWICE, *others)
    assert beside.comparisons == 4
    ratio = next(one for one in beside.standings() if one.pair.cell.label == "tp2").ratio
    assert alone is not None
    assert ratio is not None
    assert alone.low is not None
    assert ratio.low is not None
    assert ratio.value == alone.value
    assert ratio.low < alone.low


def _with_ttft(one: BenchResult, ttft: float) -> BenchResult:
    outcome: Outcome = replace(one.outcome, latencies={"ttft": Latency(p50=ttft)})
    return replace(one, outcome=outcome)


STARTS: Mapping[tuple[str, int], int] = {
    ("tp1", trial): 1 + (trial - 1) // 2 for trial in range(1, 7)
} | {("tp2", trial): 1 + (trial - 1) // 2 for trial in range(1, 7)}


def start_of(one: BenchResult) -> int | None:
    return STARTS.get((one.label or "", one.trial or 0))


def test_the_start_is_the_unit_where_there_are_several() -> None:
    base = trials("tp1", [100.0, 100.1, 104.0, 104.1, 96.0, 96.1])
    others = trials("tp2", [110.0, 110.1, 106.0, 106.1, 108.0, 108.1])
    by_trial = only(*base, *others)
    by_start = only(*base, *others, start_of=start_of)
    assert by_start.pair.by_start
    assert [len(sample) for sample in by_start.pair.samples()] == [3, 3]
    assert by_trial.verdict is Judgement.FASTER  # six trials look like more than they are
    assert by_start.verdict is Judgement.INCONCLUSIVE
    notes = compared(*base, *others, start_of=start_of).notes
    assert notes == (
        "tp1, tp2: started several times, so the server start is the unit of comparison",
    )


def test_two_starts_are_too_few() -> None:
    standing = only(*BASE, *TWICE, start_of=start_of)
    assert standing.reason == "2 starts, and a verdict takes 3"


@pytest.mark.parametrize(
    "known, says", [(None, "server starts are not written down"), (1, "one server start a layout")]
)
def test_notes_say_what_is_known_of_starts(known: int | None, says: str) -> None:
    notes = compared(*BASE, *TWICE, start_of=lambda _: known).notes
    assert notes[0].startswith(says)
    assert notes[1] == "the layouts take different numbers of GPUs: tp1 1, tp2 2"


def test_concurrencies_are_in_order_and_none_is_last() -> None:
    wide = [one for c in (16, None, 1) for one in trials("tp1", [1.0, 2.0, 3.0], concurrency=c)]
    other = [one for c in (16, None, 1) for one in trials("tp2", [1.5, 2.0, 3.0], concurrency=c)]
    comparison = compared(*wide, *other)
    assert [level.concurrency for level in comparison.levels] == [1, 16, None]
    assert comparison.comparisons == 3
    assert "any concurrency" in comparison.levels[2].asked.in_words()


@pytest.mark.parametrize(
    "results, says",
    [
        (TWICE, "--baseline 'tp1' is no layout of these results; did you mean tp2?"),
        (BASE, "'tp1' is the only layout here; measure another"),
    ],
)
def test_a_baseline_needs_company(results: list[BenchResult], says: str) -> None:
    with pytest.raises(ParseError) as refused:
        compared(*results)
    assert str(refused.value) == says
