"""A model on GPUs, as the tables of its page: where it fits, what to try, what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from grid import COUNTS, PER_NODE
from gridded import Answers, Outcomes, Subject
from model_ways import way_out
from model_widths import Said, alike, card, labels_of
from vllm_parallel.catalog import gpu_names, load_gpu
from vllm_parallel.constraints.table import EARLY_RULES
from vllm_parallel.errors import CatalogError
from vllm_parallel.ledger import Budget
from vllm_parallel.outcome import Found, Goal, Refused
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import counted, gib, milliseconds, whole
from vllm_parallel.search import SteadyDecode
from vllm_parallel.units import GIB
from vllm_parallel.verdict import MEMORY_RULES

REFERENCES: Final = ("h100-80gb", "h200", "b300")  # the first that holds it is shown at length
RATED: Final = "h200"
EARLY: Final = {rule.name for rule in EARLY_RULES}  # not hidden by too little memory
MEMORY: Final = {rule.name for rule in MEMORY_RULES}
ASSUMED: Final = Provenance.ASSUMED
FIRST_BY: Final = {
    Goal.TPOT: "TPOT",
    Goal.THROUGHPUT: "throughput",
    Goal.LONGEST_REQUEST: "longest request",
    Goal.CAPACITY: "capacity",
}
BOUND_BY: Final = {
    "weights": "most of a step reads weights",
    "kv": "most of a step reads the cache",
    "compute": "most of a step is arithmetic",
    "collectives": "most of a step is exchange",
    "overhead": "most of a step is the host and kernels' starts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnGpus:
    """A model's answers, and how its page reads them."""

    subject: Subject
    answers: Answers

    def outcomes(self, gpu: str, gpus: int) -> Outcomes | None:
        """A cell, None where it cannot be sized."""
        found = self.answers[gpu][gpus]
        return None if isinstance(found, CatalogError) else found

    def found(self, gpu: str, gpus: int) -> tuple[Found, ...]:
        """The layouts of a cell, by capacity."""
        outcomes = self.outcomes(gpu, gpus)
        return () if outcomes is None else outcomes[Goal.CAPACITY].found

    def fewest(self, gpu: str) -> int | None:
        """The least of `COUNTS` on which a layout starts."""
        return next((gpus for gpus in COUNTS if self.found(gpu, gpus)), None)

    def is_sized(self, gpu: str) -> bool:
        """Whether the package can say at any count what the model holds there."""
        return any(self.outcomes(gpu, gpus) is not None for gpus in COUNTS)

    @property
    def sized(self) -> list[str]:
        """The GPUs that are modelled with it."""
        return [gpu for gpu in gpu_names() if self.is_sized(gpu)]

    @property
    def reference(self) -> str:
        """The GPU whose layouts are shown at length.

        Raises:
            ValueError: none holds the model.
        """
        fewest = {gpu: self.fewest(gpu) for gpu in REFERENCES}
        for most in (PER_NODE, COUNTS[-1]):  # on one node, if any holds it so
            for gpu, gpus in fewest.items():
                if gpus is not None and gpus <= most:
                    return gpu
        raise ValueError(f"{self.subject.name} fits none of {REFERENCES}")

    def firsts(self, gpu: str, gpus: int) -> dict[str, tuple[Found, list[Goal]]]:
        """The first layout by each goal, and the goals that it is first by."""
        firsts: dict[str, tuple[Found, list[Goal]]] = {}
        for goal, outcome in (self.outcomes(gpu, gpus) or {}).items():
            for one in outcome.found[:1]:
                firsts.setdefault(str(one.layout), (one, []))[1].append(goal)
        return firsts


def fits(on: OnGpus) -> str:
    """KV tokens of the service on every GPU and count, under the layout that holds most."""
    rows = []
    for name in gpu_names():
        gpu = load_gpu(name)
        budget = round(gpu.runtime_memory_bytes * on.subject.settings.gpu_memory_utilization)
        cells = [_tokens(on, name, gpus) for gpus in COUNTS]
        rows.append([Cell(gpu.label), computed(f"{budget / GIB:.0f}"), *cells])
    head = ("GPU", "GiB", *(f"{gpus} ×" for gpus in COUNTS))
    caption = (
        f"GiB is a GPU's budget. KV tokens of the whole service on so many GPUs, {PER_NODE} a "
        "node, under the layout that holds most; no: vLLM refuses every layout. Computed; tokens "
        "rest on an assumed overhead."
    )
    text = table(head, rows, caption=caption)
    return text.replace('class="figures"', 'class="figures fits"', 1)


