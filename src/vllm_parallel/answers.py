"""The answer format: one question in, one JSON object out.

A thin door: it calls the kernel's public objects and adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.constraints import Stage
from vllm_parallel.cuts import local_experts
from vllm_parallel.errors import ParseError, VllmParallelError
from vllm_parallel.json_text import NoObjectError, no_constant, read_object
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.question import Json, Question
from vllm_parallel.ranks import Group, Rank, rank_lists
from vllm_parallel.shard import Shard
from vllm_parallel.starting import verdict_on_nodes
from vllm_parallel.verdict import Verdict

MAX_LISTED_RANKS: Final = 2**16
MAX_LINE: Final = 4 * 2**20


def answer(question: Json) -> dict[str, object]:
    """The answer to one question, or an `error` that says what cannot be read.

    >>> answer({"id": 1, "model": "llama-3.1-70b", "args": {"tensor_parallel_size": 3},
    ...     "ask": ["verdict"]})["verdict"]["stage"]
    'config'
    """
    return judged(question)[0]


def judged(question: Json) -> tuple[dict[str, object], bool]:
    """The answer, and whether vLLM starts: false also of a question that cannot be read."""
    head: dict[str, object] = {"id": question.get("id")}
    try:
        asked = Question.of(question)
        verdict = verdict_on_nodes(asked.deployment, asked.available_kv_bytes)
        return head | parts(asked, verdict), verdict.accepted
    except VllmParallelError as error:
        return head | {"error": str(error)}, False


def parts(question: Question, verdict: Verdict) -> dict[str, object]:
    """The asked parts of an answer."""
    makers: dict[str, Callable[[], object]] = {
        "verdict": lambda: verdict_of(verdict),
        "groups": lambda: groups_of(question),
        "ranks": lambda: ranks_of(question) if reaches_memory(verdict) else None,
        "capacity": lambda: capacity_of(verdict),
        "collectives": lambda: collectives_of(question) if makes_config(verdict) else None,
        "seconds": lambda: seconds_of(question) if reaches_memory(verdict) else None,
    }
    return {name: make() for name, make in makers.items() if name in question.ask}


def verdict_of(verdict: Verdict) -> dict[str, object]:
    """`accepted`, and of a refusal the stage and vLLM's sentence."""
    refusal = verdict.refusal
    if refusal is None:
        return {"accepted": True, "stage": None, "message": None}
    return {"accepted": False, "stage": refusal.stage.value, "message": refusal.message}


def reaches_memory(verdict: Verdict) -> bool:
    """Whether layers were built: accepted, or refused for want of memory only."""
    return verdict.refusal is None or verdict.refusal.stage is Stage.MEMORY


def makes_config(verdict: Verdict) -> bool:
    """Whether vLLM made its config, so that a step can be asked about."""
    refusal = verdict.refusal
    return refusal is None or refusal.stage in (Stage.LOAD, Stage.MEMORY)


def collectives_of(question: Question) -> list[dict[str, object]] | None:
    """What one rank of each stage calls in the step that was given, None without one.

    Raises:
        ParseError: the step cannot be read.
        CatalogError: the deployment adds calls that are not modelled.
    """
    if question.step is None:
        return None
    # Only questions with a step pay for importing it.
    from vllm_parallel.collectives import collectives  # noqa: PLC0415
    from vllm_parallel.steps import exchange_rows, read_step, share  # noqa: PLC0415

    deployment = question.deployment
    step = read_step(question.step, deployment.layout)
    return exchange_rows(collectives(deployment, share(step, deployment.layout)))


def seconds_of(question: Question) -> dict[str, object] | None:
    """The price of the step on the rank that the others wait for.

    None without a batch of an engine, and without a GPU whose rates are known.
    """
    gpu = question.deployment.cluster.gpu
    if question.step is None or gpu is None:
        return None
    # As above.
    from vllm_parallel.catalog.rates import load_rates, rated_gpus  # noqa: PLC0415
    from vllm_parallel.collectives import EngineBatch  # noqa: PLC0415
    from vllm_parallel.price import Pricer  # noqa: PLC0415
    from vllm_parallel.steps import price_row, read_step  # noqa: PLC0415

    step = read_step(question.step, question.deployment.layout)
    if not isinstance(step, EngineBatch) or gpu.name not in rated_gpus():
        return None
    pricer = Pricer.of(question.deployment, load_rates(gpu.name))
    return price_row(pricer.price(step).slowest)


