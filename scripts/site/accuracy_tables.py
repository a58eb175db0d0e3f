"""The tables of `verification/accuracy`, computed from the launches that lie in `results/`."""

from __future__ import annotations

from functools import cache
from typing import Final

from fit import graphs, held_out, refit
from launches import CASES, FOLDER, Launch, Unread, read
from scores import Score, Summary, judged
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.markdown import table as markdown
from vllm_parallel.render.numbers import bare_gib, counted, gib, to, whole
from vllm_parallel.term import Span
from vllm_parallel.units import GIB

SIGNED: Final = "+.2%"
LIES: Final = {True: "exact", False: "not", None: "not printed"}


@cache
def _rows() -> list[Launch | Unread]:
    return read(FOLDER / "launches.jsonl", FOLDER / "configs")


@cache
def _judged() -> tuple[list[Score], list[Unread]]:
    return judged(_rows())


def _scores() -> list[Score]:
    return _judged()[0]


@cache
def _unseen() -> dict[str, Score]:
    return {one.launch.id: one for one in held_out([one.launch for one in _scores()])}


def launches() -> str:
    """Every launch: weights, blocks, and the pool by all launches and by other models' alone."""
    rows = []
    for one in _scores():
        computed_bytes, measured = one.farthest
        rows.append(
            [
                Cell(one.launch.id),
                _measured(bare_gib(measured, 2)),
                computed(bare_gib(computed_bytes, 3)),
                computed(_share(computed_bytes / measured - 1)),
                computed(LIES[one.blocks_lie]),
                *_pool(one),
            ]
        )
    head = (
        "launch", "weights, GiB", "computed", "error", "blocks", "pool, blocks", "computed",
        "error", "error, model unseen",
    )  # fmt: skip
    return table(head, rows, caption="Launches of vLLM 0.19.0 on H100 80GB, two decimals printed.")


def summary() -> str:
    """Means over all launches, beside the bounds that `make accuracy` holds."""
    seen, unseen = Summary.of(_scores()), Summary.of(list(_unseen().values()))
    exact, counted_ = seen.blocks
    rows = [
        ("weights, mean absolute error", f"{seen.weight_error:.3%}", "0.10%"),
        ("blocks, exact given the printed budget", f"{exact} of {counted_}", "all"),
        ("pool, without any log, mean absolute error", _mean(seen), "1%"),
        ("the same for a model that was left out of the fit", _mean(unseen), "none"),
        ("the same, the farthest launch", f"{_farthest():.2%}", "none"),
    ]
    return markdown(("over all judged launches", "found", "at most"), rows, right=(1, 2))


def graph_table() -> str:
    """What graphs took after the pool, beside 0.32.0's term with its range; alike runs once."""
    rows: dict[tuple[str, ...], list[Cell]] = {}
    for row in (one.launch for one in _scores()):
        found = graphs(row)
        if found is not None:
            span, captured = found
            ends = to(*(bare_gib(end, 2) for end in (span.least, span.most)))
            texts = (bare_gib(captured, 2), bare_gib(span.likely, 2), ends)
            name = f"{row.base_model} {row.deployment.layout}"
            cells = [Cell(name), _measured(texts[0]), *(computed(text) for text in texts[1:])]
            rows.setdefault((name, *texts), cells)
    head = ("launch", "captured, GiB", "computed", "range")
    return table(head, rows.values(), caption="CUDA graphs of the first rank.")


def not_judged() -> str:
    """The launches that are not judged, each with its reason."""
    rows = [(row.id, row.reason) for row in _judged()[1]]
    return markdown(("launch", "why it is not judged"), rows)


def coefficients() -> str:
    """The six fitted numbers and what the launches say of each."""
    known = refit(one.launch for one in _scores())
    rows = [
        ("beside the sampler's tensors", gib(known.sampler_rest, 3)),
        ("beside the widest layer's tensors", gib(known.forward_rest, 3)),
        ("outside torch, a rank alone", _likely(known.runtime_alone)),
        ("outside torch, a rank in a group", _likely(known.runtime_in_group)),
        ("more with tp 2", _likely(known.communication[2])),
        ("more with tp 4", _likely(known.communication[4])),
    ]
    return markdown(("fitted", "by all launches"), rows, right=(1,))


def cases() -> str:
    """Figures of other logs and releases, judged by their own release's definition."""
    rows = []
    scores, unread = judged(read(CASES / "launches.jsonl", CASES / "configs"))
    for one in scores:
        row = one.launch
        weights = "not printed"
        if one.weights:
            computed_bytes, measured = one.farthest
            weights = f"{measured / GIB:.4g} GiB, {_share(computed_bytes / measured - 1)}"
        tokens = "not printed" if row.tokens is None else whole(row.tokens)
        found = LIES[one.blocks_lie] + (f": {row.note}" if row.note else "")
        rows.append((f"[{row.id}]({row.source})", weights, tokens, found))
    rows += [(row.id, "", "", f"not judged: {row.reason}") for row in unread]
    head = ("log", "weights printed, error", "KV tokens", "from the printed budget")
    return markdown(head, rows, right=(2,))


def exact_cases() -> str:
    """How many of the logs that print budget and tokens are exact; one without its flags counts."""
    scores, unread = judged(read(CASES / "launches.jsonl", CASES / "configs"))
    lie = [one.blocks_lie for one in scores if one.blocks_lie is not None]
    return f"{sum(lie)} of {len(lie) + len(unread)}"


def judged_rows() -> str:
    """How many launches are judged, of how many."""
    return f"{len(_scores())} of {counted(len(_rows()), 'row')}"


def _mean(summary: Summary) -> str:
    return "not measured" if summary.pool_error is None else f"{summary.pool_error:.2%}"


def _farthest() -> float:
    errors = [one.pool_error for one in _unseen().values()]
    return max(abs(error) for error in errors if error is not None)


def _pool(one: Score) -> list[Cell]:
    if one.pool is None or one.pool_error is None:
        return [Cell(""), Cell(""), Cell(""), Cell("")]
    unseen = _unseen()[one.launch.id].pool_error
    return [
        _measured(whole(one.pool[1])),
        computed(whole(one.pool[0])),
        computed(_share(one.pool_error)),
        computed("" if unseen is None else _share(unseen)),
    ]


def _measured(text: str) -> Cell:
    return Cell(text, Provenance.MEASURED)


def _likely(span: Span) -> str:
    return gib(span.likely, 3)


def _share(error: float) -> str:
    text = format(error, SIGNED)
    return "0.00%" if float(text[:-1]) == 0 else text.replace("-", "−")