def _tokens(on: OnGpus, gpu: str, gpus: int) -> Cell:
    if on.outcomes(gpu, gpus) is None:
        return computed("not modelled")
    found = on.found(gpu, gpus)
    return Cell(short(found[0].capacity.tokens), ASSUMED) if found else computed("no")


def short(tokens: int) -> str:
    """Tokens in thousands or millions, three digits.

    >>> short(2_812_576), short(98_432), short(1_040)
    ('2.81 M', '98.4 k', '1.04 k')
    """
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if tokens >= unit:
            number = tokens / unit
            return f"{number:.{max(0, 3 - len(str(int(number))))}f} {letter}"
    return str(tokens)


def worth(on: OnGpus) -> str:
    """On the reference GPU the first layout by each goal, at every count, and why."""
    gpu = on.reference
    firsts = [pair for gpus in COUNTS for pair in on.firsts(gpu, gpus).values()]
    rows = [_worth(on, one, goals) for one, goals in firsts]
    caption = (
        f"{load_gpu(gpu).label}, --max-model-len {whole(on.subject.length)}, else vLLM's defaults. "
        f"KV tokens are of each pool. {_load(on.subject.load_on(gpu))} Computed; tokens rest on an "
        "assumed overhead."
    )
    head = ("GPUs", "layout", "TPOT", "tokens/s a GPU", "KV tokens", "first by, and why")
    text = table(head, rows, caption=caption)
    return text.replace('class="figures"', 'class="figures worth"', 1)


def _load(load: SteadyDecode | None) -> str:
    if load is None:
        return "The catalog has no rates of this GPU, so no time is computed."
    requests = counted(load.concurrency, "request")
    return f"Times are of {requests} of {whole(load.context)} tokens that decode."


def _worth(on: OnGpus, one: Found, goals: Sequence[Goal]) -> list[Cell]:
    figures = one.figures
    tpot = milliseconds(figures.tpot_seconds) if figures else "no rates"
    flow = whole(round(one.tokens_per_second_per_gpu)) if figures else "no rates"
    return [
        Cell(str(one.layout.ranks)),
        Cell(str(one.layout)),
        computed(tpot) if figures else Cell(tpot),
        computed(flow) if figures else Cell(flow),
        Cell(pools(one), ASSUMED),
        Cell(" ".join(f"{reason[0].upper()}{reason[1:]}." for reason in _reasons(on, one, goals))),
    ]


def _reasons(on: OnGpus, one: Found, goals: Sequence[Goal]) -> Iterator[str]:
    """Why it is first, in figures of its own."""
    budget, figures = on.subject.judge.budget(one.deployment), one.figures
    if Goal.TPOT in goals and figures and figures.step:
        weights = gib(budget.ledger.terms[0].bytes, 1)
        yield f"TPOT: {BOUND_BY[figures.step.bound_by]}; weights are {weights} a rank"
    if Goal.THROUGHPUT in goals and figures:
        yield f"throughput: {figures.running} of {figures.asked} requests decode at once"
    if Goal.LONGEST_REQUEST in goals:
        yield f"longest request: {whole(one.longest_request)} tokens in a pool"
    if Goal.CAPACITY in goals:
        yield f"capacity: {_left(budget)} of a GPU are left for KV"


def pools(found: Found) -> str:
    """Tokens of each pool, and how many pools there are where there are several."""
    engines, tokens = found.capacity.engines, whole(found.capacity.pool.tokens)
    return tokens if engines == 1 else f"{engines} × {tokens}"


def _left(budget: Budget) -> str:
    return gib(max(0, budget.available_kv_bytes), 1)


