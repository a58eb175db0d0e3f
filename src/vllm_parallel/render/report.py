"""What `plan` prints for people: verdict, budget, capacity, groups, launch command."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_parallel.constraints import Stage
from vllm_parallel.constraints.balancing import names_no_node
from vllm_parallel.deployment import Deployment
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Axis
from vllm_parallel.ledger import Budget, Capacity, Ledger, stage_shards
from vllm_parallel.ranks import Group
from vllm_parallel.render.numbers import bare_gib, counted, gib, ranks, times, to, whole
from vllm_parallel.render.shell import launch_command
from vllm_parallel.render.text import table
from vllm_parallel.starting import nodes_needed
from vllm_parallel.term import RELEASE, Span, Term
from vllm_parallel.verdict import Verdict, given_kv_bytes


def report(
    deployment: Deployment, verdict: Verdict, model_word: str, available_kv_bytes: int | None = None
) -> str:
    """The report of one deployment; `model_word` stands in its launch command.

    `available_kv_bytes` is a KV budget that was given, in place of the GPU's.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=3))
    >>> print(report(deployment, Verdict.of(deployment), "MODEL"))  # doctest: +ELLIPSIS
    llama-3.1-70b as tp3: 3 ranks
    vLLM ... refuses it at config: Total number of attention heads (64) must be divisible by \
tensor parallel size (3).
    Way out: use a --tensor-parallel-size of 1, 2, 4, 8, 16, 32, 64
    """
    layout = deployment.layout
    left_out = deployment.model.left_out
    twin = f", unquantised ({left_out} left out)," if left_out else ""
    count = f": {counted(layout.ranks, 'rank')}" if layout.ranks > 0 else ""
    head = f"{deployment.model.name}{twin} as {layout}{count}"
    sections = [f"{head}\n{_verdict(verdict)}"]
    built = verdict.refusal is None or verdict.refusal.stage is Stage.MEMORY
    if built:
        sections.append(_budget(deployment, available_kv_bytes))
    if verdict.capacity is not None:
        sections.append(_capacity(verdict.capacity))
    if built:
        sections.append(_groups(deployment))
        sections.append(_launch(deployment, model_word))
    return "\n\n".join(sections)


def _launch(deployment: Deployment, model_word: str) -> str:
    """One command, or where the flags leave nodes open those of the nodes that it spans."""
    if deployment.cluster.nodes > 1 and names_no_node(deployment) and nodes_needed(deployment) > 1:
        from vllm_parallel.render.ranking import launch  # noqa: PLC0415  # one node needs none of it

        return launch(deployment, model_word)
    return "Launch\n  " + launch_command(deployment, model_word).replace("\n", "\n  ")


def _verdict(verdict: Verdict) -> str:
    if verdict.refusal is None:
        return f"vLLM {RELEASE} accepts it."
    refusal = verdict.refusal
    return (
        f"vLLM {RELEASE} refuses it at {refusal.stage}: {refusal.message}\nWay out: {refusal.fix}"
    )


def _budget(deployment: Deployment, available_kv_bytes: int | None) -> str:
    """The ledger of the fullest rank of each stage, a column a stage.

    Where the KV budget is given, what vLLM may use of a GPU plays no part.
    """
    ledgers = [Ledger.of(shard) for shard in stage_shards(deployment)]
    head = [f"rank {ledger.shard.rank.number}" for ledger in ledgers]
    rows = [["", *head, ""]]
    given = given_kv_bytes(deployment, available_kv_bytes)
    gpu = deployment.cluster.gpu if given is None else None
    budgets = [] if gpu is None else [Budget.of(ledger, gpu) for ledger in ledgers]
    if gpu is not None:
        used = f"of {gpu.label}, utilization {deployment.settings.gpu_memory_utilization:g}"
        rows.append(["may use", *(gib(b.requested_bytes) for b in budgets), used])
    rows += [
        [terms[0].name, *(gib(term.bytes) for term in terms), _standing(terms)]
        for terms in zip(*(ledger.terms for ledger in ledgers), strict=True)
        if any(term.range.most for term in terms)
    ]
    if budgets:
        tightest = min(budgets, key=lambda budget: budget.available_kv_bytes)
        left = [gib(b.available_kv_bytes) for b in budgets]
        rows.append(["left for KV", *left, _range(tightest.available)])
    if given is not None:
        rows.append(["left for KV", *[gib(given)] * len(ledgers), "given"])
    cache = KvCache.of(deployment)
    blocks = [f"{whole(cache.block_bytes(stage))} B" for stage in cache.stages]
    rows.append(["one block", *blocks, f"of {cache.block_size} tokens"])
    right = range(1, len(ledgers) + 1)
    return "Memory of the fullest rank of each stage\n" + table(rows, right=tuple(right))


def _standing(terms: Sequence[Term]) -> str:
    """How the fullest rank's figure is known, with its range."""
    term = max(terms, key=lambda term: term.range.most)
    return ", ".join(filter(None, (term.provenance.value, _range(term.range))))


def _range(span: Span) -> str:
    ends = [bare_gib(end, 2) for end in (span.least, span.most)]
    return "" if ends[0] == ends[1] else to(*ends)


def _capacity(capacity: Capacity) -> str:
    pool = capacity.pool
    rows = [
        ["tokens", whole(pool.tokens), f"in {whole(pool.num_blocks)} blocks, one kept back"],
        ["concurrency", times(pool.max_concurrency), f"of {whole(pool.max_model_len)} tokens"],
        ["longest request", whole(pool.longest_request), "tokens"],
    ]
    if capacity.engines > 1:
        rows.append(["service", whole(capacity.tokens), f"tokens in {capacity.engines} pools"])
    return "KV cache of one engine\n" + table(rows, right=(1,))


def _groups(deployment: Deployment) -> str:
    """Rank 0's group on each axis that has more than one rank."""
    rows = []
    for axis in Axis:
        if axis in (Axis.DP, Axis.EP) and not deployment.model.is_moe:
            continue
        group = Group.of(deployment.layout, axis, 0)
        if group.width > 1:
            leaves = group.leaves_node(deployment.cluster)
            where = {None: "", True: "leaves its node", False: "inside a node"}[leaves]
            rows.append([axis.value, str(group.width), ranks(group.ranks), where])
    return (
        "Groups of rank 0\n" + table(rows, right=(1,)) if rows else "Groups\n  every rank is alone"
    )
