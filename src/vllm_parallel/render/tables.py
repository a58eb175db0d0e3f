"""The tables that pages show, from nouns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Final

from vllm_parallel.constraints import RULES, Constraint, Stage, admitted
from vllm_parallel.deployment import Deployment
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ledger import Budget, Pool, budgets_on, tightest
from vllm_parallel.model import ModelConfig
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, permalink, row, table
from vllm_parallel.render.numbers import bare_gib, gib, size, times, to, whole
from vllm_parallel.term import Span
from vllm_parallel.verdict import MEMORY_RULES, StageRoom, Verdict

ASSUMED: Final = Provenance.ASSUMED
STAGES: Final = {
    Stage.FLAGS: "flags: the arguments contradict each other",
    Stage.CONFIG: "config: the engine config is made",
    Stage.LOAD: "load: workers build the model and plan the cache",
    Stage.MEMORY: "memory: the cache is allocated",
}


def side_by_side(deployments: Sequence[Deployment], *, caption: str) -> str:
    """Layouts in columns: what a rank holds, what a pool and the service hold."""
    capacities = [Verdict.of(deployment).held for deployment in deployments]
    budgets = [tightest(deployment) for deployment in deployments]
    pools = [capacity.pool for capacity in capacities]
    tokens = [KvCache.of(deployment).token_bytes for deployment in deployments]
    least, most = zip(*(_pool_ends(deployment) for deployment in deployments), strict=True)
    rows = [
        row("weights of a rank", [gib(b.ledger.terms[0].bytes) for b in budgets]),
        row("left for KV on a rank", [gib(b.available_kv_bytes) for b in budgets], ASSUMED),
        row("KV of one token on a rank", [size(n) for n in tokens]),
        row("pools", [str(c.engines) for c in capacities]),
        row("tokens in a pool", [whole(p.tokens) for p in pools], ASSUMED),
        row("at least", [whole(n) for n in least], ASSUMED),
        row("at most", [whole(n) for n in most], ASSUMED),
        row("tokens in the service", [whole(c.tokens) for c in capacities], ASSUMED),
        row(
            f"requests of {whole(pools[0].max_model_len)} tokens in a pool",
            [times(p.max_concurrency) for p in pools],
            ASSUMED,
        ),
    ]
    head = ("", *(str(deployment.layout) for deployment in deployments))
    return table(head, rows, caption=caption)


def ledger(deployment: Deployment, *, caption: str) -> str:
    """The ledger of the fullest rank of each stage, a column a stage."""
    budgets = _budgets(deployment)
    ledgers = [budget.ledger for budget in budgets]
    rows = [row("vLLM may use", [gib(b.requested_bytes) for b in budgets])]
    for terms in zip(*(one.terms for one in ledgers), strict=True):
        if any(term.range.most for term in terms):
            cells = [Cell(_with_range(term.range), term.provenance) for term in terms]
            rows.append([Cell(terms[0].name), *cells])
    left = row("left for KV", [_with_range(b.available) for b in budgets], ASSUMED)
    head = ("", *(f"rank {one.shard.rank.number}, stage {n}" for n, one in enumerate(ledgers)))
    return table(head, [*rows, left], caption=caption, totals=(len(rows),))


def rules(stage: Stage) -> str:
    """Every rule of a stage: vLLM's sentence, the way out, where it stands, how it is known."""
    if stage is Stage.MEMORY:
        return "\n".join(_rule(rule) for rule in MEMORY_RULES)
    return "\n".join(_rule(rule) for rule in RULES if rule.stage is stage)


def admitted_widths(models: Mapping[str, ModelConfig], *, up_to: int, caption: str) -> str:
    """The widths that each model admits, alone and beside the widest tp of one node."""
    rows = []
    for name, model in models.items():
        tp = admitted(model, Axis.TP, up_to=up_to)
        pp = admitted(model, Axis.PP, up_to=up_to)
        pcp = admitted(model, Axis.PCP, up_to=8)
        cells = [runs(tp), runs(pp), runs(pcp), _dcp_gains(model, tp)]
        rows.append([Cell(name), *(Cell(text) for text in cells)])
    return table(("model", "tp", "pp", "pcp", "dcp above 1"), rows, caption=caption)


def _dcp_gains(model: ModelConfig, widths: Sequence[int]) -> str:
    """The dcp above 1 that each tp admits."""
    found = {tp: admitted(model, Axis.DCP, beside=Layout(tp=tp), up_to=tp)[1:] for tp in widths}
    return "; ".join(f"tp{tp}: {runs(dcp)}" for tp, dcp in found.items() if dcp) or "none"


def _rule(rule: Constraint[Deployment] | Constraint[StageRoom]) -> str:
    sentence = escape(rule.sentence).replace("\n", "<br>")
    bare = '<p class="rule-bare">vLLM has no sentence for it; the words are ours.</p>'
    return (
        f'<div class="rule"><h3 class="rule-name" id="{rule.name}"><code>{rule.name}</code>'
        f"{permalink(rule.name)}"
        f'<span class="known">{rule.known}</span></h3>'
        f'<p class="rule-says"><code>{sentence}</code></p>{bare if rule.bare else ""}'
        f'<p class="rule-fix">Way out: {_with_flags(rule.advice)}.</p>'
        f'<p class="rule-source">{escape(rule.source)}</p></div>'
    )


def _with_flags(text: str) -> str:
    """Text with its options set as code.

    >>> _with_flags("drop --api-server-count, or use -pp 1")
    'drop <code>--api-server-count</code>, or use <code>-pp 1</code>'
    """
    return re.sub(r"(?<![\w-])(--?[a-z][\w.*-]*[\w*]( \d+)?)", r"<code>\1</code>", escape(text))


def _budgets(deployment: Deployment) -> tuple[Budget, ...]:
    gpu = deployment.cluster.gpu
    if gpu is None:
        raise ValueError("a budget needs a GPU")
    return budgets_on(deployment, gpu)


def _pool_ends(deployment: Deployment) -> tuple[int, int]:
    """Tokens of a pool where the overhead takes most, and where it takes least."""
    spans = [budget.available for budget in _budgets(deployment)]
    least = Pool.of(deployment, tuple(span.least for span in spans))
    return least.tokens, Pool.of(deployment, tuple(span.most for span in spans)).tokens


def _with_range(span: Span) -> str:
    """Bytes in GiB, with their range if they have one."""
    likely = gib(span.likely, 3)
    if span.least == span.most:
        return likely
    return f"{likely} ({to(*(bare_gib(end, 2) for end in (span.least, span.most)))})"


def runs(numbers: Sequence[int]) -> str:
    """Whole numbers with runs shortened.

    >>> runs([1, 2, 3, 4, 8])
    '1–4, 8'
    """
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        ends = [number for _, number in run]
        text = f"{ends[0]}–{ends[-1]}" if len(ends) > 2 else ", ".join(map(str, ends))
        parts.append(text)
    return ", ".join(parts)