def elsewhere(on: OnGpus) -> str:
    """The first layout by each goal on the other GPUs."""
    rows = []
    for gpu in gpu_names():
        if gpu == on.reference:
            continue
        for gpus in COUNTS:
            outcomes = on.outcomes(gpu, gpus)
            if outcomes is None or not on.found(gpu, gpus):
                continue
            cells = [
                Cell(str(outcomes[goal].found[0].layout) if goal in outcomes else "no rates")
                for goal in Goal
            ]
            rows.append([Cell(load_gpu(gpu).label), computed(str(gpus)), *cells])
    head = ("GPU", "GPUs", *(FIRST_BY[goal] for goal in Goal))
    caption = "The first layout by each goal wherever one starts. Computed."
    return table(head, rows, caption=caption)


def shown_firsts(on: OnGpus) -> list[tuple[Found, list[Goal]]]:
    """The layouts whose commands are shown: on the fewest GPUs, on a node, on two."""
    gpu = on.reference
    counts = sorted({on.fewest(gpu) or PER_NODE, PER_NODE, 2 * PER_NODE})
    found = [pair for gpus in counts for pair in on.firsts(gpu, gpus).values()]
    return list({str(one.layout): (one, goals) for one, goals in found}.values())


def refused(on: OnGpus) -> str:
    """Each rule that refuses a layout on the reference GPU, then those that only others meet."""
    here = _rules(on, on.reference)
    label = load_gpu(on.reference).label
    text = f"<p>On {label}:</p>" if here else f"<p>On {label} vLLM starts every layout tried.</p>"
    order = sorted(here.items(), key=lambda item: -item[1][1])
    cards = [_refusal(on, on.reference, row, count) for _, (row, count) in order]
    there = {gpu: _rules(on, gpu) for names in alike(on.sized) for gpu in names}
    for rule in dict.fromkeys(rule for rules in there.values() for rule in rules):
        if rule in MEMORY or rule in here:
            continue
        gpus = [gpu for gpu, rules in there.items() if rule in rules]
        row, count = there[gpus[0]][rule]
        cards += [f"<p>Besides, on {labels_of(gpus)}:</p>", _refusal(on, gpus[0], row, count)]
    for rule in (rule for rule, _ in order if rule in EARLY):
        free = [gpu for gpu, rules in there.items() if rule not in rules and on.fewest(gpu)]
        if free:
            cards.append(f"<p><code>{rule}</code> refuses nothing on {labels_of(free)}.</p>")
    return text + "".join(cards)


def _rules(on: OnGpus, gpu: str) -> dict[str, tuple[Refused, int]]:
    """Each rule that refuses on a GPU: its first example, and how many layouts."""
    found: dict[str, tuple[Refused, int]] = {}
    for gpus in COUNTS:
        outcomes = on.outcomes(gpu, gpus) or {}
        for row in outcomes[Goal.CAPACITY].refused if outcomes else ():
            first, count = found.get(row.rule, (row, 0))
            found[row.rule] = (first, count + row.count)
    return found


def _refusal(on: OnGpus, gpu: str, row: Refused, count: int) -> str:
    said = Said(row.rule, row.message, way_out(row.fix, on.subject, gpu, row.example))
    gpus = counted(row.example.ranks, "GPU")
    return card(said, f"{row.example} on {gpus}; {counted(count, 'layout')} in all")


def times(on: OnGpus) -> str:
    """The least TPOT on every GPU that has rates."""
    firsts = [
        one
        for gpu in gpu_names()
        for gpus in COUNTS
        for one, goals in on.firsts(gpu, gpus).values()
        if Goal.TPOT in goals
    ]
    if not firsts:
        return "<p>No GPU whose rates are known holds it, so no time is predicted.</p>"
    head = ("GPU", "GPUs", "layout", "at once", "TPOT", "tokens/s a GPU")
    caption = f"The least TPOT. {_load(on.subject.load_on(RATED))} Computed, not measured."
    return table(head, [_timed(one) for one in firsts], caption=caption)


def _timed(one: Found) -> list[Cell]:
    gpu, figures = one.deployment.cluster.gpu, one.figures
    if gpu is None or figures is None:
        raise ValueError(f"{one.layout} is not priced")
    return [
        Cell(gpu.label),
        computed(str(one.layout.ranks)),
        Cell(str(one.layout)),
        computed(f"{figures.running} of {figures.asked}"),
        computed(milliseconds(figures.tpot_seconds)),
        computed(whole(round(one.tokens_per_second_per_gpu))),
    ]