def groups_of(question: Question) -> dict[str, object] | None:
    """Rank lists of each axis, None if the widths make no layout."""
    deployment, rank = question.deployment, question.rank
    layout = deployment.layout
    if not makes_layout(layout):
        return None
    _limit_listing(question)
    groups: dict[str, object] = {}
    for axis in Axis:
        if axis in (Axis.DP, Axis.EP) and not deployment.model.is_moe:
            groups[axis.value] = None
        elif rank is None:
            groups[axis.value] = rank_lists(layout, axis)
        else:
            groups[axis.value] = [Group.of(layout, axis, rank).ranks]
    return groups


def makes_layout(layout: Layout) -> bool:
    """Whether the widths define ranks and groups at all."""
    widths = (layout.tp, layout.pp, layout.dp, layout.pcp, layout.dcp)
    if min(widths) < 1:
        return False
    if layout.pcp == 1:
        return layout.tp % layout.dcp == 0
    return layout.dcp in layout.dcp_choices


def ranks_of(question: Question) -> list[dict[str, object]]:
    """What each rank holds; ranks alike in stage and experts are counted once."""
    deployment = question.deployment
    layout = deployment.layout
    cache = KvCache.of(deployment)
    if question.rank is None:
        _limit_listing(question)
        numbers: Iterable[int] = range(layout.ranks)
    else:
        numbers = (question.rank,)
    held: dict[tuple[int, int | None], dict[str, object]] = {}
    rows = []
    for number in numbers:
        rank = Rank.of(layout, number)
        alike = (rank.pp, local_experts(deployment, rank))
        if alike not in held:
            held[alike] = _held(Shard.of(deployment, number), cache)
        rows.append(_place(rank, deployment.cluster) | held[alike])
    return rows


def capacity_of(verdict: Verdict) -> dict[str, object] | None:
    """The pool of one engine, and how many engines there are."""
    if verdict.capacity is None:
        return None
    pool = verdict.capacity.pool
    return {
        "num_blocks": pool.num_blocks,
        "tokens": pool.tokens,
        "max_concurrency": pool.max_concurrency,
        "max_model_len": pool.max_model_len,
        "engines": verdict.capacity.engines,
    }


def answers(lines: Iterable[str]) -> Iterator[tuple[dict[str, object], bool]]:
    """What `judged` says of each line of questions; blank lines are passed over."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield judged(_question(line, number))
            except ParseError as error:
                yield {"id": None, "error": str(error)}, False


def _question(line: str, number: int) -> Json:
    place = f"line {number}"
    if len(line) > MAX_LINE:
        raise ParseError(place=place, problem=f"has {len(line)} characters", fix="send a path")
    try:
        return read_object(line, constant=no_constant)
    except NoObjectError as error:
        raise ParseError(place=place, problem=str(error), fix="write one object a line") from None


def _held(shard: Shard, cache: KvCache) -> dict[str, object]:
    stage = shard.rank.pp
    pages = cache.page_bytes(stage)
    return {
        "weight_bytes": shard.weight_bytes,
        "buffer_bytes": shard.buffer_bytes,
        "post_load_bytes": shard.post_load_bytes,
        "kv_layers": cache.layers(stage),
        "kv_page_bytes": pages[0] if len(pages) == 1 else list(pages),
    }


def _place(rank: Rank, cluster: Cluster) -> dict[str, object]:
    return {
        "rank": rank.number,
        "dp": rank.dp,
        "pp": rank.pp,
        "pcp": rank.pcp,
        "tp": rank.tp,
        "node": cluster.node_of(rank.number),
    }


def _limit_listing(question: Question) -> None:
    ranks = question.deployment.layout.ranks
    if question.rank is None and ranks > MAX_LISTED_RANKS:
        raise ParseError(
            place="args",
            problem=f"make {ranks} ranks, too many to list",
            fix="ask for one with 'rank'",
        )
