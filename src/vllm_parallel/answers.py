"""The answer format: one question in, one JSON object out.

A thin door: it calls the kernel's public objects and adds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NoReturn

from vllm_parallel.catalog import load_gpu, load_model, with_dtype, with_quantization
from vllm_parallel.cluster import Cluster
from vllm_parallel.constraints import Stage
from vllm_parallel.cuts import local_experts
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments, nearest
from vllm_parallel.engine.arguments import MAX_NUMBER
from vllm_parallel.errors import ParseError, VllmParallelError, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ranks import Group, Rank, rank_lists
from vllm_parallel.shard import Shard
from vllm_parallel.verdict import Verdict

Json = Mapping[str, object]
KEYS: Final = (
    "id", "model", "args", "available_kv_bytes", "gpu", "gpus_per_node", "nodes", "ask", "rank",
    "as_bf16", "step",
)  # fmt: skip
ASKABLE: Final = ("verdict", "groups", "ranks", "capacity", "collectives", "seconds")
MAX_LISTED_RANKS: Final = 2**16
MAX_LINE: Final = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Question:
    """A deployment, a budget, and which parts of the answer are wanted."""

    deployment: Deployment
    available_kv_bytes: int | None = None
    ask: frozenset[str] = frozenset(ASKABLE)
    rank: int | None = None
    step: object = None  # read where it is asked about

    @classmethod
    def of(cls, question: Json) -> Question:
        """The question that a JSON object asks.

        Raises:
            ParseError: a key, type or range is wrong.
            CatalogError: the model or GPU cannot be read.

        >>> asked = {"model": "llama-3.1-8b", "args": {"tensor_parallel_size": 2}}
        >>> str(Question.of(asked).deployment.layout)
        'tp2'
        """
        for key in question:
            if key not in KEYS:
                raise ParseError(
                    place=f"key {shortened(key)}",
                    problem="is not part of a question",
                    fix=nearest(key, list(KEYS)),
                )
        arguments = Arguments.of(_object(question, "args"))
        model = load_model(_model(question), as_bf16=_flag(question, "as_bf16"))
        deployment = Deployment(
            model=with_quantization(
                with_dtype(model, arguments.settings.dtype), arguments.settings.quantization
            ),
            layout=arguments.layout,
            settings=arguments.settings,
            cluster=_cluster(question),
        )
        rank = _whole(question, "rank", least=0)
        if rank is not None and rank >= max(deployment.layout.ranks, 1):
            raise ParseError(
                place="rank",
                problem=f"is {rank} of {deployment.layout.ranks} ranks",
                fix="ranks are numbered from 0",
            )
        return cls(
            deployment=deployment,
            available_kv_bytes=_whole(question, "available_kv_bytes"),
            ask=_ask(question),
            rank=rank,
            step=question.get("step"),
        )


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
        verdict = Verdict.of(asked.deployment, asked.available_kv_bytes)
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
        value = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ParseError(
            place=place, problem=f"is not JSON ({error})", fix="write one object a line"
        ) from error
    if not isinstance(value, dict):
        raise ParseError(
            place=place, problem=f"is {shortened(value)}", fix="write one object a line"
        )
    return value


def _no_number(word: str) -> NoReturn:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"{word} is no number")


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


def _model(question: Json) -> str | Json:
    model = question.get("model")
    if isinstance(model, str) and model:
        return model
    if isinstance(model, Mapping):
        return model
    raise ParseError(
        place="model",
        problem="is missing" if model is None else f"is {shortened(model)}",
        fix="give a catalog name, a path or a config",
    )


def _cluster(question: Json) -> Cluster:
    gpu = question.get("gpu")
    if gpu is not None and not isinstance(gpu, str):
        raise ParseError(place="gpu", problem=f"is {shortened(gpu)}", fix="give a catalog name")
    return Cluster(
        gpu=None if gpu is None else load_gpu(gpu),
        gpus_per_node=_whole(question, "gpus_per_node", least=1),
        nodes=_whole(question, "nodes", least=1) or 1,
    )


def _ask(question: Json) -> frozenset[str]:
    """The parts that are wanted; by default all, those of a step only where one is given."""
    ask = question.get("ask")
    if ask is None:
        return frozenset(ASKABLE[:-2] if question.get("step") is None else ASKABLE)
    if not isinstance(ask, list) or not all(isinstance(name, str) for name in ask):
        raise ParseError(place="ask", problem=f"is {shortened(ask)}", fix="give a list of keys")
    for name in ask:
        if name not in ASKABLE:
            raise ParseError(
                place=f"ask: {shortened(name)}",
                problem="is no part of an answer",
                fix=f"parts are {', '.join(ASKABLE)}",
            )
    return frozenset(ask)


def _object(question: Json, key: str) -> Json:
    value = question.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParseError(place=key, problem=f"is {shortened(value)}", fix="give an object")
    return value


def _flag(question: Json, key: str) -> bool:
    value = question.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ParseError(place=key, problem=f"is {shortened(value)}", fix="give true or false")


def _whole(question: Json, key: str, *, least: int = -MAX_NUMBER) -> int | None:
    value = question.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < MAX_NUMBER:
        bound = "" if least < 0 else f" of at least {least}"
        raise ParseError(
            place=key, problem=f"is {shortened(value)}", fix=f"give a whole number{bound}"
        )
    return value
